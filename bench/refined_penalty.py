#!/usr/bin/env python3
"""Does the low-precision Gram matrix choose the same penalty as float64?

Fits every real set of shared/data twice, without --penalty: --solver refined scores the penalties (powers of 2) with a bf16
Gram matrix, --solver eigen with float64. Prints a table in markdown: both choices, and how much leave-one-out error, as
float64 scores it, the choice of bf16 costs. --write puts it into docs/refinement.md between its marks.

  bench/refined_penalty.py [--mercer build/release/mercer] [--data ../shared/data] [--rows 10000] [--write]
"""
import argparse
import datetime
import gzip
import json
import math
import os
import pathlib
import subprocess
import tempfile

import fair  # noqa: F401: before numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARKS = "<!-- penalties: begin -->", "<!-- penalties: end -->"

# file, targets, further options
SETS = [(f"uci/{name}.csv.gz", "last:1", []) for name in ("bike", "concrete", "elevators", "energy", "kin40k", "pol", "protein")]
SETS += [(f"multi-target/{name}.arff.gz", f"last:{p}", ["--missing", "mean"])
         for name, p in (("enb", 2), ("jura", 3), ("wq", 14), ("atp1d", 6), ("rf1", 8), ("rf2", 8), ("scm20d", 16))]
SETS += [("multi-target/scm1d-reconstructed.arff.gz", "last:16", ["--missing", "drop"]),
         ("fields/magnetic-invensense.csv.gz", "last:3", ["--inputs", "x_m,y_m"]),
         ("housing/boston.csv", "medv", []),
         ("fields/drifters-glad.csv", "last:2", ["--kernel", "curl_free(gaussian(median))"]),
         ("fields/drifters-glad.csv", "last:2", ["--kernel", "divergence_free(gaussian(median))"])]


def head_of(path, rows, folder):
    """The set itself, or its first rows where it is longer (CSV and ARFF are lines)."""
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened as source:
        lines = source.readlines()
    start = next((i + 1 for i, line in enumerate(lines) if line.strip().lower() == "@data"), 1 if path.suffix != ".gz" else 0)
    short = folder / path.name.removesuffix(".gz")
    short.write_text("".join(lines[:start + rows]))
    return short


def fit(mercer, file, target, features, solver, extra):
    command = [mercer, "fit", file, "--target", target, "--map", f"fourier:{features // 2}", "--solver", solver, "--uncertainty", "none",
               "--json", *extra]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=os.environ | {"MERCER_PACKED": "portable"})
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")
    return json.loads(done.stdout)


def line_of(name, extra, features, low, full):
    score = {round(math.log2(penalty), 3): value for penalty, value in full["penalty_path"]}
    best = score[round(math.log2(full["penalty"]), 3)]
    chosen = score.get(round(math.log2(low["penalty"]), 3), math.nan)
    kernel = f", {extra[1].split('(')[0].replace('_', '-')}" if "--kernel" in extra else ""
    how = f"{low['iterations']} passes" if low["solver"] == "refined" else "fell back, then float64"
    return (f"| {name}{kernel} | {full['n']} | {features} | {full['penalty']:.3g} | {low['penalty']:.3g} | "
            f"{math.log2(low['penalty'] / full['penalty']):+.0f} | {100 * (math.sqrt(chosen / best) - 1):.4f} % | {how} |")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mercer", default=ROOT / "build/release/mercer")
    options.add_argument("--data", type=pathlib.Path, default=os.environ.get("MERCER_DATA", ROOT.parent / "shared/data"))
    options.add_argument("--rows", type=int, default=10000)
    options.add_argument("--features", type=int, nargs="+", default=[300, 1000])
    options.add_argument("--write", action="store_true")
    o = options.parse_args()
    table = ["| set | rows | features | float64 | bf16 | steps of 2 | leave-one-out RMSE lost | answer |", "|---|---|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for file, target, extra in SETS:
            short = head_of(pathlib.Path(o.data) / file, o.rows, pathlib.Path(folder))
            for features in o.features:
                low, full = (fit(o.mercer, short, target, features, solver, extra) for solver in ("refined", "eigen"))
                table.append(line_of(pathlib.Path(file).name.split(".")[0], extra, features, low, full))
                print(table[-1], flush=True)
    text = f"`bench/refined_penalty.py --rows {o.rows} --features {' '.join(map(str, o.features))}`, {datetime.date.today()}:\n\n" + "\n".join(table)
    if o.write:
        document = ROOT / "docs/refinement.md"
        before, rest = document.read_text().split(MARKS[0])
        document.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{rest.split(MARKS[1])[1]}")


if __name__ == "__main__":
    main()
