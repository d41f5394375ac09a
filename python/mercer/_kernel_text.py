"""Kernels from their canonical text, which is an expression of Python's: calls, numbers, lists, sums and products."""

from __future__ import annotations

import ast
from functools import reduce
from typing import Any

from . import kernels

_FORMS: dict[str, Any] = {
    "gaussian": kernels.Gaussian,
    "laplacian": kernels.Laplacian,
    "cauchy": kernels.Cauchy,
    "matern": kernels.Matern,
    "rational_quadratic": kernels.RationalQuadratic,
    "spectral_mixture": kernels.SpectralMixture,
    "linear": kernels.Linear,
    "polynomial": kernels.Polynomial,
    "decomposable": kernels.Decomposable,
    "curl_free": kernels.CurlFree,
    "divergence_free": kernels.DivergenceFree,
    "helmholtz": kernels.Helmholtz,
    "graph": kernels.Graph,
    "quantile": kernels.QuantileCoupling,
}


def _factors(node: ast.expr) -> list[Any]:
    """a*b*c, which Python reads as (a*b)*c, as [a, b, c]."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*_factors(node.left), _value(node.right)]
    return [_value(node)]


def _value(node: ast.expr) -> Any:
    """Kernel, number, list, or word such as median."""
    match node:
        case ast.BinOp(op=ast.Add()):
            return _value(node.left) + _value(node.right)
        case ast.BinOp(op=ast.Mult()):
            first, *rest = _factors(node)
            return first * reduce(lambda a, b: a * b, rest)
        case ast.Call(func=ast.Name(id=form)):
            keywords = {str(keyword.arg): _value(keyword.value) for keyword in node.keywords}
            return _FORMS[form](*map(_value, node.args), **keywords)
        case ast.Name(id=word):
            return word
    return ast.literal_eval(node)


def build(canonical: str) -> kernels.Kernel:
    """The kernel of a text that the core wrote."""
    kernel = _value(ast.parse(canonical, mode="eval").body)
    assert isinstance(kernel, kernels.Kernel)
    return kernel
