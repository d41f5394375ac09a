"""How the training of a process went."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base import Floats
from ._model import inner
from ._style import BLUE, GREY, ORANGE, brief, canvas, count_of, finish


def training(model: Any, *, ax: Any = None) -> Any:
    """What the training of a Gaussian process minimised, step by step.

    Parameters
    ----------
    model : fitted SpectralMixtureGP or ExactGP
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ExactGP, plot
    >>> t = np.arange(40.0)
    >>> ax = plot.training(ExactGP().fit(t, np.sin(t)))
    >>> ax.get_xlabel()
    'step'
    """
    found = inner(model)
    trace = found.model_.training()
    steps = np.asarray(trace["iteration"])
    if not len(steps):
        raise ValueError(f"{type(found).__name__} was not trained step by step; Gaussian processes are")
    nlml, objective = np.asarray(trace["nlml"]), np.asarray(trace["objective"])
    bound = not np.allclose(nlml, objective, equal_nan=True)

    ax = canvas(ax)
    noisy = found.summary_["solver"] == "adam"
    if bound:
        _curve(ax, steps, objective, BLUE, "bound, which is minimised", noisy)
    _curve(ax, steps, nlml, ORANGE if bound else BLUE, "negative log marginal likelihood", noisy)
    ax.axhline(found.summary_["nlml"], color=GREY, linewidth=0.9, linestyle=(0, (2, 2)), label="of the model kept", zorder=1)
    finite = np.concatenate([nlml, objective])
    finite = finite[np.isfinite(finite)]
    if len(finite) > 10:  # single bad steps do not press the rest to the ground
        low, high = finite.min(), max(np.percentile(finite, 97), found.summary_["nlml"])
        ax.set_ylim(low - 0.05 * (high - low), high + 0.08 * (high - low))
    ax.set_xlabel("step")
    ax.set_ylabel("negative log likelihood" if not bound else "objective (scaled units)")
    seconds = float(trace["seconds"][-1])
    return finish(ax, f"Training, {count_of(len(steps), 'step')} in {brief(seconds, 2)} s")


def _curve(ax: Any, steps: Floats, values: Floats, colour: str, label: str, noisy: bool) -> None:
    """A line; of one that jumps with every draw of points also the running median."""
    width = max(5, len(steps) // 30) | 1
    if not noisy or len(steps) < 3 * width:
        ax.plot(steps, values, color=colour, linewidth=1.8, label=label, marker="o" if len(steps) < 3 else None, zorder=4)
        return
    ax.plot(steps, values, color=colour, linewidth=0.7, alpha=0.35, zorder=3)
    padded = np.pad(values, width // 2, mode="edge")
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(padded, width), axis=1)
    ax.plot(steps, smooth, color=colour, linewidth=1.8, label=label, zorder=4)
