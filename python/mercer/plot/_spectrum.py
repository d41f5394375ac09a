"""The learned spectrum of a series beside that of its rows."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from .._base import Floats
from ._model import inner, series_of, target_names, which
from ._style import BLUE, GREEN, GREY, INK, PAPER, brief, canvas, finish

YEAR = 365.2425  # days
HANN_WIDTH = 0.61  # deviation of the Gaussian nearest to a peak under Hann's taper, in units of 1 / length of the series
HANN_BANDWIDTH = 1.5  # of white noise, in the same units
MOST_UNEVEN = 5000  # rows


def spectrum(model: Any, *, output: int | str = 0, series: Any = None, ax: Any = None) -> Any:
    """The spectral density that a process has learned, its components and noise, against the empirical density of a series.

    Parameters
    ----------
    model : fitted SpectralMixtureGP, or ExactGP("spectral_mixture:Q"), of one input
    output : int or str
        Which target, of several.
    series : pair (t, y), optional
        Rows for the empirical density, even or not; those of the fit, where the model remembers them.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SpectralMixtureGP, plot
    >>> t = np.arange(120.0)
    >>> y = np.sin(2 * np.pi * t / 12) + 0.1 * np.random.default_rng(0).normal(size=120)
    >>> ax = plot.spectrum(SpectralMixtureGP(components=2, steps=20).fit(t, y))
    >>> ax.get_xscale(), ax.get_yscale()
    ('log', 'log')
    """
    found = inner(model)
    names = target_names(model)
    output = which(output, names, "output")
    components = _components(found, output)
    if not components:
        raise ValueError(f"{type(found).__name__} has no learned spectrum; SpectralMixtureGP learns one")
    if found.model_.inputs != 1:
        raise ValueError(f"spectra are drawn over one input; this model has {found.model_.inputs}")
    times, values = series_of(model, series, len(names), "series")
    good = np.isfinite(times) & np.isfinite(values[:, output])
    times, y = times[good], values[good, output]
    first, last, step = _span(found, times)
    resolution = 1 / (last - first)
    highest = max(0.5 / step, 4 * resolution)
    unit, per = _unit(found, last - first)

    grid = _frequencies(components, resolution, highest)
    noise = found.model_.noise[output] * found.model_.scaling()["target_scale"][output] ** 2 / highest
    shapes = [_density(found, component, resolution, grid) for component in components]
    learned = noise + np.sum(shapes, axis=0)

    ax = canvas(ax)
    low = learned.min()
    if len(y) > 3:
        s, density = empirical_density(times, y, highest)
        s, density = _smooth(s, density, resolution / 2, highest)
        ax.plot(s * unit, density / unit, color=GREY, linewidth=0.9, label="empirical", zorder=2)
        low = min(low, float(np.percentile(density, 2)))
    floor = max(low / 3, 1e-12 * learned.max())
    for number, shape in enumerate(shapes):
        label = "components" if number == 0 else None
        height = np.maximum(shape, floor) / unit
        ax.fill_between(grid * unit, floor / unit, height, color=BLUE, alpha=0.15, linewidth=0, label=label)
    ax.plot(grid * unit, learned / unit, color=BLUE, linewidth=1.8, label="learned, with noise", zorder=4)
    ax.axhline(noise / unit, color=GREEN, linewidth=1.1, linestyle=(0, (4, 2)), label="noise", zorder=3)
    ax.set(xscale="log", yscale="log", xlim=(grid[0] * unit, grid[-1] * unit))
    top = max(learned.max(), density.max() if len(y) > 3 else 0)
    ax.set_ylim(floor / unit, top / unit * (top / floor) ** 0.12)
    _label_peaks(ax, components, grid, learned, shapes, unit, per, resolution)
    ax.set(xlabel=f"frequency (cycles per {per})", ylabel="power per frequency")
    return finish(ax, f"Spectrum of {names[output]}")


def _components(found: Any, output: int) -> list[dict[str, Any]]:
    """Weights, frequencies and spreads in the user's units; of exact processes from the kernel as learned, in scaled units."""
    kernel = re.fullmatch(r"spectral_mixture\(weights=(.*), means=(.*), scales=(.*)\)", found.summary_["kernel"])
    if found.summary_["process"] == "spectral_mixture" or kernel is None or found.model_.inputs != 1:
        return found.model_.spectrum(output)
    scaling = found.model_.scaling()
    length, size = scaling["input_scale"][0], scaling["target_scale"][output]
    weights, means, scales = (np.atleast_1d(json.loads(part)) for part in kernel.groups())
    return [
        {"weight": w * size**2, "frequency": [m / length], "spread": [s / length]}
        for w, m, s in sorted(zip(weights, means, scales, strict=True), reverse=True)
    ]


def _span(found: Any, times: Floats) -> tuple[float, float, float]:
    """First and last time, and the usual step."""
    distinct = np.unique(times)
    if len(distinct) > 1:
        return float(distinct[0]), float(distinct[-1]), float(np.median(np.diff(distinct)))
    following = found.model_.future(2)
    step = float(following[1] - following[0])
    length = 4 * float(found.model_.scaling()["input_scale"][0])  # two deviations to either side
    return float(following[0]) - step - length, float(following[0]) - step, step


def _unit(found: Any, length: float) -> tuple[float, str]:
    """In what people count frequencies over such a length, and its name."""
    columns = found.model_.columns()
    if columns["dates"]:
        return (YEAR, "year") if length >= 2 * YEAR else (1.0, "day") if length >= 2 else (1 / 24, "hour")
    name = columns["inputs"][0]
    return 1.0, "year" if name == "year" else "unit of time" if name == "x0" else f"unit of {name}"


def _frequencies(components: list[dict[str, Any]], resolution: float, highest: float) -> Floats:
    """Even in the logarithm, and close enough at every peak."""
    grid = [np.geomspace(resolution / 2, highest, 500)]
    for component in components:
        width = np.hypot(component["spread"][0], HANN_WIDTH * resolution)
        grid.append(abs(component["frequency"][0]) + width * np.linspace(-4, 4, 33))
    every = np.unique(np.concatenate(grid))
    return every[(every >= resolution / 2) & (every <= highest)]


def _density(found: Any, component: dict[str, Any], resolution: float, grid: Floats) -> Floats:
    """w (p((s - μ)/σ) + p((s + μ)/σ))/σ, p the component's law, and no peak narrower than rows of finite length show it."""
    text = found.summary_["kernel"]
    mean = abs(component["frequency"][0])
    scale = np.hypot(component["spread"][0], HANN_WIDTH * resolution)

    def law(u: Floats) -> Floats:
        if "matern" in text:  # Student, 3 degrees of freedom
            return 6 * np.sqrt(3) / (np.pi * (3 + u**2) ** 2)
        if "cauchy" in text:  # Laplace
            return 0.5 * np.exp(-np.abs(u))
        return np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)

    return component["weight"] * (law((grid - mean) / scale) + law((grid + mean) / scale)) / scale


def empirical_density(t: Floats, y: Floats, highest: float) -> tuple[Floats, Floats]:
    """Power per unit of frequency of y over t, even or not, under Hann's taper. With A the amplitude of the cycle at a frequency
    it is A²/2 · length / 1.5; white noise of variance v has v / highest."""
    t, y, even = _even(t, y)
    length = float(t[-1] - t[0])
    w = np.sin(np.pi * ((t - t[0]) / length * (len(t) - 1) + 0.5) / len(t)) ** 2
    w = w / w.sum()
    y = y - w @ y
    s, squared = _even_amplitudes(t, w * y) if even else _uneven_amplitudes(t, y, w, highest)
    inside = (s >= 0.49 / length) & (s <= highest * (1 + 1e-9))
    return s[inside], squared[inside] / 2 * length / HANN_BANDWIDTH


def _even(t: Floats, y: Floats) -> tuple[Floats, Floats, bool]:
    """In order, and whether steps are equal. Of an even series from which at most a fifth is missing, the gaps are bridged by
    lines: left open they scatter the power of a trend over all frequencies. So are very many uneven rows, for the sake of time."""
    t, place = np.unique(t, return_inverse=True)
    y = np.bincount(place, y) / np.bincount(place)
    step = np.median(np.diff(t))
    number = np.round((t - t[0]) / step)
    lattice = np.abs(t - t[0] - number * step).max() < 0.1 * step and len(t) >= 0.8 * (number[-1] + 1)
    if not lattice and len(t) <= MOST_UNEVEN:
        return t, y, False
    every = np.linspace(t[0], t[-1], int(number[-1]) + 1 if lattice else len(t))
    return every, np.interp(every, t, y), True


def _even_amplitudes(t: Floats, weighted: Floats) -> tuple[Floats, Floats]:
    """Frequencies, two for each that can be told apart, and squared amplitudes. O(n log n)."""
    n = len(t)
    return np.fft.rfftfreq(2 * n, (t[-1] - t[0]) / (n - 1)), np.abs(2 * np.fft.rfft(weighted, 2 * n)) ** 2


def _uneven_amplitudes(t: Floats, y: Floats, w: Floats, highest: float) -> tuple[Floats, Floats]:
    """The same by least squares at each frequency, a cycle with a mean of its own (generalised Lomb-Scargle, Zechmeister and
    Kürster 2009). O(rows · frequencies)."""
    lowest = 0.5 / (t[-1] - t[0])
    count = int(min(highest / lowest, 8000))
    s = np.linspace(lowest, highest, count) if count < 8000 else np.geomspace(lowest, highest, count)
    squared = np.empty(count)
    for block in np.array_split(np.arange(count), -(-count * len(t) // 2_000_000)):
        angle = 2 * np.pi * np.outer(s[block], t - t[0])
        c, d = np.cos(angle), np.sin(angle)
        mean_c, mean_d = c @ w, d @ w
        yc, yd = c @ (w * y), d @ (w * y)
        cc, dd, cd = (c**2) @ w - mean_c**2, (d**2) @ w - mean_d**2, (c * d) @ w - mean_c * mean_d
        determinant = np.maximum(cc * dd - cd**2, 1e-12)
        a, b = (yc * dd - yd * cd) / determinant, (yd * cc - yc * cd) / determinant
        squared[block] = np.minimum(a**2 + b**2, 2 * np.maximum(a * yc + b * yd, 0))  # no more than the cycle explains
    return s, squared


def _smooth(s: Floats, density: Floats, lowest: float, highest: float) -> tuple[Floats, Floats]:
    """Means over stretches that are even in the logarithm."""
    place = np.floor(400 * np.log(s / lowest) / np.log(highest / lowest))
    _, first, count = np.unique(place, return_index=True, return_counts=True)
    return np.add.reduceat(s, first) / count, np.add.reduceat(density, first) / count


def _label_peaks(
    ax: Any, components: Any, grid: Floats, learned: Floats, shapes: Any, unit: float, per: str, resolution: float
) -> None:
    """The periods of the peaks that stand out, where there is room for the words."""
    from matplotlib.patheffects import withStroke

    inside = np.flatnonzero((learned[1:-1] > learned[:-2]) & (learned[1:-1] >= learned[2:])) + 1
    drawn: list[tuple[float, float, float]] = []  # where, in points, and how long
    for at in sorted(inside, key=lambda i: -learned[i]):
        near = (grid > grid[at] / 1.5) & (grid < grid[at] * 1.5)
        owner = max(range(len(shapes)), key=lambda q: shapes[q][at])
        frequency = abs(components[owner]["frequency"][0])
        if learned[at] < 2 * learned[near].min() or frequency < resolution:
            continue
        words = span(1 / frequency, unit, per)
        x, y = ax.transData.transform((grid[at] * unit, learned[at] / unit)) * 72 / ax.figure.dpi
        if any(abs(x - x0) < 2.6 * (len(words) + length) and abs(y - y0) < 12 or abs(x - x0) < 16 for x0, y0, length in drawn):
            continue
        drawn.append((x, y, len(words)))
        ax.annotate(
            words,
            (grid[at] * unit, learned[at] / unit),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=8.5,
            color=INK,
            path_effects=[withStroke(linewidth=2.5, foreground=PAPER)],
            zorder=6,
        )


def span(period: float, unit: float, per: str) -> str:
    """A length of time in words, where its unit is known."""
    if per not in ("year", "day", "hour"):
        return f"period {brief(period)}"
    if per == "year" and period / unit < 0.95:
        months = 12 * period / unit
        return _words(months, "month") if months > 1.4 else _words(months / 12 * YEAR, "day")
    if per == "day" and period < 0.95:
        return _words(24 * period, "hour")
    if per == "hour" and period / unit < 0.95:
        return _words(60 * period / unit, "minute")
    return _words(period / unit, per)


def _words(number: float, unit: str) -> str:
    return f"{brief(number, 2)} {unit}{'' if brief(number, 2) == '1' else 's'}"
