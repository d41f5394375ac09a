"""What pictures ask of models: any of Mercer's estimators, alone, in a pipeline or in a search."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base import CoreEstimator, Floats, whole
from .._times import as_dates, as_times
from ._style import count_of, percent


def inner(model: Any) -> CoreEstimator:
    """The fitted estimator of Mercer inside a model: of pipelines the last step, of searches and wrappers the best."""
    from sklearn.utils.validation import check_is_fitted

    found = model
    while not isinstance(found, CoreEstimator):
        if hasattr(found, "steps"):
            found = found.steps[-1][1]
        elif hasattr(found, "best_estimator_") or hasattr(found, "estimator_"):
            found = getattr(found, "best_estimator_", None) or found.estimator_
        else:
            if hasattr(found, "estimator"):
                check_is_fitted(found)
            raise ValueError(f"pictures are of Mercer's models, and {type(found).__name__} holds none")
    check_is_fitted(found)
    return found


def regressor(model: Any) -> CoreEstimator:
    """The same, of models that predict numbers."""
    found = inner(model)
    if found.model_.classes:
        raise ValueError("this picture is of models that predict numbers; mercer.plot.decision draws classes")
    if not hasattr(found, "predict"):
        raise ValueError(f"this picture is of models that predict, and {type(found).__name__} does not")
    return found


def table(X: Any, name: str = "X") -> tuple[Floats, str | None]:
    """Rows × columns of numbers, and the kind of dates they came from, if they were dates."""
    rows, dates = as_times(X)
    try:
        rows = np.asarray(rows, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a table of numbers") from None
    if rows.ndim != 2 or not rows.size:
        raise ValueError(f"{name} must be a table of at least one row and one column, got shape {rows.shape}")
    return rows, dates


def inputs(model: Any, X: Any) -> tuple[Floats, str | None]:
    """X as the table that a model was fitted to."""
    rows, dates = table(X)
    wanted = getattr(model, "n_features_in_", rows.shape[1])
    if rows.shape[1] != wanted:
        raise ValueError(f"X has {rows.shape[1]} columns, and the model was fitted to {wanted}")
    return rows, dates


def targets(y: Any, rows: int, columns: int, name: str = "y") -> Floats:
    """y as rows × columns, checked."""
    try:
        values = np.asarray(y, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers") from None
    values = values.reshape(len(values), -1) if values.ndim else values.reshape(1, 1)
    if values.shape != (rows, columns):
        wanted = f"{count_of(rows, 'row')} and {count_of(columns, 'column')}"
        raise ValueError(f"{name} must have {wanted}, got {values.shape[0]} and {values.shape[1]}")
    return values


def like(X: Any, rows: Floats) -> Any:
    """``rows`` with the column names of X, where X is a frame of pandas that a model may want back."""
    return type(X)(rows, columns=X.columns) if hasattr(X, "iloc") and hasattr(X, "columns") else rows


def input_names(model: Any, X: Any = None) -> list[str]:
    """What to call the inputs."""
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    if isinstance(getattr(X, "name", None), str) and X.name:
        return [X.name]
    names = getattr(model, "feature_names_in_", None)
    names = inner(model).model_.columns()["inputs"] if names is None and hasattr(model, "model_") else names
    if names is None:
        names = [f"x{k}" for k in range(int(getattr(model, "n_features_in_", 1)))]
    return ["x"] if list(names) == ["x0"] else [str(name) for name in names]


def target_names(model: Any) -> list[str]:
    """What to call the targets."""
    names = [str(name) for name in inner(model).model_.columns()["targets"]]
    return ["y"] if names == ["y0"] else names


def which(wanted: int | str, names: list[str], kind: str) -> int:
    """The number of an input or output (``kind``) that may be given by name."""
    if isinstance(wanted, str):
        if wanted not in names:
            raise ValueError(f"there is no {kind} {wanted!r}; the {kind}s are {', '.join(names)}")
        return names.index(wanted)
    if isinstance(wanted, bool) or not isinstance(wanted, (int, np.integer)) or not 0 <= wanted < len(names):
        raise ValueError(f"{kind}s are counted from 0 to {len(names) - 1}, got {wanted!r}")
    return int(wanted)


def series_of(model: Any, given: Any, columns: int, name: str) -> tuple[Floats, Floats]:
    """Times and targets (rows × columns) of a series that was given as a pair, or that the model remembers; else of no rows."""
    pair = getattr(inner(model), "series_", None) if given is None else given
    if pair is None:
        return np.empty(0), np.empty((0, columns))
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ValueError(f"{name} must be a pair (t, y)")
    times = table(pair[0], f"the t of {name}")[0]
    if times.shape[1] != 1:
        raise ValueError(f"the t of {name} must be a vector of times")
    return times[:, 0], targets(pair[1], len(times), columns, f"the y of {name}")


def whole_numbers(name: str, values: Any) -> list[int]:
    """Whole numbers of at least 1, ascending."""
    listed = list(values)
    if not listed:
        raise ValueError(f"{name} must be at least one whole number")
    for value in listed:
        whole(name, value)
    return sorted({int(value) for value in listed})


@dataclass
class Answer:
    """Predictions, rows × targets; of quantiles also rows × levels, the middle one standing for the mean."""

    mean: Floats
    deviation: Floats | None = None
    lower: Floats | None = None  # of conformal intervals
    upper: Floats | None = None
    interval_level: float | None = None
    levels: tuple[float, ...] = ()
    quantiles: Floats | None = None
    kind: str = "quantile"  # or expectile

    def bands(self, output: int, level: float | None = None) -> list[tuple[str, Floats, Floats]]:
        """What is known of the spread of an output, the widest band first, each with its name."""
        if self.quantiles is not None:
            pairs = range(len(self.levels) // 2)
            return [
                (f"{self.kind}s {self.levels[k]:g} to {self.levels[-1 - k]:g}", self.quantiles[:, k], self.quantiles[:, -1 - k])
                for k in pairs
            ]
        if self.lower is not None and self.upper is not None:
            name = "interval" if self.interval_level is None else f"{percent(self.interval_level)} interval"
            return [(name, self.lower[:, output], self.upper[:, output])]
        if self.deviation is None:
            return []
        wanted = (0.9, 0.5) if level is None else (level, 0.5) if level > 0.5 else (level,)
        mean, deviation = self.mean[:, output], self.deviation[:, output]
        return [(f"{percent(p)} band", mean - central(p) * deviation, mean + central(p) * deviation) for p in wanted]

    def edges(self, output: int, level: float | None = None) -> list[Floats]:
        """The ends of all bands."""
        return [edge for _, low, high in self.bands(output, level) for edge in (low, high)]

    @property
    def middle(self) -> str:
        """What ``mean`` is."""
        if self.quantiles is None:
            return "mean" if self.deviation is not None else "prediction"
        level = self.levels[len(self.levels) // 2]
        return "median" if level == 0.5 and self.kind == "quantile" else f"{level:g} {self.kind}"

    @property
    def has_middle(self) -> bool:
        """Of an even number of quantiles none is in the middle."""
        return len(self.levels) % 2 == 1 or not self.levels


def central(level: float) -> float:
    """z with P(|Z| ≤ z) = level for a normal Z."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 + level / 2)


def column(values: Any) -> Floats:
    """Vectors as one column."""
    array = np.asarray(values, dtype=float)
    return array.reshape(len(array), -1)


@contextmanager
def nameless() -> Iterator[None]:
    """Grids of a picture have no column names, and need none."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def ask(model: Any, X: Any, *, latent: bool = False) -> Answer:
    """Everything that a model says of rows X: the mean or quantiles, and intervals or deviations if it has them. Rows with an
    input that is not finite get NaN."""
    found = regressor(model)
    while hasattr(model, "best_estimator_"):  # searches hide the keywords of predict
        model = model.best_estimator_
    rows = np.asarray(X, dtype=float)
    good = np.isfinite(rows).all(axis=1)
    if not good.any():
        raise ValueError("no row of X has finite inputs")
    core = found.model_
    some = X if good.all() else like(X, rows[good])
    if core.columns()["dates"]:
        some = as_dates(rows[good, 0])
    kept: dict[str, Any] = {}
    with nameless():
        if core.levels:
            quantiles = column(model.predict(some))
            kept["quantiles"] = quantiles
            kept["mean"] = quantiles[:, [quantiles.shape[1] // 2]]
        if core.has_intervals and hasattr(model, "predict_interval"):
            lower, upper = model.predict_interval(some)
            kept["lower"], kept["upper"] = column(lower), column(upper)
        elif core.has_uncertainty and not core.levels and found.summary_["loss"] == "square":
            mean, deviation = model.predict(some, return_std=True, latent=latent)
            kept["mean"], kept["deviation"] = column(mean), column(deviation)
        if "mean" not in kept:
            kept["mean"] = column(model.predict(some))
    full = {name: _spread(values, good) for name, values in kept.items()}
    kind = "expectile" if found.summary_["loss"].startswith("expectile") else "quantile"
    return Answer(levels=tuple(core.levels), interval_level=found.summary_["interval_level"], kind=kind, **full)


def _spread(values: Floats, good: Any) -> Floats:
    full = np.full((len(good), values.shape[1]), np.nan)
    full[good] = values
    return full


def place(times: Floats, dates: Any) -> Any:
    """Numbers for an axis: dates, where they are."""
    return as_dates(times) if dates else times
