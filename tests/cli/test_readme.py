"""What the README shows is what happens."""

import re
import shlex

import pytest
from conftest import ROOT


def test_the_first_screen(run):
    """Every command of the first console block, in order; every line it shows is a line of the output."""
    readme = ROOT / "README.md"
    if not readme.exists():
        pytest.skip("there is no README.md yet")
    block = re.search(r"```console\n(.*?)```", readme.read_text(), re.S)[1]
    commands = 0
    shown = []
    for line in block.splitlines():
        if line.startswith("$ "):
            words = shlex.split(line[2:])
            assert words[0] == "mercer"
            shown = run(*words[1:], timeout=120).out.splitlines()
            commands += 1
        else:
            assert line in shown
    assert commands >= 3
