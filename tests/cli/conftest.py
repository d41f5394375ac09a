"""The command line, as its users meet it: every test runs the built program in a folder of its own.

    MERCER=build/release/mercer build/venv/bin/python -m pytest tests/cli -q
"""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
MERCER = str(Path(os.environ.get("MERCER", ROOT / "build/release/mercer")).absolute())


@dataclass
class Result:
    args: tuple
    code: int
    out: str
    err: str

    @property
    def json(self):
        """Standard output as the one JSON object it must be."""
        return json.loads(self.out)


def start(*args, cwd, stdin=None, **options):
    """The program, running."""
    return subprocess.Popen(
        [MERCER, *map(str, args)], cwd=cwd, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


@pytest.fixture
def run(tmp_path):
    """run("fit", "x.csv", …): runs mercer in tmp_path; with ok=True (the default) it must succeed without a word of complaint."""

    def call(*args, ok=True, stdin=None, timeout=60, cwd=tmp_path, stdout=subprocess.PIPE):
        done = subprocess.run(
            [MERCER, *map(str, args)], cwd=cwd, input=stdin, stdout=stdout, stderr=subprocess.PIPE, timeout=timeout
        )
        result = Result(args, done.returncode, (done.stdout or b"").decode(), done.stderr.decode())
        if ok:
            assert result.code == 0, f"mercer {' '.join(map(str, args))}: exit {result.code}: {result.err}"
            if "--json" not in args:  # then the words for people go to standard error
                assert result.err == ""
        return result

    return call


def write_csv(path, names, columns):
    """Columns of numbers or text; numbers so that they read back as they are."""
    columns = [np.asarray(c) for c in columns]
    with open(path, "w") as file:
        if names:
            file.write(",".join(names) + "\n")
        for row in zip(*columns):
            file.write(",".join(str(v) if isinstance(v, str) else repr(float(v)) for v in row) + "\n")
    return path


def read_csv(path_or_text):
    """Header and an array of text cells."""
    text = path_or_text if "\n" in str(path_or_text) else Path(path_or_text).read_text()
    lines = text.strip("\n").split("\n")
    return lines[0].split(","), np.array([line.split(",") for line in lines[1:]])


def numbers(path_or_text):
    return read_csv(path_or_text)[1].astype(float)


@dataclass
class Data:
    x: np.ndarray
    y: np.ndarray


@pytest.fixture
def smooth(tmp_path):
    """120 rows, inputs a b c on different scales, one smooth target y with a little noise: train.csv; 30 more in test.csv."""
    random = np.random.default_rng(7)
    x = random.normal(size=(150, 3)) * [1, 10, 0.1] + [0, 5, -2]
    y = 3 + np.sin(x[:, 0]) + 0.05 * x[:, 1] + 20 * (x[:, 2] + 2) ** 2 + 0.05 * random.normal(size=150)
    write_csv(tmp_path / "train.csv", ["a", "b", "c", "y"], [*x[:120].T, y[:120]])
    write_csv(tmp_path / "test.csv", ["a", "b", "c", "y"], [*x[120:].T, y[120:]])
    return Data(x[:120], y[:120]), Data(x[120:], y[120:])


@pytest.fixture
def field(tmp_path):
    """A vector field with two inputs and two outputs: field.csv with px, py, u, v."""
    random = np.random.default_rng(8)
    x = random.uniform(-1, 1, size=(80, 2))
    u = np.stack([np.cos(2 * x[:, 0]) + x[:, 1], x[:, 0] - np.sin(x[:, 1])], axis=1)
    write_csv(tmp_path / "field.csv", ["px", "py", "u", "v"], [*x.T, *u.T])
    return Data(x, u)


@pytest.fixture
def species(tmp_path):
    """Three classes with text labels: species.csv with p, q, kind."""
    random = np.random.default_rng(9)
    truth = random.integers(0, 3, size=150)
    x = np.array([[0, 0], [2, 1], [-1, 2]])[truth] + 0.7 * random.normal(size=(150, 2))
    labels = np.array(["oak", "birch", "elm"])[truth]
    write_csv(tmp_path / "species.csv", ["p", "q", "kind"], [*x.T, labels])
    return Data(x, labels)
