"""Independent computations, and what several test files need beside them."""

import numpy as np
from conftest import numbers
from scipy.linalg import solve

SUMMARY = {
    "n", "weight", "inputs", "outputs", "features", "parameters", "kernel", "map", "sampling", "anchors", "loss", "solver", "precision", "gram", "spread_error", "plan", "objective", "gap", "process", "nlml",
    "penalty", "penalty_chosen", "penalty_path", "leave_one_out_rmse", "leave_one_out_rows", "degrees_of_freedom", "iterations",
    "residual", "interval_level", "calibration_rows", "status", "notes", "seconds", "peak_memory_bytes",
}  # fmt: skip
RAW = ["--no-standardize", "--no-intercept"]


def gaussian(x, z, scale=1.0):
    return np.exp(-((x[:, None, :] - z[None, :, :]) ** 2).sum(-1) / (2 * scale**2))


def bordered(k, y, ridge, weights=None):
    """f = K a + b with (K + ridge W⁻¹) a + b 1 = y, 1ᵀa = 0: kernel ridge with an unpenalised constant."""
    n = len(y)
    w = np.ones(n) if weights is None else weights
    system = np.block([[k + ridge * np.diag(1 / w), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = solve(system, np.append(y, 0))
    return solution[:n], solution[n]


def predicted(run, model, data, *options):
    return numbers(run("predict", model, data, *options).out)


def close(a, b, tolerance):
    """Within a tolerance relative to the spread of b."""
    return np.abs(np.ravel(a) - np.ravel(b)).max() <= tolerance * np.ptp(b)
