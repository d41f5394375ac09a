"""How to fit the model again: a command line, and the same in Python."""

from __future__ import annotations

import shlex
from typing import Any

from .subject import Subject

_MOST_INPUTS = 30  # names written out
_LINE = 72
_APPROXIMATE = ("cg", "refined", "sgd", "adam")  # solvers whose answers are their own; the others agree


def _number(value: float) -> str:
    return repr(float(value))


def _levels(subject: Subject) -> list[float]:
    return [float(level) for level in subject.levels]


def _kernel(subject: Subject) -> str:
    """As settled; of processes, which learn its numbers, where the search began (learned numbers, for models from files)."""
    return str(subject.estimator.kernel) if subject.summary["process"] else str(subject.summary["kernel"])


def _in_time_order(subject: Subject) -> bool:
    """Whether the last rows calibrate intervals, as far as the estimator remembers."""
    return bool(getattr(subject.estimator, "_extra_options", {}).get("time_order"))


def command(subject: Subject, file: str, *, drops: bool = False) -> str:
    """``mercer fit …`` with the settled numbers, so that the same rows give the same model."""
    summary, settings = subject.summary, subject.settings
    words: list[Any] = ["mercer", "fit", file, "--target", ",".join(subject.targets)]
    columns = settings["columns"]
    if columns != [f"x{k}" for k in range(len(columns))] and len(columns) <= _MOST_INPUTS:
        words += ["--inputs", ",".join(columns)]
    if settings["weights"]:
        words += ["--weights", settings["weights"]]
    if settings["one_hot"]:
        words.append("--one-hot")
    if summary["process"]:
        words += _process_words(subject)
    else:
        words += ["--kernel", _kernel(subject), "--map", summary["map"]]
        if len(subject.levels) and subject.loss == "pinball":
            words += ["--quantiles", ",".join(map(_number, subject.levels))]
            words += ["--non-crossing"] if settings["non_crossing"] else []
        elif summary["loss"] != "square":
            words += ["--loss", summary["loss"]]
        words += ["--penalty", _number(summary["penalty"])]
        words += ["--solver", summary["solver"]] if summary["solver"] in _APPROXIMATE else []
        words += ["--tolerance", tolerance] if (tolerance := getattr(subject.estimator, "tolerance", None)) else []
        words += [] if settings["intercept"] else ["--no-intercept"]
        words += [] if summary["precision"] == "float64" else ["--precision", summary["precision"]]
    words += ["--classify"] if subject.classes else []
    words += [] if settings["standardize"] else ["--no-standardize"]
    words += [] if summary["interval_level"] is None else ["--conformal", summary["interval_level"]]
    words += ["--split", "time"] if _in_time_order(subject) else []
    words += ["--missing", "drop"] if drops else []
    words += ["--seed", settings["seed"], "-o", "model.mercer"]
    return _broken([str(word) for word in words])


def _broken(words: list[str]) -> str:
    """One line, or one for each option where that would be long."""
    line = shlex.join(words)
    if len(line) <= _LINE:
        return line
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("-") and not word[1:2].isdigit():
            lines.append([])
        lines[-1].append(word)
    return " \\\n  ".join(shlex.join(part) for part in lines)


def _steps(subject: Subject) -> int:
    """Of the training; 0 for the default. Adam takes all that it is given, so that models from files tell."""
    known: int = subject.estimator.steps
    return known or (subject.summary["iterations"] // subject.settings["parts"] if subject.summary["solver"] == "adam" else 0)


def _outputs(subject: Subject) -> str:
    """Spectra of several targets: one of each, or one of all."""
    return "shared" if subject.core.outputs > 1 and subject.settings["parts"] == 1 else "independent"


def _process_words(subject: Subject) -> list[Any]:
    process, estimator = subject.summary["process"], subject.estimator
    if process == "spectral_mixture":
        law = "" if estimator.law == "gaussian" else f",{estimator.law}"
        points = str(subject.summary["map"]).partition(":")[2]
        words: list[Any] = ["--gp", f"spectral_mixture:{estimator.components}{law}", "--map", f"fourier:{points}"]
        words += [] if _outputs(subject) == "independent" else ["--outputs", "shared"]
        words += [] if estimator.optimizer == "auto" else ["--optimizer", estimator.optimizer]
        words += [] if estimator.posterior_draws == 8 else ["--posterior-draws", estimator.posterior_draws]
    else:
        words = ["--gp", "exact" if process == "exact" else f"vfe:{subject.summary['features']}", "--kernel", _kernel(subject)]
    words += ["--mean", subject.settings["mean"]]
    words += ["--steps", steps] if (steps := _steps(subject)) else []
    words += ["--restarts", estimator.restarts] if estimator.restarts != 1 else []
    return words


def code(subject: Subject) -> str:
    """The same in Python, for X and y that hold the rows."""
    name, arguments = _constructor(subject)
    written = [f"{key}={value!r}" for key, value in arguments.items()]
    call = f"{name}({', '.join(written)})"
    if len(call) > _LINE:
        call = f"{name}(\n    " + ",\n    ".join(written) + ",\n)"
    names = [name]
    level = subject.summary["interval_level"]
    if level is not None:
        call = f"ConformalRegressor({call}, level={level!r}{', time_order=True' if _in_time_order(subject) else ''})"
        names.insert(0, "ConformalRegressor")
    weighted = subject.summary["weight"] != subject.summary["n"]
    fit = "model.fit(X, y, sample_weight=weights)" if weighted else "model.fit(X, y)"
    return f"from mercer import {', '.join(names)}\n\nmodel = {call}\n{fit}"


def _constructor(subject: Subject) -> tuple[str, dict[str, Any]]:
    summary, settings, estimator = subject.summary, subject.settings, subject.estimator
    seed = {"random_state": settings["seed"]}
    if summary["process"]:
        shared = {"mean": settings["mean"], "steps": _steps(subject), "restarts": estimator.restarts}
        defaults = {
            "steps": 0,
            "restarts": 1,
            "law": "gaussian",
            "optimizer": "auto",
            "outputs": "independent",
            "posterior_draws": 8,
        }
        if summary["process"] == "spectral_mixture":
            arguments: dict[str, Any] = {
                "components": estimator.components,
                "law": estimator.law,
                "points": int(str(summary["map"]).partition(":")[2].partition(",")[0]),
                "optimizer": estimator.optimizer,
                "outputs": _outputs(subject),
                "posterior_draws": estimator.posterior_draws,
            }
        else:
            arguments = {"kernel": _kernel(subject)}
            if summary["process"] == "vfe":
                arguments["inducing"] = summary["features"]
        arguments = {**arguments, **shared, **seed}
        name = "SpectralMixtureGP" if summary["process"] == "spectral_mixture" else "ExactGP"
        return name, {key: value for key, value in arguments.items() if defaults.get(key, ...) != value}
    arguments = {"kernel": _kernel(subject), "map": summary["map"], "penalty": summary["penalty"]}
    if subject.kind == "quantiles":
        arguments = {"quantiles": _levels(subject), "non_crossing": settings["non_crossing"], **arguments}
    else:
        arguments["loss"] = summary["loss"]
    if subject.kind == "mean" and not settings["intercept"]:
        arguments["intercept"] = False
    if subject.kind == "mean" and summary["solver"] in _APPROXIMATE:
        arguments["solver"] = summary["solver"]
    if getattr(estimator, "tolerance", None):
        arguments["tolerance"] = estimator.tolerance
    if not settings["standardize"]:
        arguments["standardize"] = False
    if summary["precision"] != "float64":
        arguments["precision"] = summary["precision"]
    name = {"classes": "KernelClassifier", "quantiles": "KernelQuantileRegressor", "mean": "KernelRegressor"}[subject.kind]
    return name, {**arguments, **seed}
