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


def canvas(ax: Any, size: tuple[float, float] = (7.2, 4.2), *, layout: str = "constrained") -> Any:
    """``ax``, or the Axes of a new figure, in our dress."""
    if ax is None:
        _, ax = pyplot().subplots(figsize=size, layout=layout, facecolor=PAPER)
    ax.set_facecolor(PAPER)
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
        across = _across(handles, width)
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
    for axis in (ax.xaxis, ax.yaxis):
        _plain_numbers(axis)
    ax.set_title(title, loc="left", color=INK, fontsize=11, fontweight="bold", pad=7 + 13.5 * lines)
    return ax


def _across(handles: list[Any], width: float) -> int:
    """How many columns of a legend fit, by the usual width of letters."""
    lengths = [32 + 5.0 * len(str(handle.get_label())) for handle in handles]
    for across in range(len(handles), 1, -1):
        if sum(max(lengths[column::across]) for column in range(across)) <= width:
            return across
    return 1


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


def _plain_numbers(axis: Any) -> None:
    """Tick labels without an offset, 1960 and not 60 + 1.9e3; a power of ten goes to the name of the axis."""
    from matplotlib.ticker import ScalarFormatter

    formatter = axis.get_major_formatter()
    if type(formatter) is not ScalarFormatter or axis.get_scale() != "linear":
        return
    formatter.set_useOffset(False)
    formatter.set_useMathText(True)
    formatter.set_locs(axis.get_majorticklocs())
    power = formatter.get_offset()
    if power and f"({power})" not in axis.get_label_text():
        axis.set_label_text(f"{axis.get_label_text()} ({power})")
    axis.get_offset_text().set_visible(False)


def decades(axis: Any, low: float, high: float) -> None:
    """A logarithmic axis with plain numbers, for values from ``low`` to ``high``."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 300 * low else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def tick_at(axis: Any, counts: list[int]) -> None:
    """Ticks at the counts themselves, where there are few."""
    from matplotlib.ticker import NullLocator

    if len(counts) <= 9:
        axis.set_ticks(counts, [str(count) for count in counts])
        axis.set_minor_locator(NullLocator())


def calendar(axis: Any) -> None:
    """Dates in few words."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=8)
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))


def brief(value: float, digits: int = 3) -> str:
    """A number for people."""
    return f"{value:.0f}" if 10**digits <= abs(value) < 1e6 else f"{value:.{digits}g}"


def count_of(number: int, what: str) -> str:
    """1 row, 2 rows, 36 000 rows."""
    return f"{number:,} {what}{'' if number == 1 else 's'}".replace(",", "\u202f")


def percent(share: float) -> str:
    """0.9 as "90 %"."""
    return f"{100 * share:.3g} %"


def colour_map(*colours: str) -> Any:
    """A map through these colours."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("mercer", list(colours))


def heights(*values: Any) -> tuple[float, float] | None:
    """Limits that hold all finite values, with a little air; None where there are none."""
    every = _finite(*values)
    if not every.size:
        return None
    low, high = float(every.min()), float(every.max())
    air = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - air, high + air


def window(ax: Any, seen: Any, *predicted: Any) -> None:
    """Sets the height of a picture: all that was seen, and of what is predicted what lies no farther away than it is high. Far
    from the rows a function may run anywhere, and then leaves the picture."""
    rows = _finite(seen)
    every = _finite(*predicted)
    if rows.size and np.ptp(rows) > 0:
        every = np.clip(every, rows.min() - np.ptp(rows), rows.max() + np.ptp(rows))
    limits = heights(rows, every)
    if limits is not None:
        ax.set_ylim(limits)


def _finite(*values: Any) -> Any:
    arrays = [np.asarray(value, dtype=float).ravel() for value in values if value is not None]
    every = np.concatenate(arrays) if arrays else np.empty(0)
    return every[np.isfinite(every)]
