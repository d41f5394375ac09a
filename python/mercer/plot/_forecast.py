"""The future of a series, with its bands."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base import whole
from ._fan import draw_bands
from ._model import ask, input_names, place, regressor, series_of, target_names, which
from ._style import BLUE, GREY, INK, ORANGE, calendar, canvas, count_of, finish, window

LEAST_ROWS = 120  # of history, and eight horizons: longer pasts would hide the future


def forecast(
    model: Any, horizon: int, *, history: Any = None, level: float = 0.9, output: int | str = 0, ax: Any = None
) -> Any:
    """The next steps of a series after the rows that led there.

    Parameters
    ----------
    model : fitted regressor of one input
        Its bands are those it has: standard deviations, conformal intervals (at their own level) or quantiles.
    horizon : int
        Steps, each as long as those of the training rows.
    history : pair (t, y), optional
        Rows to draw. Gaussian processes remember theirs; models from files do not. Later rows are drawn as what came true.
    level : float
        Of the wider band; the narrower holds half of all observations.
    output : int or str
        Which target, of several.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ExactGP, plot
    >>> t = np.arange(60.0)
    >>> ax = plot.forecast(ExactGP("gaussian(1) + linear()").fit(t, t + np.sin(t)), 12)
    >>> ax.get_title(loc="left")
    'Forecast of y, 12 steps'
    """
    found = regressor(model)
    if int(getattr(model, "n_features_in_", 1)) != 1:
        raise ValueError(f"a forecast is of one input, time; this model has {model.n_features_in_}")
    whole("horizon", horizon)
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}")
    dates = found.model_.columns()["dates"]
    names = target_names(model)
    output = which(output, names, "output")
    times = found.model_.future(int(horizon))
    answer = ask(model, times[:, None])
    past, seen = series_of(model, history, len(names), "history")

    ax = canvas(ax, (8, 4.2))
    before = past < times[0]
    shown = before & (past >= _from(past[before], len(times)))
    after = (past >= times[0]) & (past <= times[-1])
    if shown.any():
        order = np.argsort(past[shown], kind="stable")
        few = shown.sum() <= 150
        ax.plot(
            place(past[shown][order], dates),
            seen[shown, output][order],
            color=INK,
            linewidth=1.1,
            marker="o" if few else None,
            markersize=2.6,
            label="observed",
            zorder=3,
        )
        ax.axvline(place(past[shown].max(), dates), color=GREY, linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
    draw_bands(ax, place(times, dates), answer, output, level)
    if len(times) == 1:  # a band of one step has no width
        for number, (_, low, high) in enumerate(answer.bands(output, level)):
            ax.vlines(place(times, dates), low, high, color=BLUE, linewidth=6, alpha=0.25 + 0.2 * number, zorder=2)
        ax.plot(place(times, dates), answer.mean[:, output], "o", color=BLUE, markersize=5, zorder=5)
    if after.any():
        ax.plot(place(past[after], dates), seen[after, output], "o", markersize=4, markerfacecolor="white",
                markeredgecolor=ORANGE, markeredgewidth=1.2, label="came true", zorder=6)  # fmt: skip
    window(ax, seen[shown | after, output], answer.mean[:, output], *answer.edges(output, level))
    ax.margins(x=0.02)
    if dates:
        calendar(ax.xaxis)
    else:
        name = input_names(model)[0]
        ax.set_xlabel("time" if name == "x" else name)
    ax.set_ylabel(names[output])
    return finish(ax, f"Forecast of {names[output]}, {count_of(horizon, 'step')}")


def _from(past: Any, horizon: int) -> float:
    """Where the picture begins."""
    finite = np.sort(past[np.isfinite(past)])
    return float(finite[-min(len(finite), max(LEAST_ROWS, 8 * horizon))]) if finite.size else np.inf
