"""The section on scores, and the few of them that stand at the top of the page."""

from __future__ import annotations

import numpy as np

from .._base import Floats
from . import words
from .data import Data, looks_fitted
from .html import Markup, element, escape, join, table
from .numbers import brief, percent
from .scores import BAND, Scores
from .subject import Subject

_MOST_ROWS = 40  # of a table of classes
_MOST_CLASSES = 10  # of a confusion matrix that fits on a phone
_WIDE_CLASSES = 5  # of one with room for names
_MOST_PAIRS = 20  # of the list in its place


def headline(subject: Subject, scores: Scores, data: Data) -> list[tuple[str, str, str]]:
    """The few numbers to remember: name, value, explanation."""
    cards: list[tuple[str, str, str]] = []
    if scores.targets:
        several = len(scores.targets) > 1
        average = "mean over targets" if several else ""
        cards.append(("R²", _fixed(float(np.mean([t.r2 for t in scores.targets])), 3), average or "1 is perfect, 0 the mean"))
        if not several:
            cards.append(("RMSE", brief(scores.targets[0].rmse, 3), f"in units of {subject.targets[0]}"))
        covered = [t.interval_coverage for t in scores.targets if t.interval_coverage is not None]
        if covered:
            cards.append(
                ("In the intervals", percent(float(np.mean(covered))), f"promised {percent(subject.summary['interval_level'])}")
            )
        else:
            inside = [t.band_coverage for t in scores.targets if t.band_coverage is not None]
            if inside:
                cards.append((f"In {percent(BAND)} bands", percent(float(np.mean(inside))), "of the rows"))
    if scores.levels:
        cards.append(
            ("Mean loss", brief(float(np.mean([level.loss for level in scores.levels])), 3), f"{subject.loss}, over levels")
        )
    if scores.inside is not None:
        low, high = subject.levels[0], subject.levels[-1]
        cards.append(("Between the outer", percent(scores.inside), f"of the rows; should be {percent(high - low)}"))
        cards.append(("Crossing", percent(scores.crossed), "of neighbouring quantiles"))
    if scores.accuracy is not None:
        cards.append(("Accuracy", percent(scores.accuracy), f"the commonest class has {percent(scores.majority)}"))
    if scores.log_loss is not None:
        cards.append(("Log loss", brief(scores.log_loss, 3), f"{brief(np.log(len(subject.classes)), 3)} is a guess"))
    cards.append(("Rows scored", brief(len(data.X)), ""))
    return cards


def _warning(subject: Subject, data: Data) -> Markup:
    if not looks_fitted(subject, data):
        return Markup()
    remark = "these look like the rows the model was fitted to, so the scores flatter it"
    error = subject.summary["leave_one_out_rmse"]
    if error is not None and len(subject.targets) == 1 and not subject.classes:
        spared = brief(error * subject.target_scale[0])
        remark += f"; leave-one-out, where each row is predicted from the others, gives an RMSE of {spared}"
    else:
        remark += "; give rows it has not seen"
    return words.notes([remark])


def _fixed(value: float, decimals: int = 4) -> str:
    """R², whose digits count from 1 down."""
    return "–" if np.isnan(value) else f"{value:.{decimals}f}".replace("-", "−") if abs(value) < 100 else brief(value, 3)


def _target_table(scores: Scores) -> Markup:
    columns = [
        ("R²", [_fixed(t.r2) for t in scores.targets]),
        ("RMSE", [brief(t.rmse) for t in scores.targets]),
        ("MAE", [brief(t.mae) for t in scores.targets]),
        ("Log density", [brief(t.log_density) for t in scores.targets]),
        (f"In {percent(BAND)} bands", [percent(t.band_coverage) for t in scores.targets]),
        ("In the intervals", [percent(t.interval_coverage) for t in scores.targets]),
        ("Width of intervals", [brief(t.interval_width) for t in scores.targets]),
    ]
    known = [(name, cells) for name, cells in columns if any(cell != "–" for cell in cells)]
    rows = [[t.name, *(cells[k] for _, cells in known)] for k, t in enumerate(scores.targets)]
    return table(["Target", *(name for name, _ in known)], rows, "R² is 1 at best; errors are in the units of the target")


def _level_table(subject: Subject, scores: Scores) -> Markup:
    pinball = subject.loss == "pinball"
    rows = [[brief(s.level), brief(s.loss), percent(s.below)] for s in scores.levels]
    head = ["Level", "Pinball loss" if pinball else "Expectile loss", "Rows below"]
    caption = "A right quantile has its level of the rows below it" if pinball else "Expectiles balance squared errors, not rows"
    return table(head, rows, caption)


def _confusion(subject: Subject, confusion: Floats) -> Markup:
    """Rows: the truth; columns: what the model said."""
    count = len(subject.classes)
    if count > _MOST_CLASSES:
        wrong = confusion.copy()
        np.fill_diagonal(wrong, 0)
        worst = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_PAIRS]
        pairs = [divmod(int(place), count) for place in worst if wrong.flat[place] > 0]
        rows = [[subject.classes[a], subject.classes[b], brief(wrong[a, b])] for a, b in pairs]
        return table(["Truth", "Taken for", "Rows"], rows, "The most frequent confusions", numbers=False)
    total = np.maximum(confusion.sum(axis=1, keepdims=True), 1e-300)

    def cell(a: int, b: int) -> Markup:
        share = float(confusion[a, b] / total[a, 0])
        tint = "47,109,179" if a == b else "217,130,43"
        return element(
            "td", brief(confusion[a, b]), style=f"background:rgba({tint},{0.06 + 0.5 * share:.2f})" if share > 0 else None
        )

    names = _short_names(subject.classes)
    head = element("tr", element("td"), *(element("th", name, scope="col") for name in names))
    body = [element("tr", element("th", name, scope="row"), *(cell(a, b) for b in range(count))) for a, name in enumerate(names)]
    return element(
        "table",
        element("caption", "Confusion: a row for each true class, a column for each answer"),
        element("thead", head),
        element("tbody", *body),
        class_="confusion" if count <= _WIDE_CLASSES else "confusion small",
    )


def _numbered(classes: list[str]) -> bool:
    """Whether a confusion matrix of these has room for numbers only."""
    return _WIDE_CLASSES < len(classes) <= _MOST_CLASSES and max(map(len, classes)) > 3


def _short_names(classes: list[str]) -> list[Markup]:
    """Names that fit beside a matrix: cut, or numbers that the table below it explains."""
    if _numbered(classes):
        return [element("abbr", k + 1, title=name) for k, name in enumerate(classes)]
    return [escape(name) if len(name) <= 12 else element("abbr", name[:11] + "…", title=name) for name in classes]


def _class_scores(subject: Subject, scores: Scores) -> Markup:
    assert scores.confusion is not None
    hits = np.diag(scores.confusion)
    truth, said = scores.confusion.sum(axis=1), scores.confusion.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        recall, precision = hits / truth, hits / said
    numbered = _numbered(subject.classes)
    rows = [
        [f"{k + 1}: {name}" if numbered else name, percent(recall[k]), percent(precision[k]), brief(truth[k])]
        for k, name in enumerate(subject.classes[:_MOST_ROWS])
    ]
    found = table(
        ["Class", "Found (recall)", "Right (precision)", "Rows"],
        rows,
        "The share of each class that is found, and of its answers that are right",
    )
    return join([_confusion(subject, scores.confusion), found])


def score_section(subject: Subject, scores: Scores, data: Data) -> Markup:
    """Tables of scores, and a word on what they are worth."""
    parts: list[object] = [_warning(subject, data)]
    if scores.targets:
        parts.append(_target_table(scores))
    if scores.levels:
        parts.append(_level_table(subject, scores))
        said = []
        if scores.inside is not None:
            said.append(f"{percent(scores.inside)} of the rows lie between the outermost quantiles")
            said.append(f"{percent(scores.crossed)} of neighbouring quantiles cross")
        if scores.interval_coverage is not None:
            said.append(
                f"{percent(scores.interval_coverage)} lie in the intervals, {brief(scores.interval_width)} wide on average"
            )
        if said:
            sentence = "; ".join(said) + "."
            parts.append(element("p", sentence[0].upper() + sentence[1:]))
    if scores.confusion is not None:
        loss = "" if scores.log_loss is None else f", log loss {brief(scores.log_loss)}"
        parts.append(
            element(
                "p",
                f"Accuracy {percent(scores.accuracy)}{loss}; the commonest class alone gives {percent(scores.majority)}.",
            )
        )
        parts.append(_class_scores(subject, scores))
    return join(parts)
