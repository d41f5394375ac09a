"""The rows of a report: from arrays and frames, or from a file by the columns of the model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from .._base import Floats
from .._times import as_times
from .subject import Subject


@dataclass(frozen=True)
class Data:
    """Rows with NaN where a cell is missing; targets of classifiers are class numbers."""

    X: Floats
    y: Floats
    weights: Floats | None = None
    source: str | None = None

    @property
    def present(self) -> Any:
        """Rows without a missing cell."""
        return np.isfinite(np.hstack([self.X, self.y])).all(axis=1)

    @property
    def missing(self) -> int:
        """Rows with one."""
        return int((~self.present).sum())

    def complete(self) -> Data:
        """The rows that can be scored."""
        kept = self.present
        if not kept.any():
            raise ValueError(f"{self.source or 'the data'}: every row has a missing cell, so there is nothing to score")
        if kept.all():
            return self
        weights = None if self.weights is None else self.weights[kept]
        return Data(np.ascontiguousarray(self.X[kept]), np.ascontiguousarray(self.y[kept]), weights, self.source)

    def some(self, most: int) -> Data:
        """At most so many rows, evenly spread: what a picture can show."""
        if len(self.X) <= most:
            return self
        kept = np.linspace(0, len(self.X) - 1, most).astype(int)
        weights = None if self.weights is None else self.weights[kept]
        return Data(np.ascontiguousarray(self.X[kept]), np.ascontiguousarray(self.y[kept]), weights, self.source)


def from_file(subject: Subject, path: Any) -> Data:
    """A table as the command line reads it: columns by name, dates, categories, classes; CSV, ARFF, NPY, …, gzipped too."""
    X, y, weights = _core.read_table(subject.core, str(path))
    if not len(X):
        raise ValueError(f"{path}: no rows")
    return Data(X, y, weights, Path(path).name)


def from_arrays(subject: Subject, X: Any, y: Any, sample_weight: Any = None) -> Data:
    """Arrays, lists, or frames whose columns are found by name."""
    rows = _inputs(subject, X)
    targets = subject.codes(y)[:, None] if subject.classes else _numbers(y, "y")
    if targets.ndim == 1:
        targets = targets[:, None]
    expected = 1 if subject.kind in ("classes", "quantiles") else subject.core.outputs
    if targets.ndim != 2 or targets.shape[1] != expected:
        raise ValueError(f"y has shape {np.shape(y)}, but the model has {expected} target{'s' * (expected > 1)}")
    if len(rows) != len(targets):
        raise ValueError(f"X has {len(rows)} rows and y has {len(targets)}")
    if not len(rows):
        raise ValueError("X has no rows")
    return Data(np.ascontiguousarray(rows), np.ascontiguousarray(targets), _weights(sample_weight, len(rows)))


def _inputs(subject: Subject, X: Any) -> Floats:
    if hasattr(X, "columns") and hasattr(subject.estimator, "feature_names_in_"):
        names = [str(name) for name in X.columns]
        absent = [name for name in subject.inputs if name not in names]
        if absent:
            raise ValueError(f"X lacks the model's input {absent[0]!r}; it has {', '.join(map(repr, names[:8]))}")
        X = X[subject.inputs]
    if subject.core.inputs == 1:
        X = as_times(X)[0]
    rows = _numbers(X, "X")
    if rows.ndim != 2 or rows.shape[1] != subject.core.inputs:
        raise ValueError(f"X has shape {np.shape(X)}, but the model takes {subject.core.inputs} inputs")
    return rows


def _numbers(values: Any, name: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from None


def _weights(sample_weight: Any, rows: int) -> Floats | None:
    if sample_weight is None:
        return None
    weights = _numbers(sample_weight, "sample_weight")
    if weights.shape != (rows,) or not (np.isfinite(weights) & (weights >= 0)).all() or not weights.any():
        raise ValueError(f"sample_weight must be {rows} numbers that are not negative, and not all 0")
    return weights


def looks_fitted(subject: Subject, data: Data) -> bool:
    """Whether these are, by their number and their means, the rows that the model was fitted to."""
    summary = subject.summary
    if len(data.X) != summary["n"] + summary["calibration_rows"]:
        return False
    if summary["calibration_rows"] or not subject.settings["standardize"]:
        return True
    scaling = subject.core.scaling()
    means = np.average(data.X, axis=0, weights=data.weights)
    return bool(np.all(np.abs(means - scaling["input_shift"]) <= 1e-6 * np.abs(scaling["input_scale"])))
