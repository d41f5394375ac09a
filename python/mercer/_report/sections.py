"""The sections of a report."""

from __future__ import annotations

import numpy as np

from .._base import Floats
from . import recipe, words
from .data import Data, looks_fitted
from .html import Markup, bars, code, element, escape, facts, join, table
from .numbers import amount, brief, counted, duration, percent, place
from .pictures import gallery
from .scores import BAND, Scores
from .subject import Subject

_MOST_COLUMNS = 40
_MOST_CLASSES = 20  # of a confusion matrix that can be read
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
    low, high = place(float(finite.min()), dates), place(float(finite.max()), dates)
    drawn = bars(_counts(values), f"histogram from {low} to {high}")
    return [name, low, place(float(np.median(finite)), dates), high, missing, drawn]


def _column_table(subject: Subject, data: Data) -> Markup:
    rows = [_column(name, data.X[:, k], subject.dates[k]) for k, name in enumerate(subject.inputs[:_MOST_COLUMNS])]
    if not subject.classes:
        tag = element("span", "target", class_="tag")
        rows += [_column(join([name, " ", tag]), data.y[:, a], "none") for a, name in enumerate(subject.targets[:_MOST_COLUMNS])]
    head = ["Column", "Least", "Median", "Greatest", "Missing", "Distribution"]
    if not any(row[4] for row in rows):
        head.pop(4)
        rows = [row[:4] + row[5:] for row in rows]
    return table(head, rows, "Columns that the model uses")


def _histogram(name: str, values: Floats) -> Markup:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return Markup()
    low, high = brief(float(finite.min()), 6), brief(float(finite.max()), 6)
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
    more = len(subject.inputs) - _MOST_COLUMNS
    parts: list[object] = [element("p", opening)]
    if data.missing:
        parts.append(words.notes([f"{counted(data.missing, 'row has', 'rows have')} a missing cell; scores and pictures leave them out"]))
    parts.append(_column_table(subject, data))
    if more > 0:
        parts.append(element("p", f"{counted(more, 'further input')} not shown."))
    if subject.classes:
        parts.append(_class_table(subject, data))
    else:
        shown = [_histogram(name, data.y[:, a]) for a, name in enumerate(subject.targets[:4])]
        parts.append(element("div", *shown, class_="histograms"))
    return join(parts)


def model_section(subject: Subject) -> Markup:
    """The model in words."""
    parts: list[object] = [words.model_facts(subject), words.notes(subject.summary["notes"])]
    if subject.summary["process"] == "spectral_mixture" and subject.core.inputs == 1:
        parts += [words.spectrum_table(subject, a) for a in range(min(subject.core.outputs, 4))]
    return join(parts)


def headline(subject: Subject, scores: Scores, data: Data) -> list[tuple[str, str, str]]:
    """The few numbers to remember: name, value, explanation."""
    cards: list[tuple[str, str, str]] = []
    if scores.targets:
        several = len(scores.targets) > 1
        average = "mean over targets" if several else ""
        cards.append(("R²", brief(float(np.mean([t.r2 for t in scores.targets])), 3), average or "1 is perfect, 0 the mean"))
        if not several:
            cards.append(("RMSE", brief(scores.targets[0].rmse, 3), f"in units of {subject.targets[0]}"))
        covered = [t.interval_coverage for t in scores.targets if t.interval_coverage is not None]
        if covered:
            cards.append(("In the intervals", percent(float(np.mean(covered))), f"promised {percent(subject.summary['interval_level'])}"))
        else:
            inside = [t.band_coverage for t in scores.targets if t.band_coverage is not None]
            if inside:
                cards.append((f"In {percent(BAND)} bands", percent(float(np.mean(inside))), "of the rows"))
    if scores.levels:
        cards.append(("Mean loss", brief(float(np.mean([level.loss for level in scores.levels])), 3), f"{subject.loss}, over levels"))
    if scores.inside is not None:
        low, high = subject.levels[0], subject.levels[-1]
        cards.append(("Between the outer", percent(scores.inside), f"of the rows; should be {percent(high - low)}"))
        cards.append(("Crossing", percent(scores.crossed), "of the rows"))
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
        remark += f"; leave-one-out, where each row is predicted from the others, gives an RMSE of {brief(error * subject.target_scale[0])}"
    else:
        remark += "; give rows it has not seen"
    return words.notes([remark])


def _target_table(scores: Scores) -> Markup:
    columns = [
        ("R²", [brief(t.r2) for t in scores.targets]),
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
        worst = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_CLASSES]
        pairs = [divmod(int(place), count) for place in worst if wrong.flat[place] > 0]
        rows = [[subject.classes[a], subject.classes[b], brief(wrong[a, b])] for a, b in pairs]
        return table(["Truth", "Taken for", "Rows"], rows, "The most frequent confusions")
    total = np.maximum(confusion.sum(axis=1, keepdims=True), 1e-300)

    def cell(a: int, b: int) -> Markup:
        share = float(confusion[a, b] / total[a, 0])
        tint = "47,109,179" if a == b else "217,130,43"
        return element("td", brief(confusion[a, b]), style=f"background:rgba({tint},{0.06 + 0.5 * share:.2f})" if share > 0 else None)

    def short(name: str) -> Markup:
        return escape(name) if len(name) <= 14 else element("abbr", name[:13] + "…", title=name)

    head = element("tr", element("td"), *(element("th", short(name), scope="col") for name in subject.classes))
    body = [
        element("tr", element("th", short(name), scope="row"), *(cell(a, b) for b in range(count)))
        for a, name in enumerate(subject.classes)
    ]
    return element(
        "table",
        element("caption", "Confusion: a row for each true class, a column for each answer"),
        element("thead", head),
        element("tbody", *body),
        class_="confusion" if count <= 6 else "confusion small",
    )


def _class_scores(subject: Subject, scores: Scores) -> Markup:
    assert scores.confusion is not None
    hits = np.diag(scores.confusion)
    truth, said = scores.confusion.sum(axis=1), scores.confusion.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        recall, precision = hits / truth, hits / said
    rows = [
        [name, percent(recall[k]), percent(precision[k]), brief(truth[k])]
        for k, name in enumerate(subject.classes[:_MOST_COLUMNS])
    ]
    found = table(["Class", "Found (recall)", "Right (precision)", "Rows"], rows, "Of each class, the share found, and the share of answers that are right")
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
            said.append(f"quantiles cross at {percent(scores.crossed)} of the rows")
        if scores.interval_coverage is not None:
            said.append(f"{percent(scores.interval_coverage)} lie in the conformal intervals, {brief(scores.interval_width)} wide on average")
        if said:
            sentence = "; ".join(said) + "."
            parts.append(element("p", sentence[0].upper() + sentence[1:]))
    if scores.confusion is not None:
        loss = "" if scores.log_loss is None else f", log loss {brief(scores.log_loss)}"
        parts.append(element("p", f"Accuracy {percent(scores.accuracy)}{loss}; always answering the commonest class gives {percent(scores.majority)}."))
        parts.append(_class_scores(subject, scores))
    return join(parts)


def picture_section(subject: Subject, data: Data) -> Markup:
    figures, troubles = gallery(subject, data)
    return join([figures, words.notes(troubles)])


_STAGES = {
    "read": "reading",
    "map": "drawing features",
    "accumulate": "features and sums",
    "penalty": "choosing the penalty",
    "solve": "solving",
    "train": "training",
}


def cost_section(subject: Subject) -> Markup:
    """Seconds and bytes of the fit."""
    seconds = dict(subject.summary["seconds"])
    total = seconds.pop("total", sum(seconds.values()))
    stages = ", ".join(f"{_STAGES.get(stage, stage)} {duration(took)}" for stage, took in seconds.items() if took > 0)
    return facts(
        [
            ("Time of the fit", duration(total) + (f": {stages}" if stages else "")),
            ("Peak memory", f"{amount(subject.summary['peak_memory_bytes'])} resident, of the whole process that fitted"),
            ("Size of the model", f"{amount(len(subject.core.to_bytes()))}, {counted(subject.summary['parameters'], 'parameter')}"),
        ]
    )


def recipe_section(subject: Subject, data: Data) -> Markup:
    """A command and a few lines of Python that fit the model again."""
    fitted = looks_fitted(subject, data.complete()) and data.source
    file = str(data.source) if fitted else "train.csv"
    command = recipe.command(subject, file, drops=bool(fitted and data.missing))
    if subject.summary["process"]:
        promise = "Learned numbers start from what is written here and come out as before on the same rows."
    else:
        promise = "Kernel, map, penalty and seed are written out as they were settled, so the same rows give the same model."
    where = "" if fitted else element("p", code("train.csv"), " stands for the rows the model was fitted to.")
    return join(
        [
            element("p", promise),
            element("h3", "On the command line"),
            element("pre", element("code", command)),
            where,
            element("h3", "In Python"),
            element("pre", element("code", recipe.code(subject))),
        ]
    )
