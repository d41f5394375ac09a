"""A fitted function as ONNX operators: f(x) = intercept + x·slopes + Σ over blocks of features, as the core gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ._fields import field_values
from ._graph import Graph
from ._kernels import Differences, kernel_values


def unscale(parts: dict[str, Any], scaling: dict[str, Any]) -> None:
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


def scaled_inputs(graph: Graph, model: _core.Model, outside: Any) -> str:
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


def function(graph: Graph, parts: dict[str, Any], z: str, features: list[tuple[str, NDArray[np.float64]]]) -> str:
    """f, N × p. Blocks of one span of outputs are added, spans stand side by side. Leaves the features of each block in
    `features`, with what they are to be multiplied by."""
    spans: dict[int, list[str]] = {}
    at: dict[bytes, Differences] = {}
    for block in parts["blocks"]:
        if block["kind"] == "fourier":
            features.append((_fourier(graph, block, z), _coefficients(block)))
            term = graph.op("MatMul", features[-1][0], features[-1][1] * block["weights"])
        else:
            place = at.setdefault(block["anchors"].tobytes(), Differences(graph, z, block["anchors"]))
            if block["kind"] == "field":
                term = field_values(block, place)
            else:
                features.append((kernel_values(block["kernel"], place), np.ones((len(block["anchors"]), 1))))
                term = graph.op("MatMul", features[-1][0], block["coefficients"])
        spans.setdefault(block["first"], []).append(term)
    sums = [graph.total(spans[first]) for first in sorted(spans)]
    f = sums[0] if len(sums) == 1 else graph.op("Concat", *sums, axis=1)
    if parts["slopes"].any():
        f = graph.op("Add", f, graph.product(z, parts["slopes"]))
    return graph.op("Add", f, parts["intercept"])


def _coefficients(block: dict[str, Any]) -> NDArray[np.float64]:
    """Of the monomials, one for each feature, as a column."""
    numbers = [coefficient for coefficient, _ in block["monomials"]]
    return np.repeat(numbers, len(block["weights"]) // len(numbers))[:, None]


def _fourier(graph: Graph, block: dict[str, Any], z: str) -> str:
    """Features e_r(x)[cos⟨ω, x⟩ | sin⟨ω, x⟩], r after r, the e_r without their coefficients."""
    exponents = np.array([list(powers) for _, powers in block["monomials"]])
    if block["frequencies"] is None:
        return _monomials(graph, exponents, z)
    phase = graph.product(z, block["frequencies"].T)
    waves = graph.op("Concat", graph.op("Cos", phase), graph.op("Sin", phase), axis=1)
    if not exponents.any():
        return waves
    last = graph.constant([2], np.int64)
    middle = graph.constant([1], np.int64)
    powers = graph.op("Unsqueeze", _monomials(graph, exponents, z), last)
    products = graph.op("Mul", powers, graph.op("Unsqueeze", waves, middle))
    return graph.op("Reshape", products, graph.constant([0, -1], np.int64))


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
