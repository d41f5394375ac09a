#!/usr/bin/env python3
"""Mercer beside scikit-learn (PyPI) on the same machine in one interleaved run: `make bench`.

Every figure that counts is a ratio of medians from this run; absolute seconds on shared machines move by a factor of two.
Each sample of Mercer measures the machine's multiply-add peak next to it, so its bound moves with the machine.
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/release/mercer"

PEER = r"""
import json, resource, sys, time
import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge
n, d, m, p, dtype = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
rng = np.random.default_rng(1)
X = rng.standard_normal((n, d)).astype(dtype)
Y = np.stack([np.sin(X.sum(1) / 6 + o) + 0.1 * rng.standard_normal(n) for o in range(p)], 1).astype(dtype)
if p == 1:
    Y = Y[:, 0]
np.dot(X[:200].T, X[:200])
t = time.perf_counter()
Z = RBFSampler(gamma=1 / 128, n_components=m, random_state=0).fit_transform(X)
Ridge(alpha=1e-6 * n).fit(Z, Y)
print(json.dumps({"seconds": time.perf_counter() - t, "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
"""


def mercer(job, rows, precision):
    done = subprocess.run([PROGRAM, "bench", job, "--rows", str(rows), "--precision", precision, "--json", "--quiet"],
                          capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    result = answer["result"]
    result["machine"] = answer["machine"]
    return result


def sklearn(rows, outputs, precision):
    done = subprocess.run([sys.executable, "-c", PEER, str(rows), "32", "4000", str(outputs), precision],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def median(samples, key="seconds"):
    return statistics.median(s[key] for s in samples)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="docs/bench.md")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--quick", action="store_true", help="small sizes, to check that this script runs")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.repeats = 5_000, 1
    n = options.rows
    runs = {}

    def sample(name, run):
        runs.setdefault(name, []).append(run())
        print(f"{name}: {runs[name][-1]['seconds']:.2f} s", file=sys.stderr, flush=True)

    for _ in range(options.repeats):
        for precision in ("float32", "float64"):
            sample(f"mercer {precision}", lambda: mercer("canonical", n, precision))
            sample(f"sklearn {precision}", lambda: sklearn(n, 1, precision))
        sample("mercer 16 outputs", lambda: mercer("outputs16", n, "float32"))
        sample("sklearn 16 outputs", lambda: sklearn(n, 16, "float32"))
        for job in ("scalar_2d", "curl_free", "divergence_free"):
            sample(f"mercer {job}", lambda: mercer(job, n, "float32"))
    for rows in (n // 10, n, 10 * n):
        sample(f"mercer n={rows}", lambda: mercer("canonical", rows, "float32"))

    def bound(name):
        return median(runs[name], "bound_seconds")

    def memory(name):
        return max(s["peak_memory_bytes"] for s in runs[name]) / 1e9

    def path(name):
        s = runs[name][-1]
        return f"Gram {s['gram']}, refined to {s['residual']:.0e} in {s['iterations']} passes" if s["gram"] else s["solver"]

    rows = []
    for precision in ("float32", "float64"):
        ours, peer = f"mercer {precision}", f"sklearn {precision}"
        rows.append((f"canonical, {precision}", median(runs[ours]), bound(ours), median(runs[peer]),
                     memory(ours), memory(peer), path(ours)))
    rows.append(("canonical, 16 outputs, float32", median(runs["mercer 16 outputs"]), bound("mercer 16 outputs"),
                 median(runs["sklearn 16 outputs"]), memory("mercer 16 outputs"), memory("sklearn 16 outputs"),
                 path("mercer 16 outputs")))
    machine = runs["mercer float32"][-1]["machine"]
    import sklearn as package
    text = [
        "# Speed", "",
        f"Written by `make bench` ({' '.join(['bench/peers.py', *sys.argv[1:]])}) on {datetime.date.today()}: "
        f"{machine['cpu']}, {machine['threads']} threads, BLAS kernels {machine['blas_kernels']}, cos/sin {machine['simd']}; "
        f"scikit-learn {package.__version__} from PyPI. Medians of {options.repeats} interleaved runs.", "",
        f"The canonical job: ridge on random Fourier features, n = {n:,}, 32 inputs, 2000 frequencies (4000 features), penalty 1e-6; "
        "the peer is RBFSampler(4000) + Ridge. The bound is the job's flops at the multiply-add peak measured beside each run; a Gram matrix "
        "in bfloat16 can go below it, since the refinement on the rows restores the precision asked for.", "",
        "| job | Mercer, s | bound, s | × bound | scikit-learn, s | × scikit-learn | Mercer, GB | scikit-learn, GB | path |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, ours, limit, peer, memory_ours, memory_peer, how in rows:
        text.append(f"| {name} | {ours:.2f} | {limit:.2f} | {ours / limit:.2f} | {peer:.2f} | {ours / peer:.2f} | "
                    f"{memory_ours:.2f} | {memory_peer:.2f} | {how} |")
    base, scalar = median(runs["mercer float32"]), median(runs["mercer scalar_2d"])
    text += ["", "| ratio | measured |", "|---|---|",
             f"| 16 outputs / 1 output | {median(runs['mercer 16 outputs']) / base:.2f} |",
             f"| curl-free 2-D / scalar 2-D, equal frequencies | {median(runs['mercer curl_free']) / scalar:.2f} |",
             f"| divergence-free 2-D / scalar 2-D, equal frequencies | {median(runs['mercer divergence_free']) / scalar:.2f} |"]
    text += ["", "| rows | seconds | peak f32 then, GF/s | seconds per 10⁵ rows at equal peak | resident, GB |", "|---|---|---|---|---|"]
    for count in (n // 10, n, 10 * n):
        s = runs[f"mercer n={count}"][0]
        peak = s["machine"]["peak_f32"]
        text.append(f"| {count:,} | {s['seconds']:.2f} | {peak / 1e9:.0f} | "
                    f"{s['stages']['accumulate'] * 1e5 / count * peak / machine['peak_f32']:.2f} | {s['peak_memory_bytes'] / 1e9:.2f} |")
    text += ["", "With fewer rows than four times the features (10,000 here) the Gram matrix is computed in full precision, above in bf16 and refined: that is the step between the first two lines; from there seconds are proportional to rows."]
    text += ["", "cos/sin pairs: "
             f"{machine['cos_sin_f32'] / 1e9:.2f}·10⁹/s float32, {machine['cos_sin_f64'] / 1e9:.2f}·10⁹/s float64. "
             f"Peak: {machine['peak_f32'] / 1e9:.0f} GF/s float32, {machine['peak_f64'] / 1e9:.0f} GF/s float64.", ""]
    pathlib.Path(options.output).write_text("\n".join(text))
    print("\n".join(text))


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
