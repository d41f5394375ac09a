"""Error and time against the number of features."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._model import inner, whole_numbers
from ._style import BLUE, GREY, ORANGE, canvas, count_of, decades, finish, tick_at


def learning_curve(
    estimator: Any, X: ArrayLike, y: ArrayLike, *, features: Sequence[int] = (10, 30, 100, 300, 1000), ax: Any = None
) -> Any:
    """Error on a fifth of the rows held out, and the time of the fit, against the number of features (D, or s of a sketch).

    The error is the root mean square for regressors, the pinball loss for quantiles, the share of wrong labels for classifiers.

    Parameters
    ----------
    estimator : estimator with a parameter ``features``
        Fitted or not; also a pipeline whose step has it. It is cloned, not changed.
    X : array of shape (n, d)
    y : array of shape (n,) or (n, targets)
    features : sequence of int
    ax : Axes, optional
        Times get a twin of it, ``ax.right_ax``.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor, plot
    >>> X = np.random.default_rng(0).uniform(-2, 2, (200, 2))
    >>> ax = plot.learning_curve(KernelRegressor(), X, np.sin(X).sum(axis=1), features=(5, 20, 50))
    >>> len(ax.lines[0].get_xdata())
    3
    """
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import train_test_split

    name = _parameter(estimator)
    counts = whole_numbers("features", features)
    labels = np.asarray(y) if is_classifier(estimator) else None
    indices = np.arange(len(np.asarray(y)))
    if len(indices) < 5:
        raise ValueError(f"a fifth of the rows is held out, and there are only {len(indices)}")
    train, test = train_test_split(indices, test_size=0.2, random_state=0, stratify=_strata(labels))
    parts = [_take(X, train), _take(y, train), _take(X, test), _take(y, test)]
    errors, training_errors, seconds = [], [], []
    what = "error"
    for count in counts:
        model = clone(estimator).set_params(**{name: count})
        began = time.perf_counter()
        model.fit(parts[0], parts[1])
        seconds.append(time.perf_counter() - began)
        training_errors.append(_error(model, parts[0], parts[1])[0])
        error, what = _error(model, parts[2], parts[3])
        errors.append(error)

    ax = canvas(ax)
    (line,) = ax.plot(counts, errors, color=BLUE, linewidth=1.8, marker="o", markersize=5, label="test error", zorder=4)
    (seen,) = ax.plot(counts, training_errors, color=BLUE, linewidth=1.1, linestyle=(0, (4, 2)), label="training error", zorder=3)
    right = ax.twinx()
    ax.right_ax = right
    for side in ("top", "left", "bottom"):
        right.spines[side].set_visible(False)
    right.spines["right"].set(color=GREY, linewidth=0.8)
    (clock,) = right.plot(counts, seconds, color=ORANGE, linewidth=1.4, marker="s", markersize=4, label="time to fit", zorder=3)
    ax.set_xscale("log")
    tick_at(ax.xaxis, counts)
    _heights(ax, errors + training_errors)
    _heights(right, seconds)
    ax.set_xlabel("features")
    ax.set_ylabel(what, color=BLUE)
    right.set_ylabel("time to fit (s)", color=ORANGE, fontsize=10)
    right.tick_params(which="both", labelsize=9, color=GREY, labelcolor=ORANGE, width=0.8)
    ax.tick_params(axis="y", labelcolor=BLUE)
    return finish(ax, f"Error and time, {count_of(len(train), 'row')} to fit, {len(test)} to test", [line, seen, clock])


def _heights(ax: Any, values: list[float]) -> None:
    """From 0, or over decades where the values need them."""
    if max(values) < 20 * min(values) or min(values) <= 0:
        ax.set_ylim(0, 1.08 * max(values) or 1.0)
        return
    ax.set_yscale("log")
    decades(ax.yaxis, min(values), max(values))


def _parameter(estimator: Any) -> str:
    names = [name for name in estimator.get_params() if name == "features" or name.endswith("__features")]
    if not names:
        raise ValueError(f"{type(estimator).__name__} has no parameter 'features'")
    return min(names, key=len)


def _strata(labels: Any) -> Any:
    """Labels, where each of them is there often enough to be on both sides."""
    return labels if labels is not None and np.unique(labels, return_counts=True)[1].min() > 1 else None


def _take(table: Any, rows: Any) -> Any:
    from sklearn.utils import _safe_indexing

    return _safe_indexing(table if hasattr(table, "__array__") or hasattr(table, "iloc") else np.asarray(table), rows)


def _error(model: Any, X: Any, y: Any) -> tuple[float, str]:
    from sklearn.base import is_classifier

    if is_classifier(model):
        return float(np.mean(np.asarray(model.predict(X)) != np.asarray(y))), "share of wrong labels"
    left = np.asarray(y, dtype=float).reshape(len(y), -1) - np.asarray(model.predict(X)).reshape(len(y), -1)
    levels = np.asarray(inner(model).model_.levels)
    if levels.size:
        return float(np.mean(np.maximum(levels * left, (levels - 1) * left))), "pinball loss"
    return float(np.sqrt(np.mean(left**2))), "root mean square error"
