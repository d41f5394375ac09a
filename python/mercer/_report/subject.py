"""The model of a report: what kind it is, and what it answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._base import CoreEstimator, Floats


class Subject:
    """A fitted estimator seen through its core model, which answers for rows as plain arrays."""

    def __init__(self, model: Any):
        fitted = getattr(model, "best_estimator_", model)  # of a search
        fitted = getattr(fitted, "estimator_", fitted)  # of ConformalRegressor
        if not isinstance(fitted, CoreEstimator) or not hasattr(fitted, "predict"):
            known = "regressors, classifiers and processes of Mercer"
            raise ValueError(f"a report is of fitted {known}, not of {type(fitted).__name__} (of a pipeline, give the last step)")
        if not hasattr(fitted, "model_"):
            raise ValueError(f"this {type(fitted).__name__} is not fitted; call fit first")
        self.estimator: Any = fitted
        self.core: _core.Model = fitted.model_
        self.summary: dict[str, Any] = fitted.summary_
        self.settings: dict[str, Any] = _core.settings(self.core)
        names = self.core.columns()
        self.inputs: list[str] = list(names["inputs"])
        self.targets: list[str] = list(names["targets"])
        self.classes: list[str] = list(self.core.classes)
        self.levels: Floats = np.asarray(self.core.levels)

    @property
    def kind(self) -> str:
        """ "classes", "quantiles", "process" or "mean"."""
        if self.classes:
            return "classes"
        if len(self.levels):
            return "quantiles"
        return "process" if self.summary["process"] else "mean"

    @property
    def is_field(self) -> bool:
        """Arrows in the plane."""
        return self.kind in ("mean", "process") and self.core.inputs == 2 and self.core.outputs == 2

    @property
    def is_series(self) -> bool:
        return self.kind == "process" and self.core.inputs == 1

    @property
    def gives_probabilities(self) -> bool:
        return self.kind == "classes" and self.summary["loss"] in ("logistic", "multinomial")

    @property
    def has_spectrum(self) -> bool:
        """A learned spectrum, by random points or by exact likelihood."""
        summary = self.summary
        return bool(summary["process"]) and "spectral_mixture" in (summary["process"], summary["kernel"].partition("(")[0])

    @property
    def has_bands(self) -> bool:
        """Something that promises a share of the rows: quantiles, intervals, standard deviations."""
        if self.core.has_intervals or self.loss == "pinball":
            return True
        return self.core.has_uncertainty and self.summary["loss"] == "square"

    @property
    def loss(self) -> str:
        """Name without parameters."""
        return str(self.summary["loss"]).partition(":")[0]

    @property
    def dates(self) -> list[str]:
        """How each numeric input writes dates; "none" for numbers. Text columns stand for several inputs, none of them dates."""
        formats = dict(zip(self.settings["columns"], self.settings["dates"], strict=True))
        return [formats.get(name, "none") for name in self.inputs]

    @property
    def target_scale(self) -> Floats:
        return np.asarray(self.core.scaling()["target_scale"])

    def predict(self, X: Floats) -> Floats:
        """Rows × outputs: means, quantiles, or a number for each class."""
        return self.core.predict(X)

    def deviations(self, X: Floats) -> Floats | None:
        """Standard deviations of new observations, where the model has them."""
        if self.kind not in ("mean", "process") or not self.core.has_uncertainty:
            return None
        return self.core.predict_std(X)[1]

    def intervals(self, X: Floats) -> tuple[Floats, Floats] | None:
        """Conformal intervals, where the model has them."""
        return self.core.predict_interval(X) if self.core.has_intervals else None

    def codes(self, labels: Any) -> Floats:
        """Class numbers of labels, NaN where one is missing."""
        known: dict[Any, int] = {text: k for k, text in enumerate(self.classes)}
        for k, label in enumerate(np.asarray(self.estimator.classes_).tolist()):
            known[label] = k
        return np.array([_code(label, known) for label in _listed(labels)], dtype=float)


def _listed(labels: Any) -> list[Any]:
    array: NDArray[Any] = np.asarray(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"labels must be a vector, got shape {array.shape}")
    return array.tolist()


def _code(label: Any, known: dict[Any, int]) -> float:
    if label is None or label != label or label == "":
        return np.nan
    found = known.get(label, known.get(str(label)))
    if found is None:
        some = ", ".join(repr(name) for name in list(known)[:5])
        raise ValueError(f"y has the label {label!r}, which the model does not know (it knows {some}{', …' * (len(known) > 5)})")
    return float(found)
