"""The pictures that suit a model, each as an image inside the page."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .. import plot
from .._base import Floats
from .._times import as_dates, as_times
from . import charts
from .data import Data, looks_fitted
from .html import Markup, element, escape
from .numbers import counted, counts_days
from .subject import Subject

MOST_ROWS = 1500  # in a picture; more would not be seen, and every one takes a line of the file
MOST_OUTPUTS = 4
MOST_STEPS = 200  # of a forecast
_MOST_REGIONS = 6  # classes that a picture of regions can tell apart
_LONGEST_LABEL = 44
_WIDTH = 4.7  # inches: letters are readable when a phone shows it 328 pixels wide


@dataclass(frozen=True)
class Picture:
    """What to draw, how tall, and what it says in words."""

    title: str
    draw: Callable[..., Any]  # on the Axes given as ax
    alt: str
    caption: str
    height: float = 3.5


def _times(subject: Subject, X: Floats) -> Any:
    """The one input of a series, as dates where it holds dates."""
    return as_dates(X[:, 0]) if counts_days(subject.dates[0]) else X[:, 0]


def _history(subject: Subject, data: Data) -> tuple[Floats, Floats]:
    """The series to draw: the rows, after those of the fit where the estimator remembers them."""
    known = getattr(subject.estimator, "series_", None)
    if known is None or looks_fitted(subject, data):
        return data.X[:, 0], data.y
    times, values = np.asarray(as_times(known[0])[0], dtype=float).reshape(-1), np.asarray(known[1], dtype=float)
    values = values.reshape(len(values), -1)
    return np.concatenate([times, data.X[:, 0]]), np.concatenate([values, data.y])


def _answers(subject: Subject) -> str:
    return {"pinball": "Quantiles", "expectile": "Expectiles"}.get(subject.loss, "Predictions")


def _labels(subject: Subject, data: Data) -> Any:
    return np.asarray(subject.estimator.classes_)[data.y[:, 0].astype(int)]


def movements(subject: Subject, X: Floats) -> Floats:
    """How far predictions move, in all outputs together, when one input goes through its range and the others stay at their
    medians."""
    steps = 21
    middle = np.median(X, axis=0)
    moved = np.zeros(X.shape[1])
    for k in range(X.shape[1]):
        grid = np.tile(middle, (steps, 1))
        grid[:, k] = np.quantile(X[:, k], np.linspace(0.02, 0.98, steps))
        moved[k] = float(np.ptp(subject.predict(grid), axis=0).sum())
    return moved


def _of_series(subject: Subject, data: Data) -> Iterator[Picture]:
    history = _history(subject, data)
    ahead = int(np.sum(data.X[:, 0] >= subject.core.future(1)[0]))  # rows that came after those of the fit
    horizon = min(ahead, MOST_STEPS) or int(np.clip(len(data.X) // 6, 6, 60))
    for a, name in list(enumerate(subject.targets))[:MOST_OUTPUTS]:
        yield Picture(
            f"Forecast of {name}",
            partial(plot.forecast, subject.estimator, horizon, history=history, output=a),
            f"Forecast of {name} over {horizon} steps after the last training row, with bands",
            f"What the model expects of {name} in the next {counted(horizon, 'step')} after its training rows.",
        )
        if subject.has_spectrum:
            yield Picture(
                f"Spectrum of {name}",
                partial(plot.spectrum, subject.estimator, output=a, series=history),
                f"Learned spectral density of {name} against that of the rows, both axes logarithmic",
                f"Which periods make up {name}: peaks of the learned spectrum, and the spectrum of the rows.",
            )


def _field_height(X: Floats) -> float:
    """Inches that let both inputs have the same scale."""
    wide, tall = np.maximum(np.ptp(X, axis=0), 1e-300)
    return float(np.clip(0.8 + 3.1 * tall / wide, 2.8, 5.4))


def _of_regression(subject: Subject, data: Data) -> Iterator[Picture]:
    some = data.some(MOST_ROWS)
    if subject.is_field:
        yield Picture(
            "The field",
            partial(plot.field, subject.estimator, some.X, some.y),
            f"Arrows of the field ({', '.join(subject.targets)}) over {' and '.join(subject.inputs)}",
            "The fitted field, how large and how certain it is, and the rows.",
            height=_field_height(some.X),
        )
    if subject.is_series:
        yield from _of_series(subject, data)
    if not subject.is_field and not (subject.is_series and len(data.X) > MOST_ROWS):
        k = int(np.argmax(movements(subject, some.X)))
        X = _times(subject, some.X) if subject.core.inputs == 1 else some.X
        others = "" if subject.core.inputs == 1 else ", the input that moves predictions most, others at their medians"
        yield Picture(
            f"{_answers(subject)} along {subject.inputs[k]}",
            partial(plot.fan, subject.estimator, X, some.y, feature=k),
            f"Predictions of {subject.targets[0]} along {subject.inputs[k]}, with the rows as points",
            f"{_answers(subject)} of {subject.targets[0]} along {subject.inputs[k]}{others}.",
        )
    for a, name in list(enumerate(subject.targets))[:MOST_OUTPUTS]:
        yield Picture(
            f"Predicted against observed {name}",
            partial(plot.residuals, subject.estimator, data.X, data.y, output=a),
            f"Predicted against observed {name}, and the diagonal where they agree",
            f"Predictions of {name} against what was observed.",
            height=4.2,
        )
    if subject.has_bands:
        yield Picture(
            "Calibration",
            partial(plot.calibration, subject.estimator, data.X, data.y),
            "Share of rows inside the model's bands against their nominal level, and the diagonal of a right model",
            "Whether bands hold what they promise: on the diagonal they do, below it they are too narrow.",
            height=4.2,
        )


def _of_classes(subject: Subject, data: Data) -> Iterator[Picture]:
    some = data.some(MOST_ROWS)
    if subject.core.inputs >= 2 and len(subject.classes) <= _MOST_REGIONS:
        first, second = (int(k) for k in np.argsort(-movements(subject, some.X), kind="stable")[:2])
        others = "" if subject.core.inputs == 2 else ", the inputs that move predictions most; others at their medians"
        yield Picture(
            "Regions of the classes",
            partial(plot.decision, subject.estimator, some.X, _labels(subject, some), features=(first, second)),
            f"Regions of the classes over {subject.inputs[first]} and {subject.inputs[second]}, with the rows as points",
            f"What the model says over {subject.inputs[first]} and {subject.inputs[second]}{others}.",
            height=4.2,
        )
    if subject.gives_probabilities:
        yield Picture(
            "Reliability of the probabilities",
            partial(plot.calibration, subject.estimator, data.X, _labels(subject, data)),
            "How often the likeliest class is right against the probability it was given, and the diagonal",
            "Whether probabilities hold what they promise: below the diagonal the model is too sure.",
            height=4.2,
        )


def pictures(subject: Subject, data: Data) -> Iterator[Picture]:
    """Those that suit the model, the most telling first."""
    yield from _of_classes(subject, data) if subject.classes else _of_regression(subject, data)
    if subject.summary["penalty_path"]:
        yield Picture(
            "How the penalty was chosen",
            partial(charts.penalty_path, subject),
            "Error of each penalty that was tried, both axes logarithmic, and the one that was kept",
            "The penalties that were tried; the one of least error was kept.",
        )
    if len(subject.core.training()["iteration"]):
        yield Picture(
            "Training",
            partial(plot.training, subject.estimator),
            "The negative log likelihood, step by step of the training",
            "What the training minimised, step by step.",
        )


def _as_written(drawn: Any) -> None:
    """Names from data mean what they say: a $ in them is no mathematics, as ticks of logarithmic axes are. Long ones are cut."""
    from matplotlib.text import Text

    ticks = {
        label
        for ax in drawn.axes
        for axis in (ax.xaxis, ax.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for label in (tick.label1, tick.label2)
    }
    for text in drawn.findobj(Text):
        if text not in ticks:
            text.set_parse_math(False)
    for label in (label for ax in drawn.axes for label in (ax.xaxis.label, ax.yaxis.label)):
        if len(label.get_text()) > _LONGEST_LABEL:
            label.set_text(label.get_text()[: _LONGEST_LABEL - 1] + "…")


def _svg(drawn: Any) -> bytes:
    """Letters as outlines, the same everywhere; left to the fonts of the reader where ours lack one."""
    from matplotlib import rc_context

    for fonts in ("path", "none"):
        text = io.BytesIO()
        with rc_context({"svg.fonttype": fonts}), warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            drawn.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        if not any("missing from font" in str(warning.message) for warning in heard):
            break
    return text.getvalue()


def figure(picture: Picture) -> Markup:
    """The picture as <figure>, its image an SVG inside the page, its title in the page's own letters."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("a report needs matplotlib: pip install 'mercer[plot]'") from error
    with rc_context({"svg.hashsalt": "mercer"}):
        drawn = Figure(figsize=(_WIDTH, picture.height), layout="constrained")
        ax = picture.draw(ax=drawn.subplots())
        ax.set_title("", loc="left")
        _as_written(drawn)
        text = _svg(drawn)
    source = "data:image/svg+xml;base64," + base64.b64encode(text).decode("ascii")
    width, height = (round(96 * side) for side in (_WIDTH, picture.height))
    image = f'<img src="{source}" alt="{escape(picture.alt)}" width="{width}" height="{height}">'
    return element("figure", element("h3", picture.title), Markup(image), element("figcaption", picture.caption))


def gallery(subject: Subject, data: Data) -> tuple[Markup, list[str]]:
    """All figures, and a word on those that could not be drawn."""
    figures, troubles = [], []
    for picture in pictures(subject, data):
        try:
            figures.append(figure(picture))
        except ValueError as error:
            troubles.append(f"no picture “{picture.title}”: {error}")
    return element("div", *figures, class_="gallery"), troubles
