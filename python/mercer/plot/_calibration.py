"""Whether bands hold what they promise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._base import Floats
from ._model import ask, central, inner, inputs, like, nameless, regressor, target_names, targets
from ._style import BLUE, COLOURS, GREY, LIGHT, STROKES, aside, canvas, count_of, finish, percent


def calibration(model: Any, X: ArrayLike, y: ArrayLike, *, ax: Any = None) -> Any:
    """How often observations fall inside the bands of a model, against how often they should.

    Standard deviations: central bands of every level. Conformal intervals: their one level. Quantiles: the share of observations
    below each. Classifiers: how often the predicted label is right, against its probability, in tenths of the rows. The grey band
    is where 95 % of right models would lie with so many independent rows, level by level.

    Parameters
    ----------
    model : fitted regressor, or classifier with probabilities
    X : array of shape (n, d)
        Rows that the model has not seen.
    y : array of shape (n,) or (n, targets), or labels
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor, plot
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 6, (300, 1))
    >>> y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=300)
    >>> ax = plot.calibration(KernelRegressor(features=50).fit(x[:200], y[:200]), x[200:], y[200:])
    >>> ax.get_xlabel()
    'nominal level'
    """
    if inner(model).model_.classes:
        return _reliability(model, X, y, ax)
    regressor(model)
    rows, _ = inputs(model, X)
    names = target_names(model)
    seen = targets(y, len(rows), len(names))
    answer = ask(model, like(X, rows))
    good = np.isfinite(rows).all(axis=1) & np.isfinite(seen).all(axis=1)
    if not good.any():
        raise ValueError("no row has finite inputs and targets")
    if answer.lower is None and answer.deviation is None and (answer.quantiles is None or answer.kind == "expectile"):
        raise ValueError("this model has neither deviations nor intervals nor quantiles to check")

    ax = canvas(ax, (4.8, 5.0))
    count = int(good.sum())
    _ideal(ax, count)
    words = []
    above = 0.0
    one = answer.quantiles is not None and answer.lower is None
    for number, name in enumerate(names):
        levels, shares = _coverage(answer, seen, good, number)
        above += float(np.sum(shares - levels))
        colour, stroke = COLOURS[number % len(COLOURS)], STROKES[number % len(STROKES)]
        label = ("model" if len(names) == 1 else name) if number < len(COLOURS) else None
        marked = len(levels) < 20
        ax.plot(levels, shares, color=colour, linestyle=stroke, linewidth=1.8, marker="o" if marked else None, markersize=5,
                label=label, zorder=4, clip_on=False)  # fmt: skip
        if not one and len(names) <= 4:
            at = int(np.argmin(np.abs(levels - 0.9))) if answer.lower is None else 0
            whose = "" if len(names) == 1 else f"{name}: "
            words.append(f"{whose}{percent(levels[at])} bands hold {percent(round(shares[at], 3))}")
    if words:
        aside(ax, "\n".join(words), corner="lower right" if above > 0 else "upper left")
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set_xlabel("quantile level" if one else "nominal level")
    ax.set_ylabel("share of rows below" if one else "share of rows inside")
    return finish(ax, f"Calibration on {count_of(count, 'row')}")


def _reliability(model: Any, X: Any, y: Any, ax: Any) -> Any:
    """Of classifiers: rows sorted by the probability of their predicted label, in ten groups of equal size."""
    if not hasattr(model, "predict_proba"):
        raise ValueError("this classifier gives no probabilities to check; losses 'logistic' and 'multinomial' do")
    rows, _ = inputs(model, X)
    labels = np.asarray(y)
    if labels.shape != (len(rows),):
        raise ValueError(f"y must have {len(rows)} labels, got shape {labels.shape}")
    with nameless():
        probability = np.asarray(model.predict_proba(like(X, rows)))
    surest = probability.max(axis=1)
    right = model.classes_[probability.argmax(axis=1)] == labels
    groups = np.array_split(np.argsort(surest, kind="stable"), min(10, len(rows)))

    ax = canvas(ax, (4.8, 5.0))
    _ideal(ax, len(groups[0]), "chance, 95 %, of a group")
    x, shares = ([float(np.mean(values[group])) for group in groups] for values in (surest, right))
    ax.plot(x, shares, color=BLUE, linewidth=1.8, marker="o", markersize=5, label="model", zorder=4, clip_on=False)
    words = f"{percent(round(float(right.mean()), 3))} right\n{percent(round(float(surest.mean()), 3))} claimed"
    aside(ax, words, corner="lower right" if right.mean() > surest.mean() else "upper left")
    low = 1 / max(2, len(model.classes_)) if min(shares) >= 1 / max(2, len(model.classes_)) else 0.0
    ax.set(xlim=(low, 1), ylim=(low, 1), aspect="equal")
    ax.set(xlabel="probability of the predicted label", ylabel="share of rows right")
    return finish(ax, f"Calibration on {count_of(len(rows), 'row')}")


def _ideal(ax: Any, count: int, label: str = "chance, 95 %") -> None:
    """The diagonal, with what chance does to a share of ``count`` rows."""
    p = np.linspace(0, 1, 201)
    spread = 1.96 * np.sqrt(p * (1 - p) / count)
    low, high = np.clip(p - spread, 0, 1), np.clip(p + spread, 0, 1)
    ax.fill_between(p, low, high, color=LIGHT, linewidth=0, label=label, zorder=1)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, zorder=2)


def _coverage(answer: Any, seen: Floats, good: Any, output: int) -> tuple[Floats, Floats]:
    """Nominal levels, and the shares of rows."""
    y = seen[good, output]
    if answer.lower is not None:
        inside = (answer.lower[good, output] <= y) & (y <= answer.upper[good, output])
        return np.array([answer.interval_level]), np.array([inside.mean()])
    if answer.quantiles is not None:
        return np.array(answer.levels), np.mean(y[:, None] <= answer.quantiles[good], axis=0)
    z = np.abs(y - answer.mean[good, output]) / answer.deviation[good, output]
    levels = np.linspace(0.01, 0.99, 99)
    return levels, np.array([np.mean(z <= central(level)) for level in levels])
