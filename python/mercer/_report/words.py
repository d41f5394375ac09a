"""The model in words: what each part of it means to somebody who did not fit it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .html import Markup, code, element, facts, join, table
from .numbers import brief, counted, percent, period, rounded
from .subject import Subject

_KERNELS = {
    "gaussian": "Gaussian: smooth functions that vary over the length scale",
    "laplacian": "Laplacian: rough functions, continuous but not smooth",
    "matern": "Matérn: functions as smooth as nu says",
    "cauchy": "Cauchy: smooth functions with long-range likeness",
    "rational_quadratic": "rational quadratic: a mixture of Gaussians of many length scales",
    "spectral_mixture": "spectral mixture: periods and trends learned from the data",
    "linear": "linear: straight lines",
    "polynomial": "polynomial: monomials up to the degree",
    "curl_free": "curl-free: the field is the gradient of a potential, nothing rotates",
    "divergence_free": "divergence-free: nothing is created or lost",
    "helmholtz": "Helmholtz: a curl-free and a divergence-free part, in the given share",
    "decomposable": "decomposable: one scalar kernel, and a matrix that says how alike the outputs are",
}

_LOSSES = {
    "square": "square: the mean",
    "huber": "Huber: the mean, with little weight on outliers",
    "epsilon": "ε-insensitive: errors below ε cost nothing",
    "epsilon2": "squared ε-insensitive: errors below ε cost nothing",
    "pinball": "pinball: quantiles",
    "expectile": "expectile: asymmetric means",
    "logistic": "logistic: probabilities, one class against the rest",
    "multinomial": "multinomial: probabilities of all classes together",
    "hinge": "hinge: a support vector machine",
    "squared_hinge": "squared hinge: a support vector machine",
}

_SKETCHES = {
    "nystrom": "Nyström",
    "p-sr": "p-sparsified Rademacher",
    "p-sg": "p-sparsified Gaussian",
    "accumulation": "accumulation",
    "gaussian-sketch": "Gaussian",
    "countsketch": "count",
    "srht": "subsampled Hadamard",
}

_KINDS = {
    "classes": "A classifier",
    "quantiles": "Kernel regression",
    "process": "A Gaussian process",
    "mean": "Kernel regression",
}

_LIGHT = 1e-4  # share of the variance below which a component is not worth a line
_LONGEST_KERNEL = 300  # characters of a kernel worth reading


def _names(names: list[str], most: int = 8, room: int = 90) -> str:
    """The first of them, so many or so many letters, and how many others."""
    ends = np.cumsum([len(name) + 2 for name in names])
    shown = max(1, min(most, int(np.searchsorted(ends, room))))
    more = f" and {counted(len(names) - shown, 'other')}" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more


def sentence(subject: Subject) -> str:
    """What the model is, in one sentence."""
    what = _KINDS[subject.kind]
    if subject.is_field:
        what = f"{what} of a vector field"
    source = f"of {_names(subject.inputs)}"
    if subject.classes:
        classes = f"one of {len(subject.classes)} classes ({_names(subject.classes)})"
        return f"{what}: {_names(subject.targets)} as {classes}, a function {source}."
    if len(subject.levels):
        levels = ", ".join(brief(level) for level in subject.levels)
        noun = "expectile" if subject.loss == "expectile" else "quantile"
        return f"{what}: the {levels} {noun}{'s' * (len(subject.levels) > 1)} of {subject.targets[0]}, functions {source}."
    return f"{what}: {_names(subject.targets)}, a function {source}."


def _kernel(subject: Subject) -> Markup:
    text = rounded(str(subject.summary["kernel"]))
    shown = text if len(text) <= _LONGEST_KERNEL else text[:_LONGEST_KERNEL] + " …"
    said = [words for name, words in _KERNELS.items() if re.search(rf"\b{name}\(", text)]
    units = "standard deviations of the inputs" if subject.settings["standardize"] else "the units of the inputs"
    return join([code(shown), Markup("<br>"), "; ".join(said) + f". Length scales are in {units}."])


def _map(subject: Subject) -> str:
    summary = subject.summary
    name, _, size = str(summary["map"]).partition(":")
    size = size.partition(",")[0]
    if name == "exact":
        return f"none: the exact kernel on {counted(summary['features'], 'training row')}"
    if name == "fourier":
        drawn = {"mc": "independent", "monte_carlo": "independent", "quasi": "quasi-random", "qmc": "quasi-random"}
        how = drawn.get(summary["sampling"], summary["sampling"])
        made = counted(summary["features"], "feature")
        return f"{size} random Fourier frequencies ({how}), {made}, seed {subject.settings['seed']}"
    if summary["process"] == "vfe":
        return f"{counted(summary['features'], 'inducing input')}"
    return (
        f"{_SKETCHES.get(name, name)} sketch of size {size}: {counted(summary['features'], 'feature')} "
        f"from {counted(summary['anchors'], 'training row')}, seed {subject.settings['seed']}"
    )


def _penalty(subject: Subject) -> str:
    summary = subject.summary
    value = brief(summary["penalty"], 3)
    path = summary["penalty_path"]
    freedom = summary["degrees_of_freedom"]
    effective = f" It leaves {brief(freedom, 3)} effective degrees of freedom." if freedom > 0 else ""
    if not path:
        return f"λ = {value}, given.{effective}"
    tried = f"of {len(path)} values between {brief(path[0][0], 2)} and {brief(path[-1][0], 2)}"
    if summary["leave_one_out_rmse"] is not None:
        how = "the least leave-one-out error"
    elif summary["objective"] is not None:
        how = "the least loss on rows held out"
    else:
        how = "the least generalised cross-validation error"
    return f"λ = {value}, chosen by {how} {tried}.{effective}"


def _loss(subject: Subject) -> Markup:
    text = str(subject.summary["loss"])
    said = [code(text), " – ", _LOSSES.get(subject.loss, "")]
    if subject.settings["non_crossing"]:
        said.append("; quantiles are in order at every training row")
    gap = subject.summary["gap"]
    if gap is not None:
        said.append(f"; solved to a certified relative duality gap of {brief(gap, 2)}")
    return join(said)


def _process(subject: Subject) -> str:
    names = {
        "spectral_mixture": "a spectral mixture learned by random spectral points",
        "exact": "kernel parameters learned by the exact marginal likelihood",
        "vfe": "kernel parameters learned by a variational bound with inducing inputs",
    }
    summary = subject.summary
    return (
        f"{names[summary['process']]}, {counted(summary['iterations'], 'step')} of {summary['solver']}; "
        f"negative log marginal likelihood {brief(summary['nlml'])} in scaled units; mean function: {subject.settings['mean']}"
    )


def _noise(subject: Subject) -> str:
    deviations = np.sqrt(np.asarray(subject.core.noise)) * subject.target_scale
    pairs = [f"{name} {brief(value)}" for name, value in zip(subject.targets, deviations, strict=True)]
    return f"standard deviation of the noise: {_names(pairs)}" if len(pairs) > 1 else f"standard deviation {brief(deviations[0])}"


def model_facts(subject: Subject) -> Markup:
    """Kernel, map, loss, penalty and the rest, a line each."""
    summary = subject.summary
    pairs: list[tuple[object, object]] = []
    if summary["process"] != "spectral_mixture":
        pairs.append(("Kernel", _kernel(subject)))
    if summary["process"]:
        pairs.append(("Learned as", _process(subject)))
    pairs.append(("Features", _map(subject)))
    if not summary["process"]:
        pairs += [("Loss", _loss(subject)), ("Penalty", _penalty(subject))]
    if subject.kind in ("mean", "process") and summary["loss"] == "square" and subject.core.noise:
        pairs.append(("Noise", _noise(subject)))
    if summary["interval_level"] is not None:
        rows = counted(summary["calibration_rows"], "row")
        promise = f"hold a new row with a probability of at least {percent(summary['interval_level'])}"
        pairs.append(("Intervals", f"{promise}, calibrated on {rows} that the fit did not see"))
    solver = f"{counted(summary['n'], 'row')} by {summary['solver']} in {summary['precision']}, status {summary['status']}"
    pairs.append(("Fitted on", solver))
    return facts(pairs)


def notes(remarks: list[Any]) -> Markup:
    """What should be known, as a list; nothing when there is nothing."""
    if not remarks:
        return Markup()
    return element("ul", *(element("li", _capital(remark)) for remark in remarks), class_="notes")


def _capital(remark: Any) -> Any:
    return remark if isinstance(remark, Markup) else remark[:1].upper() + remark[1:]


def spectrum_table(subject: Subject, output: int, most: int = 8) -> Markup:
    """The heaviest components of a learned spectrum of a series."""
    components = subject.core.spectrum(output)
    total = sum(c["weight"] for c in components)
    heavy = [c for c in components if c["weight"] > _LIGHT * total][:most]
    rows = []
    for c in heavy:
        frequency, spread = float(np.ravel(c["frequency"])[0]), float(np.ravel(c["spread"])[0])
        length = period(1 / frequency, subject.dates[0]) if frequency > spread else "trend"
        rows.append([length, f"{brief(c['weight'])} ± {brief(c['weight_error'], 2)}", percent(c["weight"] / total)])
    rest = len(components) - len(heavy)
    lighter = f"; {counted(rest, 'lighter component')} not shown" if rest else ""
    caption = f"Learned spectrum of {subject.targets[output]}, heaviest first{lighter}"
    return table(["Period", "Variance", "Share"], rows, caption)
