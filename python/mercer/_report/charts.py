"""Two pictures that only a report draws: the penalties that were tried, and the reliability of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..plot._style import BLUE, GREY, INK, LIGHT, ORANGE, canvas, finish
from .data import Data
from .subject import Subject


def penalty_path(subject: Subject, *, ax: Any) -> Any:
    """The error of each penalty, and the one that was kept."""
    path = np.asarray(subject.summary["penalty_path"], dtype=float)
    kept = subject.summary["penalty"]
    ax = canvas(ax)
    ax.plot(path[:, 0], path[:, 1], color=BLUE, linewidth=1.8, marker="o", markersize=3, zorder=3)
    ax.axvline(kept, color=ORANGE, linewidth=1.3, linestyle=(0, (4, 2)), label=f"kept: {kept:.3g}", zorder=2)
    ax.set(xscale="log", yscale="log" if (path[:, 1] > 0).all() else "linear", xlabel="penalty λ", ylabel="error (scaled units)")
    return finish(ax, "Penalties")


def reliability(subject: Subject, data: Data, *, ax: Any, bins: int = 10) -> Any:
    """How often the class thought likeliest is the right one, against how likely it was thought to be."""
    shares = subject.predict(data.X)
    sure = shares.max(axis=1)
    right = shares.argmax(axis=1) == data.y[:, 0].astype(int)
    weights = np.ones(len(sure)) if data.weights is None else data.weights
    edges = np.linspace(1 / shares.shape[1], 1, bins + 1)
    bin_of = np.clip(np.searchsorted(edges, sure, side="right") - 1, 0, bins - 1)
    total = np.bincount(bin_of, weights, bins)
    full = total > 0
    thought = np.bincount(bin_of, weights * sure, bins)[full] / total[full]
    seen = np.bincount(bin_of, weights * right, bins)[full] / total[full]
    ax = canvas(ax)
    ax.plot([edges[0], 1], [edges[0], 1], color=GREY, linewidth=0.9, zorder=2)
    ax.vlines(thought, thought, seen, color=LIGHT, linewidth=3, zorder=2)
    size = 18 + 220 * total[full] / total.max()
    ax.scatter(thought, seen, s=size, color=BLUE, edgecolor=INK, linewidth=0.5, alpha=0.85, zorder=4, clip_on=False)
    ax.set(xlim=(edges[0], 1), ylim=(0, 1.02), xlabel="probability given to the likeliest class", ylabel="share that was right")
    return finish(ax, "Reliability")
