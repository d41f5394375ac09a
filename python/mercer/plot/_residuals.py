"""Predicted against observed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._model import ask, inputs, like, regressor, target_names, targets, which
from ._style import BLUE, GREY, aside, brief, canvas, colour_map, count_of, finish, heights

MOST_POINTS = 4000  # beyond, hexagons count rows
MOST_BARS = 150


def residuals(model: Any, X: ArrayLike, y: ArrayLike, *, output: int | str = 0, ax: Any = None) -> Any:
    """Predictions against what was observed; on the diagonal they agree.

    Parameters
    ----------
    model : fitted regressor
    X : array of shape (n, d)
    y : array of shape (n,) or (n, targets)
    output : int or str
        Which target, of several.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor, plot
    >>> x = np.linspace(0, 6, 100)[:, None]
    >>> ax = plot.residuals(KernelRegressor(features=50).fit(x, np.sin(x[:, 0])), x, np.sin(x[:, 0]))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('observed y', 'predicted y')
    """
    regressor(model)
    rows, _ = inputs(model, X)
    names = target_names(model)
    output = which(output, names, "output")
    seen = targets(y, len(rows), len(names))[:, output]
    answer = ask(model, like(X, rows))
    mean = answer.mean[:, output]
    good = np.isfinite(mean) & np.isfinite(seen)
    if not good.any():
        raise ValueError("no row has finite inputs and targets")

    ax = canvas(ax, (4.8, 5.0))
    a, b = seen[good], mean[good]
    low, high = heights(a, b) or (0.0, 1.0)
    ax.plot([low, high], [low, high], color=GREY, linewidth=0.9, zorder=2)
    if len(a) > MOST_POINTS:
        ax.hexbin(a, b, gridsize=55, extent=(low, high, low, high), bins="log", mincnt=1, linewidth=0.1,
                  cmap=colour_map("#d5e4f3", "#7fb0de", "#2f6db3", "#163a63"), zorder=3)  # fmt: skip
    else:
        bands = answer.bands(output)
        if bands and len(a) <= MOST_BARS:
            ax.vlines(a, bands[0][1][good], bands[0][2][good], color=BLUE, alpha=0.3, linewidth=1.2, label=bands[0][0], zorder=3)
        alpha = 0.75 if len(a) < 300 else 0.4 if len(a) < 1500 else 0.25
        ax.scatter(a, b, s=14 if len(a) < 1500 else 9, color=BLUE, alpha=alpha, linewidth=0, zorder=4)
    error = float(np.sqrt(np.mean((a - b) ** 2)))
    spread = float(np.var(a))
    words = [count_of(len(a), "row"), f"RMSE {brief(error)}"]
    if spread > 0 and len(a) > 1:
        words.append(f"R² {1 - error**2 / spread:.3f}")
    aside(ax, "\n".join(words))
    ax.set(xlim=(low, high), ylim=(low, high), aspect="equal")
    ax.set_xlabel(f"observed {names[output]}")
    ax.set_ylabel(f"predicted {names[output]}")
    return finish(ax, f"{'Predicted' if answer.quantiles is None else answer.middle.capitalize()} against observed")
