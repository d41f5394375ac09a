"""What Python costs over the command line: fit of the canonical job, one-row predictions, memory, import time.

    build/venv/bin/python bench/python_overhead.py            # prints a Markdown table

The command line fits the same rows from an NPY file; its own clock (seconds.total of --json) leaves reading out, as the rows of
Python are in memory. Runs alternate; medians are reported.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import fair  # noqa: F401: before numpy

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from mercer import KernelRegressor  # noqa: E402


def canonical(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 32))
    return X, np.sin(X[:, 0]) + 0.1 * X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=rows)


def command_line(path: Path, features: int) -> float:
    """Seconds of a fit by its own clock, without reading."""
    program = ROOT / "build/release/mercer"
    model = path.with_suffix(".mercer")
    arguments = ["fit", path, "--target", "last:1", "--map", f"fourier:{features}", "--penalty", "1e-6"]
    out = subprocess.run([program, *arguments, "--uncertainty", "none", "--json", "-o", model], check=True, capture_output=True, text=True)
    return float(json.loads(out.stdout)["seconds"]["total"])


def python(X: np.ndarray, y: np.ndarray, features: int) -> tuple[float, KernelRegressor]:
    started = time.perf_counter()
    model = KernelRegressor(features=features, penalty=1e-6, uncertainty="none").fit(X, y)
    return time.perf_counter() - started, model


def one_row(model: KernelRegressor, X: np.ndarray) -> float:
    """Median microseconds of predict on one row, as a user calls it."""
    row = X[:1].copy()
    times = []
    for _ in range(2000):
        started = time.perf_counter_ns()
        model.predict(row)
        times.append(time.perf_counter_ns() - started)
    return statistics.median(times) / 1e3


def import_seconds(module: str) -> float:
    code = f"import numpy, time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    times = []
    for _ in range(7):
        out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT / "python")
        times.append(float(out.stdout))
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    X, y = canonical(options.rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, np.column_stack([X, y]))
        ours, theirs = [], []
        for _ in range(options.runs):
            theirs.append(command_line(path, options.features))
            seconds, _ = python(X, y, options.features)
            ours.append(seconds)
    small = KernelRegressor(features=1000, penalty=1e-6, uncertainty="none").fit(X[:5000], y[:5000])
    ratio = statistics.median(o / t for o, t in zip(ours, theirs, strict=True))
    print("| what | measured | aim |\n|---|---|---|")
    print(
        f"| `KernelRegressor.fit`, {options.rows} rows, 32 inputs, {options.features} frequencies | {statistics.median(ours):.2f} s against "
        f"{statistics.median(theirs):.2f} s of `mercer fit`: {ratio:.3f} x | 1.05 x |"
    )
    print(f"| `predict` of one row, 1000 frequencies | {one_row(small, X):.1f} us | 50 us |")
    print(f"| `import mercer` after numpy | {import_seconds('mercer'):.3f} s | 0.3 s |")


if __name__ == "__main__":
    main()
