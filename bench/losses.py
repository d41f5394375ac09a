#!/usr/bin/env python3
"""Sketches and losses beside numpy and scikit-learn in one interleaved run: `make bench-losses`; writes docs/bench-losses.md."""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import fair  # noqa: F401: before numpy

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.linear_model import QuantileRegressor

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/release/mercer"


def mercer(*args):
    """The summary of a fit; the seconds of its stages, without reading the file and without the start of the program (as a
    peer's imports are left out)."""
    done = subprocess.run([PROGRAM, "fit", *map(str, args), "--json", "--quiet"], capture_output=True, text=True, check=True)
    s = json.loads(done.stdout)
    s["fit_seconds"] = sum(v for k, v in s["seconds"].items() if k not in ("total", "read"))
    s["run_seconds"] = s["seconds"]["total"] - s["seconds"]["read"]
    return s


def rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, d))
    y = np.sin(3 * x[:, 0]) + x[:, 1] ** 2 + 0.3 * rng.standard_normal(n) * (1 + x[:, 2])
    return x, y


def numpy_p_sr(x, y, s, penalty):
    """p-SR ridge as paper 2 does it: the decomposition trick, then (S K K Sᵀ + nλ S K Sᵀ) γ = S K y."""
    start = time.perf_counter()
    n = len(x)
    p = 20 / n
    rng = np.random.default_rng(1)
    mask = rng.random((s, n)) < p
    used = np.flatnonzero(mask.any(0))
    sketch = mask[:, used] * rng.choice([-1.0, 1.0], (s, len(used))) / np.sqrt(s * p)
    k = np.exp(-cdist(x, x[used], "sqeuclidean") / 2)
    ks = k @ sketch.T
    sks = sketch @ ks[used]
    np.linalg.solve(ks.T @ ks + n * penalty * sks + 1e-9 * np.eye(s), ks.T @ y)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="docs/bench-losses.md")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small sizes, to check that this script runs")
    options = parser.parse_args()
    shrink = 20 if options.quick else 1
    folder = pathlib.Path(tempfile.mkdtemp())

    def save(name, x, y):
        path = folder / f"{name}.npy"
        np.save(path, np.c_[x, y])
        return path

    plain = ["--target", "last:1", "--no-standardize", "--kernel", "gaussian(1)", "--uncertainty", "none"]
    text = ["# Speed of sketches and losses", "",
            f"Written by `make bench-losses` ({' '.join(['bench/losses.py', *sys.argv[1:]])}) on {datetime.date.today()}, {os.cpu_count()} cores. Medians of "
            f"{options.repeats} interleaved runs; reading files, the start of the program and imports are left out on both sides.", "",
            "| job | Mercer, s | peer, s | × peer | remarks |", "|---|---|---|---|---|"]

    n = 10_000 // shrink
    x, y = rows(n, 10)
    path = save("sketch", x, y)
    ours, run, peer = [], [], []
    for _ in range(options.repeats):
        done = mercer(path, *plain, "--map", "p-sr:100", "--penalty", "1e-6")
        ours.append(done["fit_seconds"])
        run.append(done["run_seconds"])
        peer.append(numpy_p_sr(x, y, 100, 1e-6))
    a, b = statistics.median(ours), statistics.median(peer)
    text.append(f"| p-SR ridge, n = {n:,}, d = 10, s = 100, p = 20/n | {a:.3f} | {b:.3f} (numpy, same algorithm) | {a / b:.2f} | with the start of the program {statistics.median(run) / b:.2f} |")

    # Both fit the very same 200 numbers a row: a linear kernel with 200 anchors spans them all. Penalties (of squares here, of
    # absolute values there) are of little weight; rows held out judge both.
    x, y = rows(2 * n, 10, 1)
    w = np.random.default_rng(2).standard_normal((10, 100))
    phi = np.c_[np.cos(x @ w), np.sin(x @ w)] / 10
    path, held_out = save("quantile", phi[:n], y[:n]), save("quantile-held-out", phi[n:], y[n:])
    fit = mercer(path, "--target", "last:1", "--no-standardize", "--kernel", "linear()", "--map", "nystrom:200", "--loss", "pinball:0.5", "--penalty", "1e-4",
                 "--tolerance", "1e-5", "-o", folder / "q.mercer")
    score = subprocess.run([PROGRAM, "score", folder / "q.mercer", held_out, "--json", "--quiet"], capture_output=True, check=True).stdout
    start = time.perf_counter()
    model = QuantileRegressor(quantile=0.5, alpha=1e-7, solver="highs").fit(phi[:n], y[:n])
    seconds = time.perf_counter() - start
    theirs = np.abs(y[n:] - model.predict(phi[n:])).mean() / 2
    text.append(f"| median on the same 200 features, n = {n:,}, gap {fit['gap']:.0e} | {fit['fit_seconds']:.2f} | {seconds:.2f} (scikit-learn QuantileRegressor, "
                f"HiGHS) | {fit['fit_seconds'] / seconds:.4f} | held-out pinball loss {json.loads(score)['pinball'][0]:.5f}, theirs {theirs:.5f} |")

    n = 100_000 // shrink
    path = save("joint", *rows(n, 10, 2))
    s = mercer(path, *plain, "--map", "fourier:150", "--quantiles", "0.1,0.3,0.5,0.7,0.9", "--penalty", "1e-6", "--tolerance", "1e-3", "--precision", "float32")
    text.append(f"| five joint quantiles, n = {n:,}, 300 features, to gap 1e-3 | {s['fit_seconds']:.2f} | | | gap {s['gap']:.1e} in {s['iterations']} passes, "
                f"{s['peak_memory_bytes'] / 1e9:.2f} GB |")

    # Far quantiles of noise that grows with an input, in order at every row.
    n = 10_000 // shrink
    x, y = rows(n, 10, 5)
    path = save("order", x, y)
    for extra in ([], ["--non-crossing"]):
        s = mercer(path, *plain, "--map", "p-sr:200", "--quantiles", "0.01,0.05,0.5,0.95,0.99", "--penalty", "1e-5", *extra)
        text.append(f"| quantiles 0.01 … 0.99{', not crossing' if extra else ''}, p-SR s = 200, n = {n:,} | {s['fit_seconds']:.2f} | | | objective {s['objective']:.5f}, "
                    f"gap {s['gap']:.1e} in {s['iterations']} passes |")

    for n in (10_000 // shrink, 100_000 // shrink, 1_000_000 // shrink):
        path = save("huber", *rows(n, 10, 3))
        s = mercer(path, *plain, "--map", "p-sr:200", "--loss", "huber:0.5", "--penalty", "1e-6", "--precision", "float32", "--memory", "2GB")
        text.append(f"| Huber, p-SR s = 200, d = 10, n = {n:,} | {s['fit_seconds']:.2f} | | | {1e6 * s['fit_seconds'] / n:.1f} µs a row, gap {s['gap']:.1e} in "
                    f"{s['iterations']} passes, {s['peak_memory_bytes'] / 1e9:.2f} GB |")

    # Time to the same objective: Adam as paper 2 runs it, until it is within 1e-3 of the certified optimum.
    n = 5_000 // shrink
    path = save("adam", *rows(n, 10, 4))
    job = [path, *plain, "--map", "p-sr:100", "--loss", "huber:0.5", "--penalty", "1e-4"]
    best = mercer(*job)
    passes = 10
    while True:
        adam = mercer(*job, "--solver", "adam", "--passes", passes)
        if adam["objective"] <= best["objective"] * 1.001 or passes >= 160:
            break
        passes *= 2
    ratio = best["seconds"]["solve"] / adam["seconds"]["solve"]
    text.append(f"| Huber to a certified gap of {best['gap']:.0e}, n = {n:,}, s = 100 | {best['seconds']['solve']:.2f} (solve) | {adam['seconds']['solve']:.2f} (Adam, "
                f"{passes} passes) | {ratio:.3f} | Adam's objective is {adam['objective'] / best['objective'] - 1:.1e} above |")
    text.append("")
    pathlib.Path(options.output).write_text("\n".join(text))
    print("\n".join(text))


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
