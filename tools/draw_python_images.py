#!/usr/bin/env python3
"""Draws docs/images/python: pictures of mercer.plot on real data (../shared/data, or where MERCER_DATA points).

    PYTHONPATH=python build/venv/bin/python tools/draw_python_images.py
"""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from PIL import Image  # noqa: E402
from sklearn.datasets import load_iris  # noqa: E402

from mercer import KernelClassifier, KernelQuantileRegressor, KernelRegressor, SpectralMixtureGP, plot  # noqa: E402
from mercer.kernels import Gaussian, Helmholtz  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("MERCER_DATA", ROOT / "../shared/data"))
OUT = ROOT / "docs/images/python"


def write(name: str, ax: object) -> None:
    """A small PNG."""
    path = OUT / f"{name}.png"
    ax.figure.savefig(path, dpi=100, pil_kwargs={"optimize": True})  # type: ignore[attr-defined]
    if path.stat().st_size > 60_000:
        picture = Image.open(path).convert("RGB")
        picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1000:.0f} kB", flush=True)


def uci(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The first of the ten splits."""
    table = pd.read_csv(DATA / f"uci/{name}.csv.gz", header=None).to_numpy()
    test = pd.read_csv(DATA / f"uci/{name}.test_mask.csv.gz", header=None).to_numpy()[:, 0] == 1
    return table[~test, :-1], table[~test, -1], table[test, :-1], table[test, -1]


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)

    drifters = pd.read_csv(DATA / "fields/drifters-glad.csv")
    X, UV = drifters[["x_km", "y_km"]], drifters[["u_ms", "v_ms"]]
    write("field", plot.field(KernelRegressor(Helmholtz(Gaussian(0.3), 0.5), features=300).fit(X, UV), X, UV, grid=25))

    crash = pd.read_csv(DATA / "quantile/mcycle.csv")
    model = KernelQuantileRegressor([0.1, 0.3, 0.5, 0.7, 0.9], non_crossing=True, kernel=Gaussian(0.3))
    write("fan", plot.fan(model.fit(crash[["times"]], crash["accel"]), crash[["times"]], crash["accel"]))

    co2 = pd.read_csv(DATA / "series/co2-weekly.csv", dtype={"date": str}).dropna()
    process = SpectralMixtureGP(components=6, steps=150).fit(pd.to_datetime(co2["date"], format="%Y%m%d"), co2["co2"])
    write("forecast", process.plot_forecast(horizon=104))
    write("spectrum", plot.spectrum(process))

    A, b, C, d = uci("concrete")
    ridge = KernelRegressor(features=300).fit(A, b)
    write("calibration", plot.calibration(ridge, C, d))
    write("learning-curve", plot.learning_curve(KernelRegressor(), A, b, features=(10, 30, 100, 300, 1000)))
    write("kernel-error", plot.kernel_error(Gaussian(), A))

    flowers = load_iris(as_frame=True)
    petals = flowers.data[["petal length (cm)", "petal width (cm)"]]
    species = flowers.target_names[flowers.target]
    write("decision", plot.decision(KernelClassifier(features=100).fit(petals, species), petals, species))


if __name__ == "__main__":
    main()
