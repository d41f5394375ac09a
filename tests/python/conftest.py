"""Fixtures of the Python tests: small data, and the command line program beside the package."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def wave(rng):
    """300 rows of two inputs and a smooth target with a little noise."""
    X = rng.uniform(-2, 2, (300, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.normal(size=300)


@pytest.fixture(scope="session")
def program():
    """Runs the command line program."""
    path = os.environ.get("MERCER_PROGRAM") or ROOT / "build/release/mercer"
    if not Path(path).exists():
        path = shutil.which("mercer")
    if not path:
        pytest.skip("the command line program is not built")

    def run(*arguments):
        return subprocess.run([str(path), *map(str, arguments)], check=True, capture_output=True, text=True)

    return run
