"""The site names everything that is public."""

import re
from pathlib import Path

import pytest

import mercer
from mercer import kernels, plot, streams

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = "\n".join(path.read_text() for path in (ROOT / "docs/api").glob("*.md"))


@pytest.mark.parametrize(
    "name",
    [
        *(f"mercer.{name}" for name in mercer.__all__),
        *(f"kernels.{name}" for name in kernels.__all__),
        *(f"streams.{name}" for name in streams.__all__),
        *(f"plot.{name}" for name in plot.__all__),
    ],
)
def test_reference_is_complete(name):
    """As `.. autoclass:: mercer.X`, `.. autofunction:: X` after a currentmodule, or `.. automodule:: mercer.X`."""
    last = name.rpartition(".")[2]
    assert re.search(rf"^\.\. (auto\w+|py:data):: ([\w.]*\.)?{last}$", REFERENCE, flags=re.M), f"docs/api does not mention {name}"


def test_every_page_is_reachable():
    """Pages are in a toctree of their index; tables that `mercer reproduce` leaves beside its CSV files are no pages."""
    index = (ROOT / "docs/index.md").read_text() + (ROOT / "docs/api/index.md").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        if page.name != "index.md" and not page.with_suffix(".csv").exists():
            name = page.relative_to(ROOT / "docs").with_suffix("")
            assert re.search(rf"^({name}|{page.stem})$", index, flags=re.M), f"{page} is in no toctree"
