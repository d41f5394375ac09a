"""Numbers, times and amounts for people."""

from __future__ import annotations

import re

import numpy as np

from .._times import as_dates

_LONG_NUMBER = re.compile(r"(?<![\w.])\d+\.\d{4,}(?:e[+-]?\d+)?|(?<![\w.])\d+(?:\.\d{4,})?e[+-]?\d+")


def brief(value: float | None, digits: int = 4) -> str:
    """To so many significant digits; a dash for what is not known.

    >>> brief(1234.5678), brief(12345.6).split(), brief(0.000012345), brief(-0.5), brief(None)
    ('1235', ['12', '346'], '1.234e-05', '−0.5', '–')
    """
    if value is None or np.isnan(value):
        return "–"
    if 10**digits <= abs(value) < 1e9:
        return counted_digits(round(value))
    return f"{value:.{digits}g}".replace("-", "−") if value < 0 else f"{value:.{digits}g}"


def counted_digits(count: int) -> str:
    """Thousands apart by a narrow space that does not break, from 10 000 on."""
    text = f"{count:,}".replace(",", "\u202f" if abs(count) >= 10_000 else "")
    return text.replace("-", "−")


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """'1 row', '2225 rows'."""
    return f"{counted_digits(count)} {noun if count == 1 else plural or noun + 's'}"


def percent(share: float | None) -> str:
    return "–" if share is None or np.isnan(share) else f"{100 * share:.3g} %"


def rounded(text: str) -> str:
    """A kernel's text with its numbers to four digits.

    >>> rounded("0.5*gaussian(1.7664701259056363) + matern([0.25, 1.23456789e-07], nu=1.5)")
    '0.5*gaussian(1.766) + matern([0.25, 1.235e-07], nu=1.5)'
    """
    return _LONG_NUMBER.sub(lambda match: f"{float(match.group()):.4g}", text)


def duration(seconds: float) -> str:
    """'12 ms', '3.4 s', '2 min 5 s', '1 h 2 min'."""
    if seconds < 1e-3:
        return f"{1e6 * seconds:.3g} µs"
    if seconds < 1:
        return f"{1e3 * seconds:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def amount(count: float) -> str:
    """Bytes: '912 bytes', '191 MB'."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} bytes"


def counts_days(dates: str) -> bool:
    """Whether values of a column that writes dates so are days since 1970-01-01 (decimal years are numbers)."""
    return dates not in ("none", "decimal_year")


def place(value: float, span: float, dates: str = "none") -> str:
    """A value of a column whose values lie ``span`` apart, to about a thousandth of that; a date where the column holds dates.

    >>> place(-0.0068, 8), place(1960.9167, 12), place(88.9762, 89), place(25, 0), place(3e-9, 1e-8)
    ('−0.007', '1960.92', '88.98', '25', '3e-09')
    >>> place(18262, 90, "iso_date")
    '2020-01-01'
    """
    if not np.isfinite(value):
        return brief(None)
    if counts_days(dates):
        text = str(as_dates(np.array([value])).astype("datetime64[m]")[0])
        return text.replace("T", " ") if dates in ("iso_datetime", "iso_instant") else text[: 7 if dates == "iso_month" else 10]
    if not 1e-4 < span < 1e6:
        return brief(value, 6)
    decimals = max(0, 3 - int(np.floor(np.log10(span))))
    text = f"{value:.{decimals}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def period(length: float, dates: str) -> str:
    """How long a cycle takes, in the units of a column.

    >>> period(365.2425, "iso_date"), period(0.5, "decimal_year"), period(7, "none")
    ('1 year', '6 months', '7')
    """
    if counts_days(dates) and length < 45:
        return f"{brief(length)} days" if length >= 2 else f"{brief(24 * length)} hours"
    if not counts_days(dates) and dates != "decimal_year":
        return brief(length)
    years = length / 365.2425 if counts_days(dates) else length
    size, unit = (years, "year") if years > 0.95 else (12 * years, "month")
    return f"{brief(size)} {unit}{'s' * (brief(size) != '1')}"
