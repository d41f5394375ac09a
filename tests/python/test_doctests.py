"""The examples in docstrings say what happens."""

import doctest
import importlib
import pkgutil

import pytest

import mercer


def modules():
    """Every module of the package; the core's has its examples in C++."""
    yield "mercer"
    for found in pkgutil.walk_packages(mercer.__path__, "mercer."):
        if not found.name.endswith(("._core", ".__main__")):
            yield found.name


@pytest.mark.parametrize("name", list(modules()))
def test_docstrings(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert failed == 0


@pytest.mark.parametrize("name", [name for name in mercer.__all__ if name[0].isupper()])
def test_every_estimator_has_an_example(name):
    assert ">>> " in getattr(mercer, name).__doc__
