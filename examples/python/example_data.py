"""Data of the examples: real where the project's data folder is at hand (MERCER_DATA, or ../shared/data beside the
checkout), else of the same kind, made up. Each function returns arrays and says which it was."""

import csv
import gzip
import os
from pathlib import Path

import numpy as np

FOLDER = Path(os.environ.get("MERCER_DATA", Path(__file__).resolve().parents[3] / "shared/data"))


def _table(name, skip=1):
    """The numbers of a CSV file; None where the file is not here."""
    path = FOLDER / name
    return np.genfromtxt(path, delimiter=",", skip_header=skip) if path.exists() else None


def currents():
    """Places (km) and velocities (m/s) of drifters: the GLAD experiment in the Gulf of Mexico; or two eddies and an outflow."""
    table = _table("fields/drifters-glad.csv")
    if table is not None:
        return table[:, :2], table[:, 2:], "drifters of the GLAD experiment"
    rng = np.random.default_rng(0)
    X = rng.uniform(-50, 50, (600, 2))
    UV = np.zeros_like(X)
    for x, y, turn in ((-20, 10, 1), (25, -15, -1)):
        away = X - (x, y)
        UV += turn * 0.03 * np.exp(-(away**2).sum(1, keepdims=True) / 800) * np.column_stack([-away[:, 1], away[:, 0]])
    UV += 0.004 * (X - (0, 30)) * np.exp(-((X - (0, 30)) ** 2).sum(1, keepdims=True) / 600)
    return X, UV + 0.02 * rng.normal(size=UV.shape), "made-up drifters"


def helmets():
    """Milliseconds after an impact and acceleration of a motorcyclist's head (g): Silverman's data; or a curve like it."""
    table = _table("quantile/mcycle.csv")
    if table is not None:
        return table[:, :1], table[:, 1], "Silverman's motorcycle data"
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(2, 58, 133))
    hit = np.where(t > 14, -130 * np.exp(-(((t - 21) / 4.5) ** 2)) + 60 * np.exp(-(((t - 32) / 5) ** 2)), 0)
    return t[:, None], hit + np.where(t > 14, 22, 2) * rng.normal(size=133), "a made-up impact"


def carbon_dioxide():
    """Years and monthly means of carbon dioxide in air (ppm): Mauna Loa, 1959 to 1997; or a trend with seasons."""
    table = _table("series/co2-monthly.csv")
    if table is not None:
        return table[:, 0], table[:, 1], "carbon dioxide at Mauna Loa"
    years = 1959 + np.arange(468) / 12
    since = years - 1959
    ppm = 315 + 0.75 * since + 0.012 * since**2 + 2.8 * np.sin(2 * np.pi * years) + 0.8 * np.sin(4 * np.pi * years)
    return years, ppm + 0.3 * np.random.default_rng(0).normal(size=468), "a made-up trend with seasons"


def buildings():
    """Eight measures of 768 buildings, and the energy to heat and cool them: Tsanas and Xifara's data; or a surface like it."""
    path = FOLDER / "multi-target/enb.arff.gz"
    if path.exists():
        with gzip.open(path, "rt") as file:
            lines = [line.strip() for line in file]
        start = next(i for i, line in enumerate(lines) if line.lower() == "@data")
        table = np.array([row for row in csv.reader(lines[start + 1 :]) if row], dtype=float)
        return table[:, :8], table[:, 8:], "energy of 768 buildings"
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (768, 8))
    heating = 20 + 10 * np.tanh(4 * X[:, 0] - 2) + 8 * X[:, 6] * (1 + X[:, 4])
    cooling = 1.05 * heating + 3 * np.sin(5 * X[:, 1]) + 2
    return X, np.column_stack([heating, cooling]) + 0.5 * rng.normal(size=(768, 2)), "made-up buildings"
