"""The regions of a classifier in the plane of two inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._model import inner, input_names, inputs, like, nameless, which
from ._style import COLOURS, INK, PAPER, canvas, finish

MARKS = ("o", "s", "^", "D", "v", "P")


def decision(
    model: Any, X: ArrayLike, y: ArrayLike | None = None, *, features: tuple[int | str, int | str] = (0, 1), ax: Any = None
) -> Any:
    """What a classifier says over two inputs, the stronger the colour the surer; other inputs stay at their medians.

    Parameters
    ----------
    model : fitted classifier of two inputs or more
    X : array of shape (n, d)
        Rows, which say how far the picture reaches.
    y : array of n labels, optional
        Drawn as points.
    features : pair of int or str
        Which inputs.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelClassifier, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot.decision(KernelClassifier(features=50).fit(X[:, 2:], y), X[:, 2:], y)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0', '1', '2']
    """
    found = inner(model)
    if not found.model_.classes:
        raise ValueError("this picture is of classifiers; mercer.plot.fan draws regressors")
    rows, _ = inputs(model, X)
    names = input_names(model, X)
    if len(features) != 2 or rows.shape[1] < 2:
        raise ValueError("decision regions are drawn over two inputs")
    first, second = (which(feature, names, "input") for feature in features)
    classes = model.classes_
    if len(classes) > len(MARKS):
        raise ValueError(f"{len(classes)} classes cannot be told apart in one picture; {len(MARKS)} can")
    side = 160
    low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
    air = np.where(high > low, 0.06 * (high - low), 1.0)
    low, high = low - air, high + air
    grid = np.tile(np.nanmedian(rows, axis=0), (side * side, 1))
    x, y_ = (np.linspace(low[k], high[k], side) for k in (first, second))
    grid[:, first], grid[:, second] = np.tile(x, side), np.repeat(y_, side)
    shares = _shares(model, like(X, grid), len(classes))

    ax = canvas(ax, (5.8, 5.0))
    ax.grid(False)
    from matplotlib.colors import to_rgb

    best = shares.argmax(axis=1)
    sure = (shares.max(axis=1) * len(classes) - 1) / (len(classes) - 1)  # 0 where all classes are alike
    colours = np.array([to_rgb(COLOURS[k]) for k in range(len(classes))])[best]
    strength = (0.08 + 0.42 * sure)[:, None]
    picture = (1 - strength) * np.array(to_rgb(PAPER)) + strength * colours
    extent = (low[first], high[first], low[second], high[second])
    ax.imshow(picture.reshape(side, side, 3), extent=extent, origin="lower", aspect="auto", interpolation="bilinear", zorder=1)
    for k in range(len(classes) - (len(classes) == 2)):  # where a class becomes the likeliest
        margin = (shares[:, k] - np.delete(shares, k, axis=1).max(axis=1)).reshape(side, side)
        if margin.min() < 0 < margin.max():
            ax.contour(margin, levels=[0], colors=[PAPER], linewidths=1.6, extent=extent, zorder=2)
    if y is not None:
        labels = np.asarray(y)
        if labels.shape != (len(rows),):
            raise ValueError(f"y must have {len(rows)} labels, got shape {labels.shape}")
        for k, label in enumerate(classes):
            at = rows[labels == label]
            style = {"s": 20, "marker": MARKS[k], "color": COLOURS[k], "edgecolor": PAPER, "linewidth": 0.5}
            ax.scatter(at[:, first], at[:, second], zorder=4, **style)
    from matplotlib.lines import Line2D

    legend = [Line2D([], [], linestyle="none", marker=MARKS[k], color=COLOURS[k], markersize=5.5, label=str(label))
              for k, label in enumerate(classes)]  # fmt: skip
    ax.set(xlim=extent[:2], ylim=extent[2:], xlabel=names[first], ylabel=names[second])
    ax.spines[["left", "bottom"]].set_color(INK)
    others = "" if rows.shape[1] == 2 else ", other inputs at their medians"
    return finish(ax, f"Decisions{others}", legend)


def _shares(model: Any, X: Any, classes: int) -> Any:
    """Probabilities, or scores turned into shares where the loss gives none."""
    with nameless():
        if hasattr(model, "predict_proba"):
            return np.asarray(model.predict_proba(X))
        scores = np.asarray(model.decision_function(X), dtype=float)
    if classes == 2:
        scores = np.column_stack([-scores, scores])
    weights = np.exp(2 * (scores - scores.max(axis=1, keepdims=True)))
    return weights / weights.sum(axis=1, keepdims=True)
