"""The section on data: rows, columns, ranges, what is missing, how targets are spread."""

from __future__ import annotations

import numpy as np

from .._base import Floats
from . import words
from .data import Data
from .html import Markup, bars, element, join, table
from .numbers import counted, percent, place
from .subject import Subject

_MOST_COLUMNS = 100
_FIRST_COLUMNS = 14
_BINS = 24


def _counts(values: Floats, bins: int = _BINS) -> Floats:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return np.zeros(1)
    if finite.min() == finite.max():
        return np.array([float(len(finite))])
    return np.histogram(finite, bins=min(bins, max(5, int(np.sqrt(len(finite))))))[0].astype(float)


def _column(name: object, values: Floats, dates: str) -> list[object]:
    """Name, least, median, greatest, missing, histogram."""
    finite = values[np.isfinite(values)]
    missing = len(values) - len(finite)
    if not len(finite):
        return [name, "–", "–", "–", missing, ""]
    span = float(np.ptp(finite))
    low, middle, high = (place(float(value), span, dates) for value in np.quantile(finite, [0, 0.5, 1]))
    drawn = bars(_counts(values), f"histogram from {low} to {high}")
    return [name, low, middle, high, missing, drawn]


def _column_tables(subject: Subject, data: Data) -> Markup:
    """Targets and the first inputs; the others on demand."""
    rows = [_column(name, data.X[:, k], subject.dates[k]) for k, name in enumerate(subject.inputs[:_MOST_COLUMNS])]
    if not subject.classes:
        tag = element("span", "target", class_="tag")
        shown = enumerate(subject.targets[:_MOST_COLUMNS])
        rows = [_column(join([name, " ", tag]), data.y[:, a], "none") for a, name in shown] + rows
    head = ["Column", "Least", "Median", "Greatest", "Missing", "Distribution"]
    if not any(row[4] for row in rows):
        head.pop(4)
        rows = [row[:4] + row[5:] for row in rows]
    first = table(head, rows[:_FIRST_COLUMNS], "Columns that the model uses")
    if len(rows) <= _FIRST_COLUMNS:
        return first
    unseen = len(subject.inputs) - _MOST_COLUMNS
    more = counted(len(rows) - _FIRST_COLUMNS, "further column") + (
        f" (of the inputs the first {_MOST_COLUMNS})" if unseen > 0 else ""
    )
    rest = table(head, rows[_FIRST_COLUMNS:], "Further columns that the model uses")
    return join([first, element("details", element("summary", more), rest)])


def _histogram(name: str, values: Floats) -> Markup:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return Markup()
    low, high = (place(float(value), float(np.ptp(finite))) for value in np.quantile(finite, [0, 1]))
    drawn = bars(_counts(values, 40), f"histogram of the target {name} from {low} to {high}", tall=True)
    ends = element("div", element("span", low), element("span", high), class_="ends", aria_hidden="true")
    return element("div", element("h3", f"Distribution of {name}"), drawn, ends)


def _class_table(subject: Subject, data: Data) -> Markup:
    codes = data.y[:, 0]
    counts = np.array([np.sum(codes == k) for k in range(len(subject.classes))])
    order = np.argsort(-counts, kind="stable")[:_MOST_COLUMNS]
    rows = [
        [
            subject.classes[k],
            counts[k],
            percent(counts[k] / max(counts.sum(), 1)),
            _share(counts[k] / max(counts.max(), 1)),
        ]
        for k in order
    ]
    return table(["Class", "Rows", "Share", "Size"], rows, f"Classes of {subject.targets[0]}, the most frequent first")


def _share(share: float) -> Markup:
    """A bar as long as the share."""
    drawn = Markup(f'<rect x="0" y="6" width="{240 * share:.1f}" height="12"/>')
    return element("svg", drawn, class_="bars", viewBox="0 0 240 24", preserveAspectRatio="none", aria_hidden="true")


def data_section(subject: Subject, data: Data) -> Markup:
    """Rows, columns, ranges, what is missing, how targets are spread."""
    n = len(data.X)
    source = f" of {data.source}" if data.source else ""
    opening = (
        f"{counted(n, 'row')}{source}, {counted(subject.core.inputs, 'input')}, "
        f"{counted(len(subject.targets), 'target')}"
        + (f" ({len(subject.classes)} classes)" if subject.classes else "")
        + (", weighted" if data.weights is not None else "")
        + ("." if data.missing else ", nothing missing.")
    )
    parts: list[object] = [element("p", opening)]
    if data.missing:
        parts.append(
            words.notes([f"{counted(data.missing, 'row has', 'rows have')} a missing cell; scores and pictures leave them out"])
        )
    parts.append(_column_tables(subject, data))
    if subject.classes:
        parts.append(_class_table(subject, data))
    else:
        shown = [_histogram(name, data.y[:, a]) for a, name in enumerate(subject.targets[:4])]
        parts.append(element("div", *shown, class_="histograms"))
    return join(parts)
