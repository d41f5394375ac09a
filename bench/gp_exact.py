#!/usr/bin/env python3
"""Exact spectral-mixture likelihood and gradient: Mercer beside torch autograd (float64), threads equal, interleaved.

Run with a Python that has torch:  build/venv-gp/bin/python bench/gp_exact.py
Values and gradients of both are compared first: the same objective is timed. Every figure that counts is a ratio of medians;
where other programs share the machine, the ratio of CPU seconds with one thread moves least.
"""
import argparse
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
parser.add_argument("--components", type=int, default=10)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--repeats", type=int, default=7)
parser.add_argument("--quick", action="store_true", help="small sizes, to check that this script runs")
options = parser.parse_args()
if options.quick:
    options.rows, options.repeats = 300, 1
os.environ["OMP_NUM_THREADS"] = str(options.threads)

import numpy as np  # noqa: E402: after the thread count is set
import torch  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
torch.set_num_threads(options.threads)
torch.set_default_dtype(torch.float64)
n, components, noise = options.rows, options.components, 0.01

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0, 20, n))
weights = rng.uniform(0.2, 1.0, components)
means = rng.uniform(0.05, 3.0, components)
scales = rng.uniform(0.02, 0.3, components)
y = sum(np.sqrt(w) * np.cos(2 * np.pi * m * x + q) for q, (w, m) in enumerate(zip(weights, means)))
y = y + 0.1 * rng.standard_normal(n)
kernel = (f"spectral_mixture(weights={[float(v) for v in weights]}, means={[[float(v)] for v in means]}, "
          f"scales={[[float(v)] for v in scales]})")


def mercer(path):
    done = subprocess.run([ROOT / "build/release/bench/gp_bench", "exact", path, str(n), kernel, repr(noise), "3",
                           str(options.threads), "0"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


tx, ty = torch.tensor(x), torch.tensor(y)


def torch_sample():
    """-log N(y | 0, K + vI) and its gradient in (log w, mu, log sigma, log v) by autograd."""
    log_w = torch.tensor(np.log(weights), requires_grad=True)
    mu = torch.tensor(means, requires_grad=True)
    log_s = torch.tensor(np.log(scales), requires_grad=True)
    log_v = torch.tensor(math.log(noise), requires_grad=True)
    start, cpu_start = time.perf_counter(), time.process_time()
    delta = tx[:, None] - tx[None, :]
    square = delta * delta
    w, s = log_w.exp(), log_s.exp()
    k = torch.zeros(n, n)
    for q in range(components):
        k = k + w[q] * torch.cos(2 * math.pi * mu[q] * delta) * torch.exp(-2 * math.pi ** 2 * s[q] ** 2 * square)
    lower = torch.linalg.cholesky(k + log_v.exp() * torch.eye(n))
    alpha = torch.linalg.solve_triangular(lower, ty[:, None], upper=False)
    value = 0.5 * (alpha * alpha).sum() + torch.log(torch.diagonal(lower)).sum() + 0.5 * n * math.log(2 * math.pi)
    value.backward()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    gradient = torch.cat([log_w.grad, mu.grad, log_s.grad, log_v.grad[None]]).tolist()
    return {"seconds": seconds, "cpu_seconds": cpu, "value": value.item(), "gradient": gradient}


with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "data"
    path.write_bytes(np.concatenate([x, y]).tobytes())
    torch_sample()
    ours, peer = [], []
    for _ in range(options.repeats):
        ours.append(mercer(path))
        peer.append(torch_sample())
        print(f"mercer {ours[-1]['seconds']:.3f} s, torch {peer[-1]['seconds']:.3f} s", file=sys.stderr, flush=True)

a, b = np.array(ours[0]["gradient"]), np.array(peer[0]["gradient"])
ours_s, peer_s = (statistics.median(s["seconds"] for s in runs) for runs in (ours, peer))
ours_cpu, peer_cpu = (statistics.median(s["cpu_seconds"] for s in runs) for runs in (ours, peer))
print(json.dumps({
    "rows": n, "components": components, "threads": options.threads, "torch": torch.__version__,
    "value_difference": abs(ours[0]["value"] - peer[0]["value"]) / abs(peer[0]["value"]),
    "gradient_difference": float(np.abs(a - b).max() / np.abs(b).max()),
    "mercer_seconds": ours_s, "torch_seconds": peer_s, "ratio": ours_s / peer_s,
    "mercer_cpu_seconds": ours_cpu, "torch_cpu_seconds": peer_cpu, "cpu_ratio": ours_cpu / peer_cpu}, indent=1))
