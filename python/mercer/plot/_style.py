"""One look for all pictures: colours, axes, legends above the plot where they cannot cover it."""

from __future__ import annotations

from typing import Any

import numpy as np

INK = "#1b1f24"
BLUE = "#2f6db3"
ORANGE = "#d9822b"
GREEN = "#3a8f5c"
PURPLE = "#8d5fa8"
GREY = "#7d8790"
LIGHT = "#dfe4e9"
PAPER = "#ffffff"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, INK, GREY)  # apart in hue and in brightness
STROKES = ("-", "--", "-.", ":", "-", "--")


def pyplot() -> Any:
    """matplotlib.pyplot, or how to get it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'mercer[plot]'") from error
    return pyplot


def canvas(ax: Any, size: tuple[float, float] = (7.2, 4.2)) -> Any:
    """``ax``, or the Axes of a new figure, in our dress."""
    if ax is None:
        _, ax = pyplot().subplots(figsize=size, layout="constrained")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set(color=GREY, linewidth=0.8)
    ax.tick_params(which="both", color=GREY, labelcolor=INK, labelsize=9, width=0.8)
    ax.tick_params(which="major", length=3.5)
    ax.tick_params(which="minor", length=2)
    ax.grid(True, which="major", color=LIGHT, linewidth=0.6)
    ax.set_axisbelow(True)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(color=INK, fontsize=10)
    return ax


def finish(ax: Any, title: str, legend: list[Any] | None = None) -> Any:
    """The title on the left, and under it a legend in rows: ``legend``, or what has labels."""
    handles = ax.get_legend_handles_labels()[0] if legend is None else legend
    width = ax.get_window_extent().width * 72 / ax.figure.dpi  # points
    lines = 0
    if handles:
        widest = max(len(str(handle.get_label())) for handle in handles)
        across = int(np.clip(width // (38 + 5.0 * widest), 1, len(handles)))
        lines = -(-len(handles) // across)
        shown = ax.legend(
            handles=_by_rows(handles, across),
            loc="lower left",
            bbox_to_anchor=(0, 1.005),
            ncols=across,
            frameon=False,
            fontsize=9,
            labelcolor=INK,
            borderaxespad=0,
            borderpad=0.3,
            handlelength=1.6,
            handletextpad=0.5,
            columnspacing=1.4,
            labelspacing=0.35,
        )
        shown.set_zorder(10)
    ax.set_title(title, loc="left", color=INK, fontsize=11, fontweight="semibold", pad=7 + 13.5 * lines)
    return ax


def _by_rows(handles: list[Any], across: int) -> list[Any]:
    """matplotlib fills legends column by column; this order reads row by row."""
    return [handle for column in range(across) for handle in handles[column::across]]


def aside(ax: Any, text: str, *, corner: str = "upper left") -> Any:
    """A few words in a corner, on paper that lets nothing through."""
    vertical, horizontal = corner.split()
    return ax.text(
        0.02 if horizontal == "left" else 0.98,
        0.97 if vertical == "upper" else 0.03,
        text,
        transform=ax.transAxes,
        ha=horizontal,
        va="top" if vertical == "upper" else "bottom",
        fontsize=9,
        color=INK,
        linespacing=1.4,
        zorder=9,
        bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.85, "pad": 2.5},
    )


def plain_numbers(axis: Any) -> None:
    """Whole tick labels, 1960 and not 0 + 1.96e3."""
    from matplotlib.ticker import ScalarFormatter

    if isinstance(axis.get_major_formatter(), ScalarFormatter):
        axis.get_major_formatter().set_useOffset(False)


def calendar(axis: Any) -> None:
    """Dates in few words."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=8)
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))


def brief(value: float, digits: int = 3) -> str:
    """A number for people."""
    return f"{value:.{digits}g}"


def percent(share: float) -> str:
    """0.9 as "90 %"."""
    return f"{100 * share:.3g} %"


def colour_map(*colours: str) -> Any:
    """A map through these colours."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("mercer", list(colours))


def heights(*values: Any) -> tuple[float, float] | None:
    """Limits that hold all finite values, with a little air; None where there are none."""
    finite = [np.asarray(v, dtype=float)[np.isfinite(np.asarray(v, dtype=float))] for v in values if v is not None]
    every = np.concatenate([v.ravel() for v in finite]) if finite else np.empty(0)
    if not every.size:
        return None
    low, high = float(every.min()), float(every.max())
    air = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - air, high + air
