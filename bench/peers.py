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

import fair  # noqa: F401: before numpy

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


AGREEMENT = r"""
import sys
import numpy as np
sys.path.insert(0, "python")
from mercer import KernelRegressor
n = int(sys.argv[1])
rng = np.random.default_rng(1)
X = rng.standard_normal((n, 32))
y = np.sin(X.sum(1) / 6) + 0.1 * rng.standard_normal(n)
fresh = rng.standard_normal((1000, 32))
answers = [KernelRegressor("gaussian(8)", features=2000, penalty=1e-6, precision=p, uncertainty="none").fit(X, y).predict(fresh) for p in ("auto", "float64")]
print(np.linalg.norm(answers[0] - answers[1]) / np.linalg.norm(answers[1]))
"""


def mercer(job, rows, precision="auto", packed=None):
    """`packed` forces what multiplies int8 and bfloat16; "portable" stands for CPUs where nothing does it fast."""
    environment = {**os.environ, **({"MERCER_PACKED": packed} if packed else {})}
    done = subprocess.run([PROGRAM, "bench", job, "--rows", str(rows), "--precision", precision, "--json", "--quiet"],
                          capture_output=True, text=True, check=True, env=environment)
    answer = json.loads(done.stdout)
    return {**answer.get("result", {}), "machine": answer["machine"]}


def sklearn(rows, outputs, precision):
    done = subprocess.run([sys.executable, "-c", PEER, str(rows), "32", "4000", str(outputs), precision],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def agreement(rows):
    """How far predictions of the default are from those of float64 throughout, relative."""
    done = subprocess.run([sys.executable, "-c", AGREEMENT, str(rows)], capture_output=True, text=True)
    return float(done.stdout) if done.returncode == 0 else None  # the Python package is not built


def median(samples, key="seconds"):
    return statistics.median(s[key] for s in samples)


def way(sample):
    if sample["gram"]:
        return f"Gram {sample['gram']}, refined to {sample['residual']:.0e} in {sample['iterations']} passes"
    return "Gram in that precision, " + sample["solver"]


FIELDS = {"2-D": ("scalar_2d", "curl_free", "divergence_free"), "3-D": ("scalar_3d", "curl_free_3d", "divergence_free_3d")}
# name of the row -> what to ask of `mercer bench canonical`
CANONICAL = {
    "float64 answers (the default)": {"precision": "auto"},
    "float64 answers, AVX-512 without AMX": {"precision": "auto", "packed": "avx512"},
    "float64 answers, without fast int8 or bf16": {"precision": "auto", "packed": "portable"},
    "float64 throughout": {"precision": "float64"},
    "float32": {"precision": "float32"},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="docs/bench.md")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--ratio-repeats", type=int, default=7, help="rounds of the jobs that are compared with each other")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--quick", action="store_true", help="small sizes, to check that this script runs")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.repeats, options.ratio_repeats = 5_000, 1, 1
    n = options.rows
    runs = {}

    def sample(name, run):
        runs.setdefault(name, []).append(run())
        print(f"{name}: {runs[name][-1]['seconds']:.2f} s", file=sys.stderr, flush=True)

    if mercer("machine", 1)["machine"]["int8"] != "amx":  # it is the default there
        del CANONICAL["float64 answers, AVX-512 without AMX"]
    for _ in range(options.repeats):
        for name, how in CANONICAL.items():
            sample(name, lambda: mercer("canonical", n, **how))
        for precision in ("float32", "float64"):
            sample(f"sklearn {precision}", lambda: sklearn(n, 1, precision))
        sample("predict", lambda: mercer("predict", 10 * n))
    for _ in range(options.ratio_repeats):
        for job in ("canonical", "outputs16", *(job for jobs in FIELDS.values() for job in jobs)):
            sample(job, lambda: mercer(job, n))
    for rows in (n // 10, n, 10 * n):
        sample(f"n={rows}", lambda: mercer("canonical", rows))
    apart = agreement(n)

    def memory(name):
        return max(s["peak_memory_bytes"] for s in runs[name]) / 1e9

    peers = {precision: median(runs[f"sklearn {precision}"]) for precision in ("float32", "float64")}
    default = next(iter(CANONICAL))
    machine = runs[default][-1]["machine"]
    import sklearn as package
    text = [
        "# Speed", "",
        f"Written by `make bench` ({' '.join(['bench/peers.py', *sys.argv[1:]])}) on {datetime.date.today()}: "
        f"{machine['cpu']}, {machine['threads']} threads, BLAS kernels {machine['blas_kernels']}, cos/sin {machine['simd']}, int8 {machine['int8']}, bf16 {machine['bf16']}; "
        f"scikit-learn {package.__version__} from PyPI. Medians of {options.repeats} interleaved runs.", "",
        f"The canonical job: ridge on random Fourier features, n = {n:,}, 32 inputs, 2000 frequencies (4000 features), penalty 1e-6; "
        f"the peer is RBFSampler(4000) + Ridge, which took {peers['float32']:.2f} s in float32 ({memory('sklearn float32'):.2f} GB) and {peers['float64']:.2f} s in float64 "
        f"({memory('sklearn float64'):.2f} GB). The bound is the job's flops at the multiply-add peak of the passes' precision, measured beside each run; a Gram matrix "
        "in lower precision can go below it, since the refinement on the rows restores the precision asked for.", "",
        "| canonical job | seconds | bound, s | × bound | × scikit-learn float64 | × scikit-learn float32 | GB | path |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in CANONICAL:
        ours, bound = median(runs[name]), median(runs[name], "bound_seconds")
        text.append(f"| {name} | {ours:.2f} | {bound:.2f} | {ours / bound:.2f} | {ours / peers['float64']:.2f} | {ours / peers['float32']:.2f} | "
                    f"{memory(name):.2f} | {way(runs[name][-1])} |")
    if apart is not None:
        text += ["", f"Predictions of the default and of float64 throughout for 1000 fresh rows differ by {apart:.1e} (relative, in the norm)."]
    text += ["", f"Ratios, all with the default precision, of medians of {options.ratio_repeats} interleaved runs:", "", "| ratio | measured |", "|---|---|",
             f"| 16 outputs / 1 output | {median(runs['outputs16']) / median(runs['canonical']):.2f} |"]
    for dimension, (scalar, *fields) in FIELDS.items():
        for field in fields:
            text.append(f"| {field.removesuffix('_3d').replace('_', '-')} / scalar, {dimension}, equal frequencies | {median(runs[field]) / median(runs[scalar]):.2f} |")
    text += ["", "The aims were 1.25 for 16 outputs and 1.5 for fields. On a CPU with AMX: docs/bench-amx.md."]
    text += ["", "| rows | seconds | × the line before | GB | path |", "|---|---|---|---|---|"]
    before = None
    for count in (n // 10, n, 10 * n):
        s = runs[f"n={count}"][0]
        text.append(f"| {count:,} | {s['seconds']:.2f} | {'' if before is None else format(s['seconds'] / before, '.1f')} | {s['peak_memory_bytes'] / 1e9:.2f} | {way(s)} |")
        before = s["seconds"]
    predict = runs["predict"]
    seconds, bound = median(predict), median(predict, "bound_seconds")
    text += ["", f"Predictions, {10 * n:,} rows by the canonical model: {seconds:.2f} s, {bound / seconds:.0%} of the bound by multiply-adds and pairs of cosine and sine ({bound:.2f} s). "
             f"One row through the C++ interface: {1e6 * median(predict, 'one_row_seconds'):.1f} µs.".replace("%", " %"), "",
             f"Measured beside: {machine['peak_f32'] / 1e9:.0f} GF/s float32, {machine['peak_f64'] / 1e9:.0f} GF/s float64; Gram update in int8 {machine['gram_int8'] / 1e9:.0f} Gop/s, in bf16 {machine['gram_bf16'] / 1e9:.0f} GF/s; cos/sin pairs "
             f"{machine['cos_sin_f32'] / 1e9:.2f}·10⁹/s float32, {machine['cos_sin_f64'] / 1e9:.2f}·10⁹/s float64.", ""]
    pathlib.Path(options.output).write_text("\n".join(text))
    print("\n".join(text))


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
