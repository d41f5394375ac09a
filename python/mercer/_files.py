"""Estimators from ``.mercer`` files, whoever wrote them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import _core
from ._base import CoreEstimator, summary_of
from ._classification import KernelClassifier
from ._process import ExactGP, SpectralMixtureGP
from ._quantile import KernelQuantileRegressor
from ._regression import KernelRegressor


def _labels(texts: list[str]) -> Any:
    """Class labels as numbers, or True and False, where all of them are."""
    if set(texts) == {"False", "True"}:
        return np.array([text == "True" for text in texts])
    for number in (int, float):
        try:
            return np.array([number(text) for text in texts])
        except ValueError:
            continue
    return np.array(texts)


def load(path: Any) -> Any:
    """The estimator in a ``.mercer`` file, written by Python, C++ or the command line.

    Parameters
    ----------
    path : path

    Returns
    -------
    A fitted KernelRegressor, KernelClassifier, KernelQuantileRegressor, SpectralMixtureGP or ExactGP.
    """
    try:
        model = _core.Model.load(os.fspath(path))
    except OSError as error:
        if os.path.exists(path):
            raise
        raise FileNotFoundError(str(error)) from None
    summary = summary_of(model)
    estimator: CoreEstimator
    kernel = {"kernel": summary["kernel"], "map": summary["map"], "penalty": summary["penalty"]}
    if summary["process"] == "spectral_mixture":
        estimator = SpectralMixtureGP(components=len(model.spectrum(0)))
    elif summary["process"]:
        estimator = ExactGP(summary["kernel"], inducing=summary["features"] if summary["process"] == "vfe" else None)
    elif model.classes:
        estimator = KernelClassifier(**kernel, loss=summary["loss"])
        estimator.classes_ = _labels(model.classes)
    elif model.levels:
        estimator = KernelQuantileRegressor(model.levels, **kernel)
        estimator.quantiles_ = np.asarray(model.levels)
    else:
        estimator = KernelRegressor(**kernel, loss=summary["loss"])
    columns = model.columns()
    estimator.n_features_in_ = model.inputs
    if columns["inputs"] != [f"x{k}" for k in range(model.inputs)]:
        estimator.feature_names_in_ = np.array(columns["inputs"], dtype=object)
    estimator._targets_flat = model.outputs == 1
    estimator._dates = columns["dates"]
    estimator.model_ = model
    estimator.summary_ = summary
    return estimator
