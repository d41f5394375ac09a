#!/usr/bin/env python3
"""Runs what the documentation promises: docs/cli.md is what the program says of itself, and the examples of the README and of the site's pages work.

    tools/check_docs.py [PAGE ...]

A page is run from top to bottom in a folder of its own: in blocks marked console, lines that start with "$ " are commands (with `mercer` on the path) that
must succeed; in blocks marked pycon, Python's prompts are doctests, whose output must be as printed."""
import contextlib
import doctest
import os
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
program = pathlib.Path(os.environ.get("MERCER_PROGRAM", root / "build/release/mercer"))
sys.path.insert(0, str(root / "python"))
os.environ.setdefault("MPLBACKEND", "Agg")
environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(root / "python")}


def run_command(command):
    """What is wrong with it; nothing if all is well."""
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment)
    return f"`{command}` exits {done.returncode}: {done.stderr.strip()}" if done.returncode != 0 else ""


def run_python(text, page, line, names):
    said = []
    test = doctest.DocTestParser().get_doctest(text, names, page, page, line)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    return "".join(said)


def run_page(path):
    """(failures, number of examples)."""
    page = str(path.relative_to(root))
    text = path.read_text()
    failures, count, names = [], 0, {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in re.finditer(r"^```(console|pycon)\n(.*?)^```$", text, flags=re.M | re.S):
            if block[1] == "console":
                commands = re.findall(r"^\$ (.*(?:\\\n.*)*)$", block[2], flags=re.M)
                wrong = [run_command(command) for command in commands]
                count += len(commands)
            else:
                wrong = [run_python(block[2], page, text[: block.start(2)].count("\n"), names)]
                count += block[2].count(">>> ")
            failures += [f"{page}: {words}" for words in wrong if words]
    return failures, count


def main():
    failures, told = [], []
    if len(sys.argv) > 1:
        pages = [pathlib.Path(name).resolve() for name in sys.argv[1:]]
    else:
        pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
        generated = subprocess.run([program, "help", "--markdown"], capture_output=True, text=True, check=True).stdout
        if generated != (root / "docs/cli.md").read_text():
            failures.append("docs/cli.md is stale: run `make docs`")
        told.append("docs/cli.md is fresh")
    for page in pages:
        wrong, count = run_page(page)
        failures += wrong
        if count:
            told.append(f"{count} examples of {page.relative_to(root)} run")
    print("\n".join(failures) if failures else "docs: " + ", ".join(told))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
