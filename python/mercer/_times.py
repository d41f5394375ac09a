"""Times as numbers: dates are days since 1970-01-01, as in Mercer's files."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_DAY = np.timedelta64(86_400_000_000_000, "ns")


def _dates_of(X: Any) -> NDArray[Any] | None:
    """X as a vector of datetime64, or None when it holds none."""
    array = X if isinstance(X, np.ndarray) else getattr(X, "to_numpy", lambda: None)()
    if array is None:
        array = np.asarray(X) if isinstance(X, (list, tuple)) and X and isinstance(X[0], np.datetime64) else None
    if array is None or array.dtype.kind != "M":
        return None
    if array.ndim == 2 and array.shape[1] != 1:
        raise ValueError("dates are understood as the one input of a series; convert them to numbers yourself where there are more")
    return array.reshape(-1).astype("datetime64[ns]")


def as_times(X: Any) -> tuple[Any, str | None]:
    """Rows × 1 numbers for a vector of times, and the kind of dates they are ("iso_date", "iso_datetime"), if dates."""
    dates = _dates_of(X)
    if dates is not None:
        if np.isnat(dates).any():
            raise ValueError("a date is missing (NaT)")
        days = (dates - np.datetime64(0, "ns")) / _DAY
        return np.ascontiguousarray(days[:, None]), "iso_date" if (days == np.floor(days)).all() else "iso_datetime"
    is_vector = getattr(X, "ndim", None) == 1 or (isinstance(X, (list, tuple)) and X and np.isscalar(X[0]))
    return (np.asarray(X)[:, None] if is_vector else X), None


def as_dates(days: NDArray[Any]) -> NDArray[Any]:
    """datetime64 of days since 1970-01-01."""
    return np.datetime64(0, "ns") + np.round(np.asarray(days) * 86_400e9 / 1e3).astype("timedelta64[us]")
