"""Exact vector fields as ONNX operators: curl-free and divergence-free kernels of radial ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._kernels import Differences, decay, inverse_scales, matern_correlation, matern_polynomial, matern_root


def field_values(block: dict[str, Any], at: Differences) -> str:
    """Σ_i K(x, z_i) c_i, N × d, where K = (1 - 2ρ) H - (1 - ρ) tr(H) I, ρ the share of curl-free and H = ∂²k/∂δ∂δᵀ. For
    k = g(s), s = Σ δ_a²/ℓ_a², and v_a = δ_a/ℓ_a²: H_ab = 4 g'' v_a v_b + 2 g' [a = b]/ℓ_a²."""
    parts = [_leaf_field(leaf, factor, block, at) for leaf, factor in _leaves(block["kernel"], 1.0)]
    return at.graph.total(parts)


def _leaf_field(kernel: dict[str, Any], factor: float, block: dict[str, Any], at: Differences) -> str:
    graph = at.graph
    share = block["share"]
    c = factor * block["coefficients"]
    inverse = inverse_scales(kernel, at.inputs) ** 2
    first, second = _derivatives(kernel, at)
    v = [graph.op("Mul", at.difference(a), float(inverse[a])) for a in range(at.inputs)]
    curvature = graph.op("Mul", second, 4.0)
    along = graph.total([graph.op("Mul", v[b], c[:, b][None]) for b in range(at.inputs)])
    along = graph.op("Mul", graph.op("Mul", along, curvature), 1 - 2 * share)
    columns = [graph.op("ReduceSum", graph.op("Mul", along, v[a]), _axis(at), keepdims=1) for a in range(at.inputs)]
    result = graph.op("Concat", *columns, axis=1)
    # 2g' of the diagonal of H, and of its trace
    slope = 2 * c * ((1 - 2 * share) * inverse - (1 - share) * inverse.sum())
    result = graph.op("Add", result, graph.op("MatMul", first, slope))
    if share == 1:
        return result
    length = graph.total([graph.op("Mul", u, u) for u in v])
    trace = graph.op("Mul", curvature, length)
    return graph.op("Add", result, graph.op("MatMul", trace, -(1 - share) * c))


def _axis(at: Differences) -> str:
    return at.graph.constant([1], np.int64)


def _leaves(kernel: dict[str, Any], factor: float) -> list[tuple[dict[str, Any], float]]:
    """The radial kernels of a sum, with the factors before them."""
    if kernel["form"] == "sum":
        return [leaf for term in kernel["kernels"] for leaf in _leaves(term, factor)]
    if kernel["form"] == "scaled":
        return _leaves(kernel["kernels"][0], factor * kernel["factor"])
    if kernel["form"] in ("gaussian", "rational_quadratic", "matern"):
        return [(kernel, factor)]
    raise ValueError(f"exact vector fields with the kernel {kernel['form']} have no ONNX form here; fit with map='fourier'")


def _derivatives(kernel: dict[str, Any], at: Differences) -> tuple[str, str]:
    """g' and g'' as N × m values. Where g''(0) is infinite, it stands for the product with v_a v_b, which is 0."""
    graph = at.graph
    if kernel["form"] == "matern":
        return _matern_derivatives(kernel, at)
    s = at.squared_distance(inverse_scales(kernel, at.inputs), exact_at_0=True)
    if kernel["form"] == "gaussian":
        g = decay(graph, s, 0.5)
        return at.times(g, -0.5), at.times(g, 0.25)
    alpha = kernel["alpha"]
    base = graph.op("Add", graph.op("Mul", s, 1 / (2 * alpha)), 1.0)
    first = at.times(decay(graph, graph.op("Log", base), alpha + 1), -0.5)
    second = decay(graph, graph.op("Log", base), alpha + 2)
    return first, at.times(second, (alpha + 1) / (4 * alpha))


def _matern_derivatives(kernel: dict[str, Any], at: Differences) -> tuple[str, str]:
    """dM_μ/ds = -ν M_{μ-1}/(2(μ - 1)) along z = √(2νs), and -ν e^-z/z for μ = ½."""
    graph = at.graph
    nu = kernel["nu"]
    matern_polynomial(nu)
    z = matern_root(kernel, at)
    slope = nu / (2 * (nu - 1))
    first = at.times(matern_correlation(graph, nu - 1, z), -slope)
    if nu > 2:
        return first, at.times(matern_correlation(graph, nu - 2, z), slope * nu / (2 * (nu - 2)))
    apart = graph.op("Where", graph.op("Equal", z, 0.0), 1.0, z)
    return first, at.times(graph.op("Div", decay(graph, z), apart), slope * nu)
