"""Kernels as small objects, with the text form of the command line.

>>> from mercer.kernels import CurlFree, Gaussian, Linear
>>> 0.5 * Gaussian(0.3) + Linear()
0.5 * Gaussian(length_scale=0.3) + Linear()
>>> str(CurlFree(Gaussian("median")))
'curl_free(gaussian(median))'

They add and multiply; parameters are visible to ``get_params`` and ``set_params``, so that a grid search finds
``kernel__length_scale``. Length scales are in units of the scaled inputs (standardised, unless the estimator is told otherwise).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core

__all__ = [
    "Cauchy",
    "CurlFree",
    "Decomposable",
    "DivergenceFree",
    "Gaussian",
    "Graph",
    "Helmholtz",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Polynomial",
    "Product",
    "QuantileCoupling",
    "RationalQuadratic",
    "Scaled",
    "SpectralMixture",
    "Sum",
    "parse",
]

LengthScale = float | str | Sequence[float]


def _number(value: float) -> str:
    return repr(float(value))


def _list(values: Any) -> str:
    values = np.asarray(values, dtype=float)
    if values.ndim == 0:
        return _number(float(values))
    return "[" + ", ".join(_list(v) for v in values) + "]"


def _scale(value: LengthScale) -> str:
    return value if isinstance(value, str) else _list(value)


class _Parametrised:
    """Parameters as scikit-learn wants them: what the constructor takes, stored under the same names."""

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep`` those of kernels inside too, as ``inside__name``."""
        params = {name: getattr(self, name) for name in self._names()}
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, _Parametrised):
                    params.update({f"{name}__{key}": inner for key, inner in value.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Any:
        """Sets parameters by name and returns the kernel."""
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in self._names():
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(self._names()) or 'none'}")
            if rest:
                getattr(self, name).set_params(**{rest: value})
            else:
                setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.get_params(deep=False).items())
        return f"{type(self).__name__}({inside})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash((type(self), str(self)))


class Kernel(_Parametrised):
    """A kernel. Add them, multiply them, scale them; ``str`` gives the text form."""

    def __add__(self, other: Kernel) -> Kernel:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # where sum() begins

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(other, self) if isinstance(other, (int, float, np.number)) else NotImplemented

    def __rmul__(self, factor: float) -> Kernel:
        return Scaled(factor, self) if isinstance(factor, (int, float, np.number)) else NotImplemented

    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None, *, outputs: int | None = None) -> NDArray[np.float64]:
        """The Gram matrix of rows as they are (nothing is scaled): (n·p) × (m·p).

        Parameters
        ----------
        X, Z : array of shape (n, d) and (m, d)
            Rows; ``Z`` is ``X`` when left out. The length scale ``"median"`` is that of ``X``.
        outputs : int, optional
            p; d for vector fields and 1 otherwise when left out.
        """
        left = np.ascontiguousarray(X, dtype=np.float64)
        right = left if Z is None else np.ascontiguousarray(Z, dtype=np.float64)
        text = str(self)
        if outputs is None:
            outputs = left.shape[1] if _core.is_vector_field(text) else 1
        return np.asarray(_core.kernel_matrix(text, left, right, outputs))


class _Radial(Kernel):
    _text: str

    def __init__(self, length_scale: LengthScale = "median"):
        self.length_scale = length_scale

    def __str__(self) -> str:
        return f"{self._text}({_scale(self.length_scale)})"


class Gaussian(_Radial):
    """exp(-½ Σ δ_i²/ℓ_i²).

    Parameters
    ----------
    length_scale : float, list of float or "median"
        One for all inputs, one per input, or the median distance between training rows.
    """

    _text = "gaussian"


class Laplacian(_Radial):
    """exp(-Σ abs(δ_i)/ℓ_i); parameters as of :class:`Gaussian`."""

    _text = "laplacian"


class Cauchy(_Radial):
    """Π 1/(1 + δ_i²/ℓ_i²); parameters as of :class:`Gaussian`."""

    _text = "cauchy"


class Matern(Kernel):
    """Matérn kernel of smoothness ``nu``; ``length_scale`` as of :class:`Gaussian`."""

    def __init__(self, length_scale: LengthScale = "median", nu: float = 1.5):
        self.length_scale = length_scale
        self.nu = nu

    def __str__(self) -> str:
        return f"matern({_scale(self.length_scale)}, nu={_number(self.nu)})"


class RationalQuadratic(Kernel):
    """(1 + r²/2α)^-α; ``length_scale`` as of :class:`Gaussian`."""

    def __init__(self, length_scale: LengthScale = "median", alpha: float = 1.0):
        self.length_scale = length_scale
        self.alpha = alpha

    def __str__(self) -> str:
        return f"rational_quadratic({_scale(self.length_scale)}, alpha={_number(self.alpha)})"


class SpectralMixture(Kernel):
    """Σ w_q cos(2π⟨μ_q, δ⟩) Π exp(-2π² δ_i² σ_qi²).

    Parameters
    ----------
    weights : list of Q floats
    means, scales : lists of Q frequencies and of their spreads
        Numbers for one input, lists of d numbers for several; in cycles per unit of input.
    """

    def __init__(self, weights: Sequence[float], means: ArrayLike, scales: ArrayLike):
        self.weights = weights
        self.means = means
        self.scales = scales

    def __str__(self) -> str:
        return f"spectral_mixture(weights={_list(self.weights)}, means={_list(self.means)}, scales={_list(self.scales)})"


class Linear(Kernel):
    """⟨x, z⟩."""

    def __init__(self) -> None:
        pass

    def __str__(self) -> str:
        return "linear()"


class Polynomial(Kernel):
    """(⟨x, z⟩ + offset)^degree."""

    def __init__(self, degree: int = 2, offset: float = 1.0):
        self.degree = degree
        self.offset = offset

    def __str__(self) -> str:
        return f"polynomial(degree={int(self.degree)}, offset={_number(self.offset)})"


class Sum(Kernel):
    """left + right."""

    def __init__(self, left: Kernel, right: Kernel):
        self.left = left
        self.right = right

    def __str__(self) -> str:
        return f"{self.left} + {self.right}"

    def __repr__(self) -> str:
        return f"{self.left!r} + {self.right!r}"


def _factor(kernel: Kernel, show: Any) -> str:
    """Sums in parentheses, where they are multiplied."""
    return f"({show(kernel)})" if isinstance(kernel, (Sum, Scaled)) else show(kernel)


class Product(Kernel):
    """left * right."""

    def __init__(self, left: Kernel, right: Kernel):
        self.left = left
        self.right = right

    def __str__(self) -> str:
        return f"{_factor(self.left, str)}*{_factor(self.right, str)}"

    def __repr__(self) -> str:
        return f"{_factor(self.left, repr)} * {_factor(self.right, repr)}"


class Scaled(Kernel):
    """factor * kernel, factor > 0."""

    def __init__(self, factor: float, kernel: Kernel):
        self.factor = factor
        self.kernel = kernel

    def __str__(self) -> str:
        return f"{_number(self.factor)}*{_factor(self.kernel, str)}"

    def __repr__(self) -> str:
        inside = f"({self.kernel!r})" if isinstance(self.kernel, Product) else _factor(self.kernel, repr)
        return f"{self.factor!r} * {inside}"  # Python reads a * b * c as (a * b) * c


class Graph(_Parametrised):
    """Outputs alike as a graph says: the edge list ``file`` has lines ``from,to[,weight]``; see :class:`Decomposable`."""

    def __init__(self, file: str, mix: float = 1.0):
        self.file = file
        self.mix = mix

    def __str__(self) -> str:
        quoted = str(self.file).replace("\\", "\\\\").replace('"', '\\"')
        return f'graph("{quoted}", {_number(self.mix)})'


class QuantileCoupling(_Parametrised):
    """A_ij = exp(-gamma (τ_i - τ_j)²), which ties the levels of joint quantiles; see :class:`Decomposable`."""

    def __init__(self, levels: Sequence[float], gamma: float = 1.0):
        self.levels = levels
        self.gamma = gamma

    def __str__(self) -> str:
        return f"quantile({_list(self.levels)}, gamma={_number(self.gamma)})"


class Decomposable(Kernel):
    """k(x, z)·A: outputs are alike as the matrix A says.

    Parameters
    ----------
    kernel : Kernel
    outputs : "identity", "covariance", matrix, Graph or QuantileCoupling
        A; ``"covariance"`` is that of the training targets.
    """

    def __init__(self, kernel: Kernel, outputs: Any = "identity"):
        self.kernel = kernel
        self.outputs = outputs

    def __str__(self) -> str:
        given = isinstance(self.outputs, (str, _Parametrised))
        return f"decomposable({self.kernel}, {self.outputs if given else _list(self.outputs)})"


class CurlFree(Kernel):
    """Fields that are the gradient of something: as many outputs as inputs, no curl."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def __str__(self) -> str:
        return f"curl_free({self.kernel})"


class DivergenceFree(Kernel):
    """Fields in which nothing is created or lost: as many outputs as inputs, no divergence."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def __str__(self) -> str:
        return f"divergence_free({self.kernel})"


class Helmholtz(Kernel):
    """share·curl_free(k) + (1 - share)·divergence_free(k)."""

    def __init__(self, kernel: Kernel, share: float = 0.5):
        self.kernel = kernel
        self.share = share

    def __str__(self) -> str:
        return f"helmholtz({self.kernel}, {_number(self.share)})"


def parse(text: str) -> Kernel:
    """A kernel from its text form; ValueError with place and reason when it cannot be read.

    >>> parse("0.5*gaussian(1)+linear()")
    0.5 * Gaussian(length_scale=1) + Linear()
    """
    from ._kernel_text import build

    return build(_core.canonical_kernel(text))


def text_of(kernel: Kernel | str) -> str:
    """The text form of what a user may give as a kernel."""
    if not isinstance(kernel, (Kernel, str)):
        raise ValueError(f"kernel must be one of mercer.kernels or a text such as 'gaussian(median)', got {kernel!r}")
    return _core.canonical_kernel(str(kernel))
