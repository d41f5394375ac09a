"""What is wrong with a table that is no table of numbers, in a sentence that names the column."""

from __future__ import annotations

from typing import Any

import numpy as np


def _no_number(values: Any) -> Any:
    """The first of values that float() does not take, or None."""
    for value in values:
        try:
            float(value)
        except (TypeError, ValueError):
            return value.item() if isinstance(value, np.generic) else value
    return None


def fault_of_inputs(X: Any) -> str | None:
    """Why X cannot be read as numbers, where there is something to say beyond what numpy says."""
    if hasattr(X, "collect") and not hasattr(X, "to_numpy"):
        return f"X is a {type(X).__name__}, which holds no rows yet; call collect() first"
    for name in getattr(X, "columns", ()):
        values = np.asarray(X[name])
        if values.dtype.kind in "OUST" and values.ndim == 1 and (found := _no_number(values)) is not None:
            return f"column {name!r} of X holds {found!r}, which is no number; encode categories, or leave the column out"
    return None


def fault_of_targets(y: Any) -> str | None:
    """The same of targets."""
    values = np.asarray(y)
    if values.dtype.kind in "OUST" and (found := _no_number(values.ravel())) is not None:
        return f"y holds {found!r}, which is no number; KernelClassifier learns classes"
    return None
