"""Quantiles, or the mean with its bands, along one input."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._base import Floats
from ._model import Answer, ask, input_names, inputs, like, place, regressor, target_names, targets, which
from ._style import BLUE, INK, calendar, canvas, finish, window

SHADES = (0.16, 0.2, 0.22)  # of nested bands, which add up


def fan(
    model: Any, X: ArrayLike, y: ArrayLike | None = None, *, feature: int | str = 0, output: int | str = 0, ax: Any = None
) -> Any:
    """Quantiles of a :class:`~mercer.KernelQuantileRegressor`, or the mean of another regressor with its bands, along one input.

    Parameters
    ----------
    model : fitted regressor
        Also in a pipeline or a search.
    X : array of shape (n, d)
        Rows, which say how far the picture reaches. Inputs other than ``feature`` stay at their medians.
    y : array of shape (n,) or (n, targets), optional
        What was observed there, drawn as points. Where there are other inputs, rows far from their medians are paler.
    feature : int or str
        Which input, by number or name.
    output : int or str
        Which target, of several.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelQuantileRegressor, plot
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 1, (200, 1))
    >>> y = x[:, 0] + (0.1 + x[:, 0]) * rng.normal(size=200)
    >>> ax = plot.fan(KernelQuantileRegressor([0.1, 0.5, 0.9]).fit(x, y), x, y)
    >>> ax.get_title(loc="left")
    'Quantiles of y'
    """
    regressor(model)
    rows, dates = inputs(model, X)
    names = input_names(model, X)
    feature = which(feature, names, "input")
    outputs = target_names(model)
    output = which(output, outputs, "output")
    along = rows[:, feature]
    along = along[np.isfinite(along)]
    if not along.size:
        raise ValueError(f"input {names[feature]!r} has no finite number")
    low, high = _reach(along)
    steps = int(np.clip(2 * len(rows), 300, 2000)) if rows.shape[1] == 1 else 300  # a long series may have many cycles
    grid = np.tile(np.nanmedian(rows, axis=0), (steps, 1))
    grid[:, feature] = np.linspace(low, high, steps)
    answer = ask(model, like(X, grid))
    seen = None if y is None else targets(y, len(rows), len(outputs))[:, output]

    ax = canvas(ax)
    if seen is not None:
        _points(ax, rows, place(rows[:, feature], dates), seen, feature)
    draw_bands(ax, place(grid[:, feature], dates), answer, output)
    window(ax, seen, answer.mean[:, output], *answer.edges(output))
    ax.margins(x=0.01)
    if dates:
        calendar(ax.xaxis)
    else:
        ax.set_xlabel(names[feature] + ("" if rows.shape[1] == 1 else " (other inputs at their medians)"))
    ax.set_ylabel(outputs[output])
    return finish(ax, f"{_what(answer)} of {outputs[output]}")


def _reach(along: Floats) -> tuple[float, float]:
    """From the least to the largest; around a single value a little more."""
    low, high = float(along.min()), float(along.max())
    air = 0.0 if high > low else 0.1 * abs(low) or 1.0
    return low - air, high + air


def _what(answer: Answer) -> str:
    if not answer.levels:
        return "Prediction"
    return f"{answer.kind.capitalize()}s" if len(answer.levels) > 1 else f"{answer.levels[0]:g} {answer.kind}"


def draw_bands(ax: Any, x: Any, answer: Answer, output: int, level: float | None = None) -> None:
    """Nested bands, the widest palest, and the line in the middle."""
    beneath = 1.0
    for number, (name, low, high) in enumerate(answer.bands(output, level)):
        shade = SHADES[min(number, len(SHADES) - 1)]
        ax.fill_between(x, low, high, color=BLUE, alpha=shade, linewidth=0, zorder=2)
        beneath *= 1 - shade
        ax.fill([], [], color=BLUE, alpha=1 - beneath, linewidth=0, label=name)  # the colour of all bands so far, for the legend
        if answer.levels:
            for edge in (low, high):
                ax.plot(x, edge, color=BLUE, linewidth=0.8, alpha=0.75, zorder=3)
    if answer.has_middle:
        ax.plot(x, answer.mean[:, output], color=BLUE, linewidth=1.8, label=answer.middle, zorder=4)


def _points(ax: Any, rows: Any, x: Any, y: Any, feature: int) -> None:
    """Observations; the paler, the farther the other inputs are from their medians (in quartile ranges)."""
    most = 3000
    chosen = np.arange(len(rows)) if len(rows) <= most else np.random.default_rng(0).choice(len(rows), most, replace=False)
    others = np.delete(rows, feature, axis=1)[chosen]
    alpha = np.full(len(chosen), 0.45 if len(chosen) < 1000 else 0.25)
    if others.shape[1]:
        low, middle, high = np.nanpercentile(others, [25, 50, 75], axis=0)
        spread = np.where(high > low, high - low, np.nanstd(others, axis=0))
        away = np.abs(others - middle) / np.where(spread > 0, spread, 1)
        distance = np.sqrt(np.nanmean(away**2, axis=1))
        alpha = alpha * np.exp(-0.5 * (distance / np.nanmedian(distance)) ** 2) if np.nanmedian(distance) > 0 else alpha
    ax.scatter(x[chosen], y[chosen], s=11, color=INK, alpha=np.nan_to_num(alpha, nan=0.1), linewidth=0, label="rows", zorder=3)
