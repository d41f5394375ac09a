#!/usr/bin/env python3
"""Runs what the documentation promises: docs/cli.md is what the program says of itself, and the README's commands work."""
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
program = root / "build/release/mercer"
failures = []

generated = subprocess.run([program, "help", "--markdown"], capture_output=True, text=True, check=True).stdout
if generated != (root / "docs/cli.md").read_text():
    failures.append("docs/cli.md is stale: run `make docs`")

# README code blocks that start with "$ " are commands; they run in order, in one folder, with `mercer` on the path.
readme = (root / "README.md").read_text()
commands = re.findall(r"^\$ (mercer .*)$", readme, flags=re.M)
with tempfile.TemporaryDirectory() as folder:
    for command in commands:
        done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True,
                              env={"PATH": f"{program.parent}:/usr/bin:/bin"})
        if done.returncode != 0:
            failures.append(f"README: `{command}` exits {done.returncode}: {done.stderr.strip()}")
print("\n".join(failures) if failures else f"docs: docs/cli.md is fresh, {len(commands)} README commands run")
sys.exit(1 if failures else 0)
