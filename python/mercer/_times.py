"""Times as numbers: dates are days since 1970-01-01, as in Mercer's files."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DAY = np.timedelta64(86_400_000_000_000, "ns")
_ISO = re.compile(r"\d{4}-\d\d")


def _is_date(value: Any) -> bool:
    """Whether a single value is a date: an object, or text that begins as 2024-02 does."""
    return isinstance(value, (datetime.date, np.datetime64)) or (isinstance(value, str) and _ISO.match(value) is not None)


def _are_dates(dtype: Any) -> bool:
    """Whether a column of this type holds dates: pandas' datetime64, polars' Date and Datetime."""
    return getattr(dtype, "kind", None) == "M" or str(dtype).startswith("Date")


def _first(values: Any) -> Any:
    """The first of values that may be rows of one."""
    first = values[0] if len(values) else None
    return first[0] if isinstance(first, (list, tuple)) and len(first) == 1 else first


def _values_of(X: Any) -> NDArray[Any] | None:
    """X as an array, where it may hold dates."""
    if str(getattr(X, "dtype", "")).startswith("period"):
        X = getattr(X, "dt", X).to_timestamp()
    if isinstance(X, np.ndarray):
        return X
    if hasattr(X, "to_numpy"):
        return np.asarray(X.to_numpy())
    return np.array(X, dtype=object) if isinstance(X, (list, tuple)) and _is_date(_first(X)) else None


def dates_of(X: Any) -> NDArray[Any] | None:
    """X as a vector of datetime64, or None when it holds none: numpy's, pandas' or polars' dates and periods, datetime objects
    or text such as 2024-02-29."""
    columns = X.columns if hasattr(X, "shape") and hasattr(X, "columns") else (None,)
    if len(columns) != 1:
        if any(map(_are_dates, set(X.dtypes))):
            name = next(name for name, dtype in zip(columns, X.dtypes, strict=True) if _are_dates(dtype))
            raise ValueError(f"column {name!r} of X holds dates; make numbers of them, such as days since the first")
        return None
    array = _values_of(X)
    if array is None or array.dtype.kind not in "MOUT" or array.ndim not in (1, 2) or not array.size:
        return None
    if array.ndim == 2 and array.shape[1] != 1:
        if array.dtype.kind == "M":
            raise ValueError("dates are understood as the one input; where there are more, make numbers of them, such as days")
        return None
    array = array.reshape(-1)
    if array.dtype.kind != "M":
        if not _is_date(array[0]):
            return None
        if any(getattr(value, "tzinfo", None) is not None for value in array):
            raise ValueError("take the time zone off the dates: tz_localize(None) keeps the clock, tz_convert(None) goes to UTC")
        try:
            array = array.astype("datetime64[ns]")
        except (TypeError, ValueError) as error:
            raise ValueError(f"not every time is a date: {error}") from None
    dates = array.astype("datetime64[ns]")
    if np.isnat(dates).any():
        raise ValueError("a date is missing (NaT)")
    return dates


def days_of(X: Any) -> tuple[Any, str | None]:
    """Dates as rows × 1 days, and the kind of dates they are ("iso_date", "iso_datetime"); what holds no dates as it is, and
    None. A frame stays one."""
    dates = dates_of(X)
    if dates is None:
        return X, None
    days = np.ascontiguousarray((dates - np.datetime64(0, "ns")) / _DAY)
    kind = "iso_date" if (days == np.floor(days)).all() else "iso_datetime"
    columns = getattr(X, "columns", None)
    return (days[:, None] if columns is None else type(X)({columns[0]: days})), kind


def as_times(X: Any) -> tuple[Any, str | None]:
    """The same, where a vector of numbers is times too."""
    X, kind = days_of(X)
    is_vector = getattr(X, "ndim", None) == 1 or (isinstance(X, (list, tuple)) and X and np.isscalar(X[0]))
    return (np.asarray(X)[:, None] if is_vector else X), kind


def named(X: Any, times: Any) -> Any:
    """Times (rows × 1) of a vector X as a frame with its name, if it has one."""
    name = getattr(X, "name", None)
    if getattr(X, "ndim", 1) != 1 or not isinstance(name, str) or not hasattr(X, "to_frame"):
        return times
    return type(X[:1].to_frame())({name: np.asarray(times)[:, 0]})


def as_dates(days: NDArray[Any]) -> NDArray[Any]:
    """datetime64 of days since 1970-01-01."""
    return np.datetime64(0, "ns") + np.round(np.asarray(days) * 86_400e9 / 1e3).astype("timedelta64[us]")
