"""What comes out of a graph: numbers with their intervals, or classes with their scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ._graph import Graph


def class_outputs(graph: Graph, estimator: Any, coding: dict[str, Any], f: str, outside: Any) -> None:
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


class Numbers:
    """Outputs that are numbers, as vectors where predictions are."""

    def __init__(self, graph: Graph, outside: Any, flat: bool):
        self.graph = graph
        self.outside = outside
        self.flat = flat

    def __call__(self, name: str, value: str, columns: int, flat: bool = False) -> None:
        flat = flat or self.flat
        value = self.graph.op("Squeeze", value, self.graph.constant([1], np.int64)) if flat else value
        shape = ["N"] if flat else ["N", columns]
        self.graph.output(name, _outward(self.graph, value, self.outside), self.outside, shape)


def needed_spread(model: _core.Model, parts: dict[str, Any]) -> dict[str, Any] | None:
    """What intervals need besides the function: nothing where their width is constant."""
    if parts["calibration"] is None:
        raise ValueError("this model has no intervals; they come with ConformalRegressor")
    if not parts["calibration"]["relative"]:
        return None
    spread: Any = _core.model_spread(model)
    if spread is None:
        raise ValueError("intervals of this kind of model are not written; give intervals=False for its predictions alone")
    return spread


def deviations(
    graph: Graph, model: _core.Model, spread: dict[str, Any] | None, features: list[tuple[str, NDArray[np.float64]]]
) -> str | None:
    """√(σ²(1 + v + Σ_k shares_k (F·root - centre)_k²)) of each target, in its unit."""
    if spread is None:
        return None
    terms, first = [], 0
    root = spread["root"]
    for name, coefficients in features:
        terms.append(graph.op("MatMul", name, coefficients * root[first : first + len(coefficients)]))
        first += len(coefficients)
    whitened = graph.op("Sub", graph.total(terms), spread["centre"])
    unit = np.asarray(spread["noise"]) * model.scaling()["target_scale"] ** 2
    variance = graph.op("MatMul", graph.op("Mul", whitened, whitened), spread["shares"] * unit)
    return graph.op("Sqrt", graph.op("Add", variance, (1 + spread["intercept_variance"]) * unit[None]))


def interval_outputs(
    graph: Graph, model: _core.Model, parts: dict[str, Any], prediction: str, deviation: str | None, put: Numbers
) -> None:
    """`lower` and `upper`: of quantiles about the lowest and the highest, one for each target."""
    offset: Any = np.asarray(parts["calibration"]["offsets"])[None]
    if deviation is not None:
        offset = graph.op("Mul", deviation, offset)
    outputs = parts["intercept"].shape[1]
    low = high = prediction
    if model.levels:
        low, high = graph.column(prediction, 0), graph.column(prediction, outputs - 1)
    put("lower", graph.op("Sub", low, offset), outputs, flat=bool(model.levels))
    put("upper", graph.op("Add", high, offset), outputs, flat=bool(model.levels))


def _outward(graph: Graph, value: str, outside: Any) -> str:
    return value if graph.real == outside else graph.cast(value, outside)
