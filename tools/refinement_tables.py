#!/usr/bin/env python3
"""Puts the tables of the grid into docs/refinement.md:

rm -f /tmp/table.md  # the grid appends to it
MERCER_REFINEMENT_TABLE=/tmp/table.md build/release/tests/test_solve --gtest_filter='*RefinementGrid*'
python3 tools/refinement_tables.py /tmp/table.md
"""

import datetime
import pathlib
import re
import sys


def tables(text: str) -> dict[str, list[str]]:
    """Lines of every table, by the words before the parenthesis of the line above it."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("|"):
            found.setdefault(name, []).append(line)
        elif line.strip():
            name = line.split(" (")[0].strip()
    return found


def main() -> None:
    page = pathlib.Path(__file__).parent.parent / "docs" / "refinement.md"
    grids = tables(pathlib.Path(sys.argv[1]).read_text())
    head = grids["int8"][0].replace("setting", "Gram matrix")
    totals = [f"| {name} |" + lines[-1].split("|", 2)[2] for name, lines in grids.items()]
    new = {"Gram matrix | 0.01": [head, grids["int8"][1], *totals], "setting | 0.01": grids["int8"]}
    text = page.read_text()
    for start, lines in new.items():
        pattern = rf"^\| {re.escape(start)}.*\n(\|.*\n)*"
        text, count = re.subn(pattern, lambda _, lines=lines: "\n".join(lines) + "\n", text, flags=re.MULTILINE)
        if count != 1:
            sys.exit(f"docs/refinement.md has {count} tables that start with '| {start}', not one")
    text = re.sub(r"(refinement_tables\.py`, )\d{4}-\d\d-\d\d", rf"\g<1>{datetime.date.today()}", text)
    page.write_text(text)


if __name__ == "__main__":
    main()
