#!/usr/bin/env python3
"""Sparse-spectrum likelihood and gradient: Mercer beside torch autograd (float64), threads equal, interleaved; and training
of long series: time and memory against the number of rows. Writes docs/bench-gp.md with --output.

Run with a Python that has torch:  build/venv-gp/bin/python bench/gp_sparse.py --output docs/bench-gp.md
Values and gradients of both are compared first: the same objective is timed. Where other programs share the machine, the
ratio of CPU seconds with one thread moves least.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import fair  # noqa: F401: before numpy

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rows", type=int, default=2000)
parser.add_argument("--points", type=int, default=150)
parser.add_argument("--components", type=int, default=10)
parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
parser.add_argument("--repeats", type=int, default=9)
parser.add_argument("--training-rows", type=int, nargs="*", default=[10_000, 30_000, 100_000])
parser.add_argument("--training-steps", type=int, default=200)
parser.add_argument("--training-points", type=int, default=500)
parser.add_argument("--exact", help="what gp_exact.py printed, for the page")
parser.add_argument("--output", help="a Markdown page")
parser.add_argument("--quick", action="store_true", help="small sizes, to check that this script runs")
options = parser.parse_args()
if options.quick:
    options.rows, options.points, options.repeats = 300, 50, 1
    options.training_rows, options.training_steps, options.training_points = [1000, 2000], 2, 50
os.environ["OMP_NUM_THREADS"] = str(max(options.threads))

import numpy as np  # noqa: E402: after the thread count is set
import torch  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
BENCH = ROOT / "build/release/bench/gp_bench"
torch.set_default_dtype(torch.float64)
n, components, noise = options.rows, options.components, 0.01
each = options.points // components

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0, 20, n))
weights = rng.uniform(0.2, 1.0, components)
means = rng.uniform(0.05, 3.0, components)
scales = rng.uniform(0.02, 0.3, components)
epsilon = rng.standard_normal(each * components)
y = sum(np.sqrt(w) * np.cos(2 * np.pi * m * x + q) for q, (w, m) in enumerate(zip(weights, means)))
y = y + 0.1 * rng.standard_normal(n)
kernel = (f"spectral_mixture(weights={[float(v) for v in weights]}, means={[[float(v)] for v in means]}, "
          f"scales={[[float(v)] for v in scales]})")
tx, ty, te = torch.tensor(x), torch.tensor(y), torch.tensor(epsilon).reshape(components, each)


def mercer(path, threads):
    done = subprocess.run([BENCH, "sparse", path, str(n), kernel, repr(noise), "9", str(threads), str(each * components)],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def torch_sample():
    """-log N(y | 0, ΦΦᵀ + vI) by 2M × 2M matrices and its gradient in (log w, mu/scale, log sigma, log v) by autograd."""
    log_w = torch.tensor(np.log(weights), requires_grad=True)
    mu = torch.tensor(means, requires_grad=True)
    log_s = torch.tensor(np.log(scales), requires_grad=True)
    log_v = torch.tensor(math.log(noise), requires_grad=True)
    start, cpu_start = time.perf_counter(), time.process_time()
    s = (mu[:, None] + log_s.exp()[:, None] * te).reshape(-1)
    a = (log_w.exp()[:, None] / each).sqrt().expand(-1, each).reshape(-1)
    phase = 2 * math.pi * tx[:, None] * s[None, :]
    phi = torch.cat([a * torch.cos(phase), a * torch.sin(phase)], dim=1)
    v, columns = log_v.exp(), phi.shape[1]
    lower = torch.linalg.cholesky(phi.T @ phi + v * torch.eye(columns))
    beta = torch.linalg.solve_triangular(lower, (phi.T @ ty)[:, None], upper=False)
    value = ((ty @ ty - (beta * beta).sum()) / (2 * v) + torch.log(torch.diagonal(lower)).sum()
             + 0.5 * (n - columns) * log_v + 0.5 * n * math.log(2 * math.pi))
    value.backward()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    # Mercer's coordinate of the noise is log(v - 1e-8).
    free = log_v.grad[None] * (1 - 1e-8 / noise)
    gradient = torch.cat([log_w.grad, mu.grad * torch.tensor(scales), log_s.grad, free]).tolist()
    return {"seconds": seconds, "cpu_seconds": cpu, "value": value.item(), "gradient": gradient}


def compare(threads):
    """Medians of interleaved runs; each run is the median of 9 evaluations in a row."""
    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "data"
        path.write_bytes(np.concatenate([x, y, epsilon]).tobytes())
        torch_sample()
        ours, peer = [], []
        for _ in range(options.repeats):
            ours.append(mercer(path, threads))
            peer.append(sorted((torch_sample() for _ in range(9)), key=lambda sample: sample["cpu_seconds"])[4])
            print(f"{threads} threads: mercer {ours[-1]['seconds']:.4f} s, torch {peer[-1]['seconds']:.4f} s",
                  file=sys.stderr, flush=True)
    a, b = np.array(ours[0]["gradient"]), np.array(peer[0]["gradient"])
    middle = {name + "_" + what: statistics.median(sample[what] for sample in runs)
              for name, runs in (("mercer", ours), ("torch", peer)) for what in ("seconds", "cpu_seconds")}
    middle["first_seconds"] = statistics.median(sample["first_seconds"] for sample in ours)
    return {"threads": threads, **middle, "ratio": middle["mercer_seconds"] / middle["torch_seconds"],
            "cpu_ratio": middle["mercer_cpu_seconds"] / middle["torch_cpu_seconds"],
            "value_difference": abs(ours[0]["value"] - peer[0]["value"]) / abs(peer[0]["value"]),
            "gradient_difference": float(np.abs(a - b).max() / np.abs(b).max())}


def train(rows):
    done = subprocess.run([BENCH, "train", str(rows), str(options.training_points), str(components),
                           str(options.training_steps), str(max(options.threads))], capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    # One further evaluation closes the training.
    per_step = {what: result[what] / (options.training_steps + 1) for what in ("seconds", "cpu_seconds")}
    print(f"{rows} rows: {result['seconds']:.1f} s, {per_step['seconds']:.4f} s a step, {result['peak_bytes'] / 1e9:.2f} GB", file=sys.stderr, flush=True)
    return {"rows": rows, "gigabytes": result["peak_bytes"] / 1e9, "total": result["seconds"], **per_step}


def page(comparisons, trainings):
    cores = os.cpu_count()
    lines = ["# Speed of Gaussian processes", "",
             f"Written by `make bench-gp` (bench/gp_sparse.py --repeats {options.repeats}) on {datetime.date.today()}, {cores} cores, "
             f"torch {torch.__version__}; load {os.getloadavg()[0]:.1f} at the end.", "",
             f"Sparse-spectrum nlml and gradient, n = {n}, M = {each * components} points, Q = {components}, float64; medians of "
             f"{options.repeats} interleaved runs.", "",
             "| threads | Mercer, ms | torch autograd, ms | × torch | Mercer, CPU ms | torch, CPU ms | × torch |", "|---|---|---|---|---|---|---|"]
    for c in comparisons:
        lines.append(f"| {c['threads']} | {1e3 * c['mercer_seconds']:.1f} | {1e3 * c['torch_seconds']:.1f} | {c['ratio']:.2f} | "
                     f"{1e3 * c['mercer_cpu_seconds']:.1f} | {1e3 * c['torch_cpu_seconds']:.1f} | {c['cpu_ratio']:.2f} |")
    worst = max(comparisons, key=lambda c: c["gradient_difference"])
    first = min(c["first_seconds"] for c in comparisons)
    lines += ["", f"Sums over the rows are tabulated once for a training; an evaluation that makes the tables takes {1e3 * first:.0f} ms. Values agree to {worst['value_difference']:.1e}, gradients to {worst['gradient_difference']:.1e} of the largest entry.", "",
              f"Training by Adam, M = {options.training_points}, Q = {components}, {max(options.threads)} threads, "
              f"{options.training_steps} steps and the tables for them.", "",
              "| rows | seconds | ms a step | CPU ms a step | peak, GB |", "|---|---|---|---|---|"]
    for t in trainings:
        lines.append(f"| {t['rows']:,} | {t['total']:.1f} | {1e3 * t['seconds']:.0f} | {1e3 * t['cpu_seconds']:.0f} | "
                     f"{t['gigabytes']:.2f} |")
    if options.exact:
        e = json.loads(pathlib.Path(options.exact).read_text())
        lines += ["", f"Exact spectral-mixture nlml and gradient (bench/gp_exact.py), n = {e['rows']}, Q = {e['components']}, {e['threads']} threads: Mercer {e['mercer_seconds']:.2f} s, "
                  f"torch autograd {e['torch_seconds']:.2f} s, {e['ratio']:.2f} × torch. Values agree to {e['value_difference']:.1e}, gradients to {e['gradient_difference']:.1e}."]
    return "\n".join(lines) + "\n"


comparisons = [compare(threads) for threads in options.threads]
trainings = [train(rows) for rows in options.training_rows]
print(json.dumps({"comparisons": comparisons, "trainings": trainings}, indent=1))
if options.output:
    pathlib.Path(options.output).write_text(page(comparisons, trainings))
