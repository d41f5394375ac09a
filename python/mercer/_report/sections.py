"""The sections on the model, its pictures, what it cost, and how to fit it again."""

from __future__ import annotations

from . import recipe, words
from .data import Data, looks_fitted
from .html import Markup, code, element, facts, join
from .numbers import amount, counted, duration
from .pictures import gallery
from .subject import Subject


def model_section(subject: Subject) -> Markup:
    """The model in words."""
    parts: list[object] = [words.model_facts(subject), words.notes(subject.summary["notes"])]
    if subject.summary["process"] == "spectral_mixture" and subject.core.inputs == 1:
        parts += [words.spectrum_table(subject, a) for a in range(min(subject.core.outputs, 4))]
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
            (
                "Model size",
                f"{amount(len(subject.core.to_bytes()))}, {counted(subject.summary['parameters'], 'parameter')}",
            ),
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
