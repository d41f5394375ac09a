"""Reports: one page that says what a model is, how well it does, and how to fit it again."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from .data import Data, from_arrays, from_file
from .page import page
from .subject import Subject

__all__ = ["Report", "report", "report_file"]


class Report(str):
    """A page as text, which notebooks show as a page."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        frame = "width:100%;height:42rem;border:1px solid #dfe4e9"
        return f'<iframe title="Mercer report" style="{frame}" srcdoc="{escape(str(self), quote=True)}"></iframe>'

    def __repr__(self) -> str:
        return f"<Report, {len(self)} characters of HTML>"


def report(model: Any, X: Any, y: Any, path: Any = None, *, sample_weight: Any = None, title: str | None = None) -> Report:
    """One self-contained HTML page about a fitted model and rows whose targets are known.

    It holds a summary of the data, the model in words, scores on these rows, the pictures that suit the model, time and memory
    of the fit, and how to fit it again. The page needs nothing from elsewhere, and reads well on a phone. Rows with missing cells
    are counted and left out.

    Parameters
    ----------
    model : fitted estimator
        Any regressor, classifier or process of Mercer, also one that :func:`mercer.load` read from a file.
    X : array of shape (n, d), or frame
        Rows, best ones that the model has not seen. The columns of a frame are found by name.
    y : array of shape (n,) or (n, targets)
    path : path, optional
        Where to write the page.
    sample_weight : array of shape (n,), optional
        What each row counts in the scores.
    title : str, optional

    Returns
    -------
    Report
        The page as text; notebooks show it.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> x = np.linspace(0, 6, 200)[:, None]
    >>> page = mercer.report(mercer.KernelRegressor(features=50).fit(x, np.sin(x[:, 0])), x, np.sin(x[:, 0]))
    >>> "<h2>Scores</h2>" in page
    True
    """
    subject = Subject(model)
    return _write(subject, from_arrays(subject, X, y, sample_weight), path, title)


def report_file(model: Any, data: Any, path: Any = None, *, title: str | None = None) -> Report:
    """The same of a table in a file, whose columns are found by the names that the model knows."""
    subject = Subject(model)
    return _write(subject, from_file(subject, data), path, title)


def _write(subject: Subject, data: Data, path: Any, title: str | None) -> Report:
    text = Report(page(subject, data, title or f"Report on {', '.join(subject.targets[:4])}"))
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text
