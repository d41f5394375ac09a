"""Vector fields in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._base import whole
from ._model import Answer, ask, input_names, inputs, like, regressor, target_names, targets
from ._style import GREY, INK, ORANGE, brief, canvas, colour_map, finish

FINE = 3  # cells of colour for each arrow, in both directions
MOST_RESIDUALS = 300
UNKNOWN = "#eceff2"  # paper where the model knows nothing


def field(model: Any, X: ArrayLike | None = None, Y: ArrayLike | None = None, *, grid: int = 21, ax: Any = None) -> Any:
    """Arrows of a field over its magnitude, fading where the model does not know; residuals of the rows where they are given.

    Parameters
    ----------
    model : fitted regressor of two inputs
        Two outputs are the arrows, over their length. Of three the third is the colour.
    X : array of shape (n, 2), optional
        Rows, which say how far the picture reaches; without them it covers two deviations around the mean of the training rows.
    Y : array of shape (n, outputs), optional
        What was observed there: what the model leaves unexplained is drawn at (some of) the rows, in the scale of the arrows.
    grid : int
        Arrows along the longer side.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor, plot
    >>> from mercer.kernels import CurlFree, Gaussian
    >>> X = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    >>> model = KernelRegressor(CurlFree(Gaussian(1.0)), features=50).fit(X, -X)
    >>> ax = plot.field(model, X, -X, grid=11)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x0', 'x1')
    """
    found = regressor(model)
    outputs = target_names(model)
    if int(getattr(model, "n_features_in_", 0)) != 2 or len(outputs) not in (2, 3) or found.model_.levels:
        raise ValueError(
            f"a field has two inputs and two or three outputs; this model has {model.n_features_in_} and {len(outputs)}"
        )
    whole("grid", grid)
    if Y is not None and X is None:
        raise ValueError("Y needs the X where it was observed")
    rows = None if X is None else inputs(model, X)[0]
    seen = None if Y is None or rows is None else targets(Y, len(rows), len(outputs), "Y")
    low, high = _extent(found, rows)
    spacing = float(max(high - low)) / grid
    counts = np.maximum(np.round((high - low) / spacing).astype(int), 1)
    cells = np.maximum(FINE * counts, 12)

    ax = canvas(ax, _size(high - low), layout="compressed")
    ax.grid(False)
    ax.set_facecolor(UNKNOWN)
    colour = ask(model, like(X, _centres(low, high, cells)), latent=True)
    arrows = ask(model, like(X, _centres(low, high, counts)), latent=True)
    known = _best_known(colour) if rows is None else ask(model, like(X, _some(rows))).mean
    typical = float(np.sqrt(np.nanmean(np.sum(known**2, axis=1))))
    _background(ax, colour, known, cells, low, high, typical, outputs)
    legend = [_contour(ax, colour, cells, low, high, typical)]
    scale = _long(np.linalg.norm(known[:, :2], axis=1)) / (1.1 * spacing) or 1.0
    at = _centres(low, high, counts)
    length = np.linalg.norm(arrows.mean[:, :2], axis=1)
    shown = arrows.mean[:, :2] * np.minimum(1, 1.5 * spacing * scale / np.maximum(length, 1e-300))[:, None]
    heads = {"width": 0.0026, "headwidth": 4, "headlength": 4.5, "headaxislength": 4}
    in_units_of_x = {"angles": "xy", "scale_units": "xy", "scale": scale, "pivot": "mid"}
    sure = _certainty(arrows, typical)
    ax.quiver(at[:, 0], at[:, 1], shown[:, 0], shown[:, 1], color=INK, alpha=sure, zorder=4, **in_units_of_x, **heads)
    if rows is not None:
        legend += _rows(ax, model, X, rows, seen, scale)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    if max(high - low) < 6 * min(high - low):
        ax.set_aspect("equal")
    names = input_names(model, X)
    ax.set(xlabel=names[0], ylabel=names[1])
    return finish(ax, f"Field ({', '.join(outputs)})", [handle for handle in legend if handle is not None])


def _extent(found: Any, rows: Any) -> tuple[Any, Any]:
    """Corners of the picture."""
    if rows is None:
        scaling = found.model_.scaling()
        low = scaling["input_shift"] - 2 * scaling["input_scale"]
        high = scaling["input_shift"] + 2 * scaling["input_scale"]
    else:
        good = rows[np.isfinite(rows).all(axis=1)]
        if not len(good):
            raise ValueError("no row of X has finite inputs")
        low, high = good.min(axis=0), good.max(axis=0)
    width = np.where(high > low, high - low, np.max(high - low))
    width = np.where(width > 0, width, found.model_.scaling()["input_scale"])
    middle = (low + high) / 2
    return middle - 0.53 * width, middle + 0.53 * width


def _size(width: Any) -> tuple[float, float]:
    """Of a figure that leaves little white around a picture of these proportions."""
    ratio = float(np.clip(width[1] / width[0], 0.35, 1.6))
    return (7.2, 5.6 * ratio + 1.0) if ratio < 1 else (5.2 / ratio + 1.8, 6.2)


def _centres(low: Any, high: Any, counts: Any) -> Any:
    """The middles of counts[0] × counts[1] cells, row by row from below."""
    x, y = (low[k] + (high[k] - low[k]) * (np.arange(counts[k]) + 0.5) / counts[k] for k in (0, 1))
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def _certainty(answer: Answer, typical: float) -> Any:
    """(m²/(m² + s²))², of the typical length m of the field and the deviation s at a place: 1 where it is known, ¼ where the
    deviation is as large as the field, 0 far away."""
    if answer.deviation is None or not typical > 0:
        return np.ones(len(answer.mean))
    return np.nan_to_num((1 + np.sum(answer.deviation**2, axis=1) / typical**2) ** -2)


def _some(rows: Any) -> Any:
    """At most 2000 of the rows with finite inputs."""
    good = rows[np.isfinite(rows).all(axis=1)]
    return good[:: -(-len(good) // 2000)]


def _best_known(answer: Answer) -> Any:
    """The field at the quarter of the places where it deviates least."""
    if answer.deviation is None:
        return answer.mean
    spread = np.sum(answer.deviation**2, axis=1)
    return answer.mean[spread <= np.nanquantile(spread, 0.25)]


def _long(length: Any) -> float:
    """A length that few exceed."""
    return float(np.nanpercentile(length, 98))


def _background(ax: Any, answer: Answer, known: Any, cells: Any, low: Any, high: Any, typical: float, outputs: list[str]) -> None:
    values, label = (answer.mean[:, 2], outputs[2]) if len(outputs) == 3 else (np.linalg.norm(answer.mean, axis=1), "magnitude")
    reference = known[:, 2] if len(outputs) == 3 else np.linalg.norm(known, axis=1)
    signed = bool(np.nanmin(reference) < 0 < np.nanmax(reference))
    most = _long(np.abs(reference)) or 1.0  # beyond, the colour stays: far from the rows a field may run anywhere
    signs = ("#7b5aa0", "#c3aed6", "#ffffff", "#a9d3b2", "#3f8f5c")
    colours = signs if signed else ("#ffffff", "#cfe1f2", "#94bfe4", "#4e90cd")
    bottom = -most if signed else 0.0 if len(outputs) == 2 else float(np.nanpercentile(reference, 2))
    picture = ax.imshow(
        values.reshape(cells[1], cells[0]),
        extent=(low[0], high[0], low[1], high[1]),
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
        cmap=colour_map(*colours),
        vmin=bottom,
        vmax=most if signed or len(outputs) == 2 else float(np.nanpercentile(reference, 98)),
        alpha=_certainty(answer, typical).reshape(cells[1], cells[0]),
        zorder=1,
    )
    from matplotlib.cm import ScalarMappable

    ends = "max" if len(outputs) == 2 else "both"
    bar = ax.figure.colorbar(ScalarMappable(picture.norm, picture.cmap), ax=ax, shrink=0.8, aspect=26, pad=0.02, extend=ends)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=9, labelcolor=INK, color=GREY, length=3)
    bar.set_label(label, color=INK, fontsize=10)


def _contour(ax: Any, answer: Answer, cells: Any, low: Any, high: Any, typical: float) -> Any:
    """Where the deviation is as large as the field usually is: beyond, an arrow is a guess."""
    if answer.deviation is None:
        return None
    from matplotlib.lines import Line2D

    spread = np.sqrt(np.sum(answer.deviation**2, axis=1)).reshape(cells[1], cells[0])
    if not np.nanmin(spread) < typical < np.nanmax(spread):
        return None
    x, y = (low[k] + (high[k] - low[k]) * (np.arange(cells[k]) + 0.5) / cells[k] for k in (0, 1))
    ax.contour(x, y, spread, levels=[typical], colors=[GREY], linewidths=1, linestyles=[(0, (4, 2))], zorder=3)
    label = f"deviation {brief(typical, 2)}, as large as the field"
    return Line2D([], [], color=GREY, linewidth=1, linestyle=(0, (4, 2)), label=label)


def _rows(ax: Any, model: Any, X: Any, rows: Any, seen: Any, scale: float) -> list[Any]:
    """The rows, and at each what is left of the observation."""
    from matplotlib.lines import Line2D

    good = np.isfinite(rows).all(axis=1) & (True if seen is None else np.isfinite(seen).all(axis=1))
    chosen = np.flatnonzero(good)
    if len(chosen) > MOST_RESIDUALS:
        chosen = np.sort(np.random.default_rng(0).choice(chosen, MOST_RESIDUALS, replace=False))
    at = rows[chosen]
    ax.scatter(at[:, 0], at[:, 1], s=5, color=ORANGE, linewidth=0, zorder=5)
    dot: dict[str, Any] = {"color": ORANGE, "marker": "o", "markersize": 3}
    some = "" if len(chosen) == good.sum() else f"{len(chosen)} of {good.sum()} "
    if seen is None or not len(chosen):
        return [Line2D([], [], linestyle="none", label=f"{some}rows", **dot)]
    left = seen[chosen, :2] - ask(model, like(X, at)).mean[:, :2]
    ends = at + left / scale
    lines = np.full((3 * len(at), 2), np.nan)
    lines[0::3], lines[1::3] = at, ends
    ax.plot(lines[:, 0], lines[:, 1], color=ORANGE, linewidth=0.9, alpha=0.9, zorder=5)
    return [Line2D([], [], linewidth=1, label=f"residuals of {some}rows", **dot)]
