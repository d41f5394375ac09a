#!/usr/bin/env python3
"""Checks that no layer includes a higher one: the order stands in CMakeLists.txt, as mercer_layer(name DEPENDS lower...)."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
direct = {}
for name, lower in re.findall(r"mercer_layer\((\w+)(?:\s+DEPENDS\s+([\w ]+))?\)", (root / "CMakeLists.txt").read_text()):
    direct[name] = set(lower.split())


def reach(name):
    found = {name}
    for lower in direct[name]:
        found |= reach(lower)
    return found


problems = []
for path in sorted((root / "src").rglob("*")):
    if path.suffix not in {".cpp", ".hpp", ".inc"}:
        continue
    layer = path.relative_to(root / "src").parts[0]
    if layer not in direct:
        problems.append(f"{path.relative_to(root)}: src/{layer} is not a layer of CMakeLists.txt")
        continue
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#include "(\w+)/', line)
        if match and match.group(1) in direct and match.group(1) not in reach(layer):
            problems.append(f"{path.relative_to(root)}:{number}: {layer} may not include {match.group(1)}")
for path in sorted((root / "include").rglob("*.hpp")):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if re.match(r'\s*#include "', line):
            problems.append(f"{path.relative_to(root)}:{number}: public headers include only <mercer/...> and the standard library")
print("\n".join(problems) if problems else f"layers: {len(direct)} layers, every include points down")
sys.exit(1 if problems else 0)
