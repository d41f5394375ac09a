"""Feature maps alone, as transformers for pipelines and as linear operators."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._base import CoreEstimator, Floats, as_columns, flag, map_text, seed_of, whole
from .kernels import Kernel, text_of


class _Features(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CoreEstimator):
    """φ(x) with φ(x)·φ(z) ≈ k(x, z)."""

    standardize: bool

    @abstractmethod
    def _map(self) -> str:
        """The map as the command line writes it."""

    def _options(self) -> dict[str, Any]:
        return {
            "kernel": text_of(self.kernel),
            "map": self._map(),
            "standardize": flag("standardize", self.standardize),
            "seed": seed_of(self.random_state),
        }

    def fit(self, X: ArrayLike, y: Any = None) -> Any:
        """Draws the map for rows like X (n × d)."""
        rows = self._checked(X)
        self._take(self._run(_core.draw_features, rows, np.zeros((len(rows), 1)), None, self._named_options()))
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.summary_["features"])

    def transform(self, X: ArrayLike) -> Floats:
        """The features of each row, n × columns."""
        return self._ask(X, lambda rows: self.model_.features(rows))


class RandomFourierFeatures(_Features):
    """Random Fourier features of a kernel: cosines and sines of random frequencies.

    Parameters
    ----------
    features : int
        Frequencies; each gives a cosine and a sine.
    kernel : Kernel or str
    sampling : str
        "auto", "mc", "orthogonal" or "qmc" frequencies.
    standardize : bool
        Scale inputs first. Off, since pipelines have scalers.
    random_state : int, RandomState or None
    verbose : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mercer import RandomFourierFeatures
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), RandomFourierFeatures(100), LogisticRegression())
    >>> bool(pipeline.fit(X, y).score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        features: int = 1000,
        kernel: Kernel | str = "gaussian(median)",
        *,
        sampling: str = "auto",
        standardize: bool = False,
        random_state: Any = 0,
        verbose: int = 0,
    ):
        self.features = features
        self.kernel = kernel
        self.sampling = sampling
        self.standardize = standardize
        self.random_state = random_state
        self.verbose = verbose

    def _map(self) -> str:
        whole("features", self.features)
        return f"fourier:{self.features}" + ("" if self.sampling == "auto" else f",{self.sampling}")


class SketchedFeatures(_Features):
    """Features of a sketched Gram matrix: Nyström, p-sparsified and the other sketches of the command line.

    Parameters
    ----------
    features : int
        Size of the sketch; there are as many features, or fewer where the kernel has not that many directions.
    kernel : Kernel or str
        Any scalar kernel.
    sketch : str
        "p-sr", "p-sg", "nystrom", "accumulation", "countsketch", "gaussian-sketch", "srht", with settings after a comma:
        "nystrom,leverage", "p-sr,p=0.01".
    standardize : bool
        Scale inputs first. Off, since pipelines have scalers.
    random_state : int, RandomState or None
    verbose : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SketchedFeatures
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> phi = SketchedFeatures(80, Gaussian(2.0), sketch="nystrom,rpcholesky").fit_transform(X)
    >>> bool(np.abs(phi @ phi.T - Gaussian(2.0)(X)).max() < 1e-6)
    True
    """

    def __init__(
        self,
        features: int = 200,
        kernel: Kernel | str = "gaussian(median)",
        *,
        sketch: str = "nystrom",
        standardize: bool = False,
        random_state: Any = 0,
        verbose: int = 0,
    ):
        self.features = features
        self.kernel = kernel
        self.sketch = sketch
        self.standardize = standardize
        self.random_state = random_state
        self.verbose = verbose

    def _map(self) -> str:
        return map_text(self.sketch, self.features)


class OperatorFeatures(CoreEstimator):
    """The operator-valued map Φ of a kernel with several outputs, as a linear operator.

    Parameters
    ----------
    kernel : Kernel or str
    features : int
    map : str
        "fourier", or a sketch where the kernel allows one.
    outputs : int, optional
        p; that of ``y`` if it is given to ``fit``, else d for vector fields and 1 otherwise.
    standardize : bool
    random_state : int, RandomState or None
    verbose : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OperatorFeatures
    >>> from mercer.kernels import CurlFree, Gaussian
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> phi = OperatorFeatures(CurlFree(Gaussian(1.0)), 2000).fit(X).operator(X)
    >>> gram = (phi @ phi.T) @ np.eye(40)
    >>> bool(np.abs(gram - CurlFree(Gaussian(1.0))(X)).max() < 0.2)
    True
    """

    def __init__(
        self,
        kernel: Kernel | str = "gaussian(median)",
        features: int = 1000,
        *,
        map: str = "fourier",
        outputs: int | None = None,
        standardize: bool = False,
        random_state: Any = 0,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.features = features
        self.map = map
        self.outputs = outputs
        self.standardize = standardize
        self.random_state = random_state
        self.verbose = verbose

    def _options(self) -> dict[str, Any]:
        return {
            "kernel": text_of(self.kernel),
            "map": map_text(self.map, self.features),
            "standardize": flag("standardize", self.standardize),
            "seed": seed_of(self.random_state),
        }

    def fit(self, X: ArrayLike, y: Any = None) -> OperatorFeatures:
        """Draws the map for rows like X (n × d); targets y matter to kernels that take their covariance."""
        if y is None:
            rows = self._checked(X)
            field = _core.is_vector_field(text_of(self.kernel))
            targets = np.zeros((len(rows), self.outputs or (rows.shape[1] if field else 1)))
        else:
            rows, targets, _ = self._validated(X, y, None)
        self._take(self._run(_core.draw_features, rows, as_columns(targets), None, self._named_options(y)))
        return self

    def operator(self, X: ArrayLike) -> Any:
        """Φ(X)ᵀ as a :class:`scipy.sparse.linalg.LinearOperator`: (n·p) × parameters, row i·p + a for output a of row i.

        ``operator @ θ`` is the function of parameters θ at the rows; ``operator.T`` its adjoint. Keeps n × columns features."""
        from scipy.sparse.linalg import LinearOperator

        check_is_fitted(self)
        model = self.model_
        phi = model.features(self._rows(X))
        p = model.outputs

        def forward(theta: Any) -> Floats:
            return (phi @ model.expand(np.ascontiguousarray(theta, dtype=float).ravel())).ravel()

        def adjoint(values: Any) -> Floats:
            v = np.asarray(values, dtype=float).reshape(len(phi), p)
            return model.contract(np.ascontiguousarray(phi.T @ v))

        shape = (len(phi) * p, int(self.summary_["parameters"]))
        return LinearOperator(shape, matvec=forward, rmatvec=adjoint, dtype=np.float64)
