"""A picture that only a report draws: the penalties that were tried."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..plot._style import BLUE, ORANGE, canvas, finish
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
