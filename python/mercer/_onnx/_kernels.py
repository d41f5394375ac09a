"""Kernels as ONNX operators: values k(x, z) for rows x of the graph and anchors z that the file keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._graph import Graph

# Up to so many inputs squared distances come from differences; beyond, from inner products of centred rows.
DIRECT_INPUTS = 16
# e^-z is 0 beyond, and a polynomial in it no longer matters.
FAR = 700.0


class Differences:
    """x_k - z_k and what is made of it, each once. N × m values; `rows` is the name of x (N × d), `anchors` is z (m × d)."""

    def __init__(self, graph: Graph, rows: str, anchors: NDArray[np.float64]):
        self.graph = graph
        self.rows = rows
        self.anchors = anchors
        self._known: dict[Any, str] = {}

    @property
    def inputs(self) -> int:
        return int(self.anchors.shape[1])

    def difference(self, k: int) -> str:
        return self._once(("-", k), lambda: self.graph.op("Sub", self.graph.column(self.rows, k), self.anchors[:, k][None]))

    def square(self, k: int) -> str:
        return self._once(("²", k), lambda: self.graph.op("Mul", self.difference(k), self.difference(k)))

    def squared_distance(self, inverse_scale: NDArray[np.float64], exact_at_0: bool) -> str:
        """Σ_k (x_k - z_k)² inverse_scale_k². With `exact_at_0` also where it cancels: the root of it has a kink there."""
        key = ("s", exact_at_0, *inverse_scale.tolist())
        return self._once(key, lambda: self._squared_distance(inverse_scale, exact_at_0))

    def inner_products(self) -> str:
        return self._once("xz", lambda: self.graph.product(self.rows, self.anchors.T))

    def times(self, value: str, factor: float) -> str:
        """factor·value, by a row of equal numbers: onnxruntime makes one number a factor of the next matrix product, in single
        precision whatever the type."""
        return self.graph.op("Mul", value, np.full((1, len(self.anchors)), factor))

    def _squared_distance(self, inverse_scale: NDArray[np.float64], exact_at_0: bool) -> str:
        graph = self.graph
        if self.inputs > DIRECT_INPUTS and not exact_at_0:
            return self._by_products(inverse_scale)
        used = np.flatnonzero(inverse_scale)
        if len(used) == 0:
            return graph.op("Mul", self.difference(0), 0.0)
        if np.ptp(inverse_scale[used]) == 0:
            sum = graph.total([self.square(int(k)) for k in used])
            return graph.op("Mul", sum, float(inverse_scale[used[0]] ** 2))
        return graph.total([graph.op("Mul", self.square(int(k)), float(inverse_scale[k] ** 2)) for k in used])

    def _by_products(self, inverse_scale: NDArray[np.float64]) -> str:
        """‖u‖² + ‖v‖² - 2⟨u, v⟩ with u, v about the middle of the anchors, in units of the length scales."""
        graph = self.graph
        centre = self.anchors.mean(axis=0)
        anchors = (self.anchors - centre) * inverse_scale
        rows = graph.op("Mul", graph.op("Sub", self.rows, centre[None]), inverse_scale[None])
        norms = graph.op("ReduceSumSquare", rows, axes=[1], keepdims=1)
        products = graph.op("MatMul", rows, -2 * anchors.T)
        s = graph.op("Add", graph.op("Add", products, norms), (anchors**2).sum(axis=1)[None])
        return graph.op("Where", graph.op("Less", s, 0.0), 0.0, s)

    def _once(self, key: Any, make: Any) -> str:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]


def inverse_scales(kernel: dict[str, Any], inputs: int) -> NDArray[np.float64]:
    """1/ℓ for each input."""
    return np.broadcast_to(1 / np.asarray(kernel["length_scale"], dtype=float), (inputs,)).copy()


def kernel_values(kernel: dict[str, Any], at: Differences) -> str:
    """k(x, z), N × m."""
    return _forms[kernel["form"]](kernel, at)


def decay(graph: Graph, value: str, factor: float = 1.0) -> str:
    """exp(-factor·value)."""
    return graph.op("Exp", graph.op("Mul", value, -factor))


def matern_root(kernel: dict[str, Any], at: Differences) -> str:
    """z = √(2ν s), no more than FAR."""
    graph = at.graph
    nu = kernel["nu"]
    s = at.squared_distance(inverse_scales(kernel, at.inputs), exact_at_0=nu < 1)
    z = graph.op("Sqrt", graph.op("Mul", s, 2 * nu))
    return graph.op("Where", graph.op("Greater", z, FAR), FAR, z)


def matern_correlation(graph: Graph, order: float, z: str) -> str:
    """M_μ(z) = 2^{1-μ}/Γ(μ) z^μ K_μ(z) for half-integer μ: a polynomial in z times e^-z."""
    coefficients = matern_polynomial(order)
    result = decay(graph, z)
    if len(coefficients) == 1:
        return result
    sum = graph.op("Mul", z, coefficients[-1])
    for c in coefficients[-2:0:-1]:
        sum = graph.op("Mul", graph.op("Add", sum, c), z)
    return graph.op("Mul", graph.op("Add", sum, coefficients[0]), result)


def matern_polynomial(order: float) -> list[float]:
    """Coefficients of e^z M_μ(z), ascending, from M_{μ+1} = M_μ + z²/(4μ(μ-1)) M_{μ-1}."""
    if order != int(order) + 0.5:
        raise ValueError(
            f"matern with nu={order:g} cannot be written in ONNX, which has no Bessel functions; "
            "fit with map='fourier', or with nu of 0.5, 1.5, 2.5, ..."
        )
    before, current = np.array([1.0]), np.array([1.0, 1.0])
    if order == 0.5:
        return before.tolist()
    for mu in np.arange(1.5, order):
        step = np.concatenate([[0.0, 0.0], before / (4 * mu * (mu - 1))])
        before, current = current, np.pad(current, (0, len(step) - len(current))) + step
    return current.tolist()


def _gaussian(kernel: dict[str, Any], at: Differences) -> str:
    return decay(at.graph, at.squared_distance(inverse_scales(kernel, at.inputs), exact_at_0=False), 0.5)


def _matern(kernel: dict[str, Any], at: Differences) -> str:
    matern_polynomial(kernel["nu"])  # refuses before anything is written
    return matern_correlation(at.graph, kernel["nu"], matern_root(kernel, at))


def _rational_quadratic(kernel: dict[str, Any], at: Differences) -> str:
    graph = at.graph
    alpha = kernel["alpha"]
    s = at.squared_distance(inverse_scales(kernel, at.inputs), exact_at_0=False)
    base = graph.op("Add", graph.op("Mul", s, 1 / (2 * alpha)), 1.0)
    return graph.op("Reciprocal", base) if alpha == 1 else decay(graph, graph.op("Log", base), alpha)


def _laplacian(kernel: dict[str, Any], at: Differences) -> str:
    graph = at.graph
    scales = inverse_scales(kernel, at.inputs)
    terms = [graph.op("Mul", graph.op("Abs", at.difference(k)), float(scale)) for k, scale in enumerate(scales)]
    return decay(graph, graph.total(terms))


def _cauchy(kernel: dict[str, Any], at: Differences) -> str:
    graph = at.graph
    product = None
    for k, scale in enumerate(inverse_scales(kernel, at.inputs)):
        factor = graph.op("Add", graph.op("Mul", at.square(k), float(scale**2)), 1.0)
        product = factor if product is None else graph.op("Mul", product, factor)
    return graph.op("Reciprocal", product)


def _spectral_mixture(kernel: dict[str, Any], at: Differences) -> str:
    """Σ_q w_q cos(2π⟨μ_q, δ⟩) exp(-½ Σ (2πσ_qk δ_k)²); the cosine of the difference from those of x and of z."""
    graph = at.graph
    terms = []
    for weight, mean, scale in zip(kernel["weights"], kernel["means"], kernel["scales"], strict=True):
        turn = 2 * np.pi * np.asarray(mean)[:, None]
        phase = graph.product(at.rows, turn)
        wave = graph.op("Concat", graph.op("Cos", phase), graph.op("Sin", phase), axis=1)
        phases = at.anchors @ turn
        term = graph.op("MatMul", wave, weight * np.concatenate([np.cos(phases), np.sin(phases)], axis=1).T)
        if np.any(scale):
            s = at.squared_distance(2 * np.pi * np.asarray(scale), exact_at_0=False)
            term = graph.op("Mul", term, decay(graph, s, 0.5))
        terms.append(term)
    return graph.total(terms)


def _linear(kernel: dict[str, Any], at: Differences) -> str:
    return at.inner_products()


def _polynomial(kernel: dict[str, Any], at: Differences) -> str:
    """By squaring, as powers of negative numbers are not every runtime's strength."""
    graph = at.graph
    base = graph.op("Add", at.inner_products(), kernel["offset"])
    exponent, result = int(kernel["degree"]), None
    while exponent > 0:
        if exponent % 2:
            result = base if result is None else graph.op("Mul", result, base)
        exponent //= 2
        if exponent:
            base = graph.op("Mul", base, base)
    return result if result is not None else graph.op("Add", graph.op("Mul", base, 0.0), 1.0)


def _sum(kernel: dict[str, Any], at: Differences) -> str:
    return at.graph.total([kernel_values(term, at) for term in kernel["kernels"]])


def _product(kernel: dict[str, Any], at: Differences) -> str:
    values = [kernel_values(factor, at) for factor in kernel["kernels"]]
    result = values[0]
    for value in values[1:]:
        result = at.graph.op("Mul", result, value)
    return result


def _scaled(kernel: dict[str, Any], at: Differences) -> str:
    return at.times(kernel_values(kernel["kernels"][0], at), kernel["factor"])


_forms = {
    "gaussian": _gaussian,
    "matern": _matern,
    "rational_quadratic": _rational_quadratic,
    "laplacian": _laplacian,
    "cauchy": _cauchy,
    "spectral_mixture": _spectral_mixture,
    "linear": _linear,
    "polynomial": _polynomial,
    "sum": _sum,
    "product": _product,
    "scaled": _scaled,
}
