"""Fitted estimators as ONNX graphs, which runtimes without Mercer evaluate."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ._fields import field_values
from ._graph import Graph, import_onnx
from ._kernels import Differences, kernel_values

# Rounding of single precision arithmetic that is let pass, as a share of the scale of the targets.
TOLERANCE = 3e-6
# Standardised inputs are thought to lie within so many standard deviations.
REACH = 3.0


def convert(estimator: Any, path: Any, dtype: str, arithmetic: str, intervals: bool) -> Any:
    """What `to_onnx` of the estimators does."""
    onnx = import_onnx()
    outside = _real_type("dtype", dtype, ("float32", "float64"))
    _real_type("arithmetic", arithmetic, ("auto", "float32", "float64"))
    model: _core.Model = estimator.model_
    parts = _core.model_parts(model)
    if arithmetic == "auto":
        arithmetic = "float32" if outside == np.float32 and rounding(model, parts) < TOLERANCE else "float64"
    if parts["coding"] is None:
        _unscale(parts, model.scaling())
    graph = Graph(arithmetic)
    z = _scaled_inputs(graph, model, outside)
    f = _function(graph, parts, z)
    if parts["coding"] is not None:
        _class_outputs(graph, estimator, parts["coding"], f, outside)
    else:
        _number_outputs(graph, estimator, model, parts, f, outside, intervals)
    made = graph.model(type(estimator).__name__, _core.version(), _metadata(model, arithmetic))
    if path is not None:
        onnx.save(made, str(path))
    return made


def _real_type(name: str, value: str, allowed: tuple[str, ...]) -> Any:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    return np.dtype("float64" if value == "auto" else value)


def rounding(model: _core.Model, parts: dict[str, Any]) -> float:
    """About how far single precision takes the scaled function off: unit roundoff times Σ abs(weight), each with the sensitivity
    of its feature to rounded inputs. Infinite where nothing is known of the inputs' range, and for kernel values at anchors,
    whose coefficients are as large as they cancel. Between 0.4 and 30 times the largest error seen over 1000 rows."""
    scaling = model.scaling()
    standardised = np.any(scaling["input_shift"] != 0) or np.any(scaling["input_scale"] != 1)
    if not standardised or any(block["kind"] != "fourier" for block in parts["blocks"]):
        return np.inf
    total = 0.0
    for block in parts["blocks"]:
        sensitivity = np.ones(1)
        if block["frequencies"] is not None:
            sensitivity = np.tile(2 + REACH * np.linalg.norm(block["frequencies"], axis=1), 2)
        sizes = [coefficient * REACH ** sum(exponents) for coefficient, exponents in block["monomials"]]
        total += float((np.outer(sizes, sensitivity).reshape(-1, 1) * np.abs(block["weights"])).sum(axis=0).max())
    return float(np.finfo(np.float32).eps / 2 * total)


def _unscale(parts: dict[str, Any], scaling: dict[str, Any]) -> None:
    """Makes weights, coefficients, slopes and intercept those of the targets in the user's units. Quantiles share one scale, and
    so do the components of vector fields, which mix them."""
    outputs = parts["intercept"].shape[1]
    scale = np.broadcast_to(scaling["target_scale"], (outputs,))
    for block in parts["blocks"]:
        numbers = block["weights" if block["kind"] == "fourier" else "coefficients"]
        numbers *= scale[block["first"] : block["first"] + numbers.shape[1]]
    parts["slopes"] *= scale
    parts["intercept"] *= scale
    parts["intercept"] += scaling["target_shift"]


def _scaled_inputs(graph: Graph, model: _core.Model, outside: Any) -> str:
    """(x - shift)/scale. In single precision the shift is taken off in two parts, so that inputs far from 0 keep their digits:
    the first difference is exact for x near the shift."""
    scaling = model.scaling()
    shift = scaling["input_shift"][None]
    x = graph.input("X", outside, model.inputs)
    if graph.real != outside:
        x = graph.cast(x, graph.real)
    z = graph.op("Sub", x, shift)
    rest = shift - shift.astype(graph.real)
    if rest.any():
        z = graph.op("Sub", z, rest)
    return graph.op("Div", z, scaling["input_scale"][None])


def _function(graph: Graph, parts: dict[str, Any], z: str) -> str:
    """f, N × p. Blocks of one span of outputs are added, spans stand side by side."""
    spans: dict[int, list[str]] = {}
    at: dict[bytes, Differences] = {}
    for block in parts["blocks"]:
        if block["kind"] == "fourier":
            term = graph.op("MatMul", *_fourier(graph, block, z))
        else:
            place = at.setdefault(block["anchors"].tobytes(), Differences(graph, z, block["anchors"]))
            if block["kind"] == "field":
                term = field_values(block, place)
            else:
                term = graph.op("MatMul", kernel_values(block["kernel"], place), block["coefficients"])
        spans.setdefault(block["first"], []).append(term)
    sums = [graph.total(spans[first]) for first in sorted(spans)]
    f = sums[0] if len(sums) == 1 else graph.op("Concat", *sums, axis=1)
    if parts["slopes"].any():
        f = graph.op("Add", f, graph.product(z, parts["slopes"]))
    return graph.op("Add", f, parts["intercept"])


def _fourier(graph: Graph, block: dict[str, Any], z: str) -> tuple[str, NDArray[np.float64]]:
    """Features e_r(x)[cos⟨ω, x⟩ | sin⟨ω, x⟩], r after r, and their weights, which hold the coefficients of the e_r."""
    coefficients = np.array([coefficient for coefficient, _ in block["monomials"]])
    exponents = np.array([list(powers) for _, powers in block["monomials"]])
    weights = block["weights"] * np.repeat(coefficients, len(block["weights"]) // len(coefficients))[:, None]
    if block["frequencies"] is None:
        return _monomials(graph, exponents, z), weights
    phase = graph.product(z, block["frequencies"].T)
    waves = graph.op("Concat", graph.op("Cos", phase), graph.op("Sin", phase), axis=1)
    if not exponents.any():
        return waves, weights
    last = graph.constant([2], np.int64)
    middle = graph.constant([1], np.int64)
    powers = graph.op("Unsqueeze", _monomials(graph, exponents, z), last)
    products = graph.op("Mul", powers, graph.op("Unsqueeze", waves, middle))
    return graph.op("Reshape", products, graph.constant([0, -1], np.int64)), weights


def _monomials(graph: Graph, exponents: NDArray[np.int64], z: str) -> str:
    """Π_k x_k^e_rk, N × r: products of columns of [x | 1], as many as the highest degree."""
    inputs = exponents.shape[1]
    degree = max(1, int(exponents.sum(axis=1).max()))
    chosen = np.full((len(exponents), degree), inputs)
    for row, powers in zip(chosen, exponents, strict=True):
        columns = np.repeat(np.arange(inputs), powers)
        row[: len(columns)] = columns
    one = graph.op("Add", graph.op("Mul", graph.column(z, 0), 0.0), 1.0)
    padded = graph.op("Concat", z, one, axis=1)
    result = graph.columns(padded, chosen[:, 0])
    for t in range(1, degree):
        result = graph.op("Mul", result, graph.columns(padded, chosen[:, t]))
    return result


def _class_outputs(graph: Graph, estimator: Any, coding: dict[str, Any], f: str, outside: Any) -> None:
    """`probabilities` or `scores`, N × classes, and `label`."""
    kind = coding["scores"]
    classes, columns = coding["codes"].shape
    if kind == "products":
        scores = graph.op("MatMul", f, coding["codes"].T)
    elif columns == 1:
        scores = graph.op("Concat", graph.op("Neg", f), f, axis=1)
    else:
        scores = f
    if kind == "logistic":
        scores = graph.op("Sigmoid", scores)
        if columns > 1:
            scores = graph.op("Div", scores, graph.op("ReduceSum", scores, graph.constant([1], np.int64), keepdims=1))
    elif kind == "softmax":
        scores = graph.op("Softmax", scores, axis=1)
    labels = np.asarray(estimator.classes_)
    if labels.dtype.kind in "OU":
        labels = np.array([str(label) for label in labels.tolist()], dtype=object)
    elif labels.dtype.kind in "iu":
        labels = labels.astype(np.int64)
    best = graph.op("ArgMax", scores, axis=1, keepdims=0)
    label = graph.op("Gather", graph.constant(labels, labels.dtype), best, axis=0)
    graph.output("label", label, labels.dtype, ["N"])
    name = "probabilities" if kind in ("logistic", "softmax") else "scores"
    graph.output(name, _outward(graph, scores, outside), outside, ["N", classes])


def _number_outputs(
    graph: Graph, estimator: Any, model: _core.Model, parts: dict[str, Any], prediction: str, outside: Any, intervals: bool
) -> None:
    """`prediction`, shaped as what the estimator predicts; `lower` and `upper` where there are intervals."""
    outputs = parts["intercept"].shape[1]
    levels = len(model.levels)
    flat = outputs == 1 if levels else estimator._targets_flat

    def put(name: str, value: str, columns: int, flat: bool) -> None:
        value = graph.op("Squeeze", value, graph.constant([1], np.int64)) if flat else value
        graph.output(name, _outward(graph, value, outside), outside, ["N"] if flat else ["N", columns])

    put("prediction", prediction, outputs, flat)
    if not intervals:
        return
    calibration = parts["calibration"]
    if calibration is None:
        raise ValueError("this model has no intervals; they come with ConformalRegressor")
    offset: Any = np.asarray(calibration["offsets"])[None]
    low = high = prediction
    if levels:
        low, high = graph.column(prediction, 0), graph.column(prediction, outputs - 1)
    targets = 1 if levels else outputs
    put("lower", graph.op("Sub", low, offset), targets, bool(levels) or flat)
    put("upper", graph.op("Add", high, offset), targets, bool(levels) or flat)


def _outward(graph: Graph, value: str, outside: Any) -> str:
    return value if graph.real == outside else graph.cast(value, outside)


def _metadata(model: _core.Model, arithmetic: str) -> dict[str, str]:
    """What a reader of the file may want to know; lists as JSON."""
    summary = json.loads(model.summary_json())
    columns = model.columns()
    texts = {
        "mercer": _core.version(),
        "kernel": summary["kernel"],
        "map": summary["map"],
        "loss": summary["loss"],
        "process": summary["process"],
        "inputs": json.dumps(columns["inputs"]),
        "outputs": json.dumps(columns["outputs"]),
        "quantiles": json.dumps(model.levels) if model.levels else "",
        "dates": "days since 1970-01-01" if columns["dates"] else "",
        "arithmetic": arithmetic,
    }
    return {key: text for key, text in texts.items() if text}
