"""How far random features are from the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .._base import Floats, whole
from ..kernels import Kernel, parse, text_of
from ._model import table, whole_numbers
from ._style import BLUE, GREY, ORANGE, canvas, decades, finish, tick_at

MOST_ROWS = 200


def kernel_error(
    kernel: Kernel | str,
    X: ArrayLike,
    *,
    features: Sequence[int] = (10, 30, 100, 300, 1000, 3000),
    sampling: str = "mc",
    draws: int = 5,
    ax: Any = None,
) -> Any:
    """Largest and mean error of random Fourier features over pairs of rows, against their number D, beside the rate D^-½.

    Errors are spectral norms of K~(x, z) - K(x, z) as shares of the largest ‖K(x, x)‖; bands are from the least to the largest
    of several draws.

    Parameters
    ----------
    kernel : Kernel or str
        Shift-invariant; also of vector fields.
    X : array of shape (n, d)
        Rows; 200 of them at most are taken. They are not scaled.
    features : sequence of int
    sampling : str
        "mc" (independent, of which the theory speaks), "orthogonal", "qmc".
    draws : int
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import plot
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> ax = plot.kernel_error("gaussian(1)", X, features=(10, 100, 1000))
    >>> largest = ax.lines[0].get_ydata()
    >>> bool(largest[2] < largest[0])
    True
    """
    rows, _ = table(X)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < 2:
        raise ValueError("X must have at least two rows of finite numbers")
    whole("draws", draws)
    counts = whole_numbers("features", features)
    text = text_of(kernel)
    if len(rows) > MOST_ROWS:
        rows = rows[np.random.default_rng(0).choice(len(rows), MOST_ROWS, replace=False)]
    rows = np.ascontiguousarray(rows)
    exact = parse(text)(rows)
    p = len(exact) // len(rows)
    size = float(_norms(exact, p).diagonal().max())
    errors = np.empty((len(counts), draws, 2))
    upper = np.triu_indices(len(rows))
    for i, count in enumerate(counts):
        for draw in range(draws):
            norms = _norms(_approximated(text, rows, p, f"fourier:{count},{sampling}", draw) - exact, p)[upper] / size
            errors[i, draw] = norms.max(), norms.mean()

    if errors.max() < 1e-12:
        raise ValueError(f"the features of {text} are the kernel itself: there is no error to draw")
    ax = canvas(ax)
    mean = errors.mean(axis=1)
    for which, (name, colour, mark) in enumerate((("largest error", ORANGE, "s"), ("mean error", BLUE, "o"))):
        ax.plot(counts, mean[:, which], color=colour, linewidth=1.8, marker=mark, markersize=5, label=name, zorder=4)
        if draws > 1:
            low, high = errors[:, :, which].min(axis=1), errors[:, :, which].max(axis=1)
            ax.fill_between(counts, low, high, color=colour, alpha=0.18, linewidth=0, zorder=2)
    for which in (0, 1):  # lines of the rate through the middle of each curve, in the logarithm
        through = np.exp(np.mean(np.log(mean[:, which]) + 0.5 * np.log(counts)))
        label = "rate $D^{-1/2}$" if which == 0 else None
        ax.plot(counts, through / np.sqrt(counts), color=GREY, linewidth=1, linestyle=(0, (4, 2)), label=label, zorder=3)
    ax.set(xscale="log", yscale="log")
    decades(ax.yaxis, float(errors.min()), float(errors.max()))
    tick_at(ax.xaxis, counts)
    ax.set_xlabel("features $D$")
    ax.set_ylabel("error / largest ‖K(x, x)‖" if p > 1 else "error / largest k(x, x)")
    short = text if len(text) <= 44 else text[:41] + "…"
    return finish(ax, f"Random features of {short}")


def _approximated(text: str, rows: Floats, p: int, map: str, seed: int) -> Floats:
    """Φ(x_i)ᵀΦ(x_j) as an (n·p)² matrix."""
    options = {"kernel": text, "map": map, "standardize": False, "seed": seed}
    model = _core.draw_features(rows, np.zeros((len(rows), p)), None, options, None)
    phi = model.features(rows)
    if p == 1:
        return phi @ phi.T
    n = len(rows)
    gram = np.empty((n, p, n, p))
    for a in range(p):
        unit = np.zeros((phi.shape[1], p))
        unit[:, a] = 1
        images = model.expand(model.contract(unit))  # row c: A_c e_a, with A_c = B_c B_cᵀ
        for b in range(p):
            gram[:, b, :, a] = (phi * images[:, b]) @ phi.T
    return gram.reshape(n * p, n * p)


def _norms(matrix: Floats, p: int) -> Floats:
    """Spectral norms of the p × p blocks."""
    n = len(matrix) // p
    if p == 1:
        return np.abs(matrix)
    blocks = matrix.reshape(n, p, n, p).transpose(0, 2, 1, 3)
    return np.linalg.norm(blocks, ord=2, axis=(2, 3))
