"""Regression: means by ridge or by any other loss, for one target or several, scalar kernels or vector fields."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from . import _core
from ._base import CoreEstimator, Floats, as_columns, flag, kernel_options, some_number, squeeze, summary_of
from .kernels import Kernel
from .streams import Blocks, as_blocks


class MeanPredictor(RegressorMixin, CoreEstimator):
    """Predictions of models whose outputs are the targets."""

    def predict(self, X: ArrayLike, return_std: bool = False, return_cov: bool = False, *, latent: bool = False) -> Any:
        """Predicted targets.

        Parameters
        ----------
        X : array of shape (n, d)
        return_std : bool
            Also the standard deviation of a new observation (square loss and Gaussian processes).
        return_cov : bool
            Also the covariance of new observations at all rows, for loops that choose where to look next.
        latent : bool
            Deviation or covariance of the function alone, without the noise of observations.

        Returns
        -------
        mean : array of shape (n,) or (n, targets), as ``y`` was
        std : array of the same shape, if asked for
        cov : array of shape (n, n) or (n, n, targets), if asked for
        """
        if return_std and return_cov:
            raise ValueError("ask for return_std or return_cov, not both; deviations are the roots of the covariance's diagonal")
        if (return_std or return_cov) and hasattr(self, "model_") and self.summary_["loss"] != "square":
            raise ValueError(
                f"standard deviations come with the square loss; with {self.summary_['loss']} take KernelQuantileRegressor, "
                "or intervals of ConformalRegressor"
            )
        if return_cov:
            return self._joint(X, latent)
        if not return_std:
            return squeeze(self._ask(X, lambda rows: self.model_.predict(rows)), self._flat)
        mean, deviation = self._ask(X, lambda rows: self.model_.predict_std(rows, latent))
        return squeeze(mean, self._flat), squeeze(deviation, self._flat)

    def _joint(self, X: ArrayLike, latent: bool) -> tuple[Floats, Floats]:
        """Mean and covariance."""
        mean, covariance = self._ask(X, lambda rows: (self.model_.predict(rows), self.model_.covariance(rows, latent)))
        return squeeze(mean, self._flat), covariance[0] if self._flat else np.moveaxis(covariance, 0, -1)

    def predict_interval(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Lower and upper ends of the model's conformal intervals (see :class:`ConformalRegressor`)."""
        lower, upper = self._ask(X, lambda rows: self.model_.predict_interval(rows))
        return squeeze(lower, self._flat), squeeze(upper, self._flat)

    @property
    def _flat(self) -> bool:
        return self._targets_flat and self.model_.outputs == 1  # a loss of several levels has a column for each

    def _fit_arrays(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> Any:
        rows, targets, weights = self._validated(X, y, sample_weight)
        self._targets_flat = targets.ndim == 1
        return self._take(self._run(_core.fit, rows, as_columns(targets), weights, self._named_options(y, **options)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


def _has_statistics(estimator: Any) -> bool:
    if estimator.loss == "square" and (estimator.map == "auto" or estimator.map.startswith("fourier")):
        return True
    raise AttributeError("partial_fit goes with the square loss and Fourier maps")


class KernelRegressor(MeanPredictor):
    """Regression with a kernel, random features or a sketch of it, and any loss.

    Parameters
    ----------
    kernel : Kernel or str
        From :mod:`mercer.kernels`, or its text. ``CurlFree``, ``DivergenceFree`` and ``Helmholtz`` fit vector fields.
    features : int, optional
        How many random frequencies, or the size of the sketch; the map's own default when left out.
    map : str
        "auto", "fourier", "p-sr", "nystrom", "exact" and the other maps of the command line, with their settings if wanted:
        "fourier:500,qmc", "p-sr:200,p=0.01".
    loss : str
        "square", "huber:1.345", "epsilon:0.1" and the other losses of the command line.
    penalty : float, optional
        λ of (1/n)Σ loss + (λ/2)‖θ‖². None: by closed-form leave-one-out (square loss), or on a fifth of the rows held out.
    standardize : bool
        Scale inputs and targets first; length scales are in these units.
    intercept : bool
        An unpenalised constant for each target.
    uncertainty : str
        What to keep for standard deviations: "auto", "full", "samples", "none". Models that keep none are smaller, and with a
        given penalty and many rows faster to fit.
    solver : str
        "auto", "eigen", "cholesky", "refined", "cg", "sgd"; "admm" and "adam" for other losses.
    precision : str
        "auto" gives answers of float64, by coarser Gram matrices that are refined where that is faster; "float64" computes in
        nothing else; "float32" answers to about 1e-5.
    tolerance : float, optional
        Relative duality gap (other losses) or residual (cg) to stop at.
    random_state : int, RandomState or None
        A number gives the same model every time.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    summary_ : dict
        What happened in the fit: penalty, leave-one-out error, solver, seconds, memory, notes.
    model_ : core model
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> from mercer.kernels import CurlFree, Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (300, 2))
    >>> field = np.column_stack([-2 * X[:, 0], -X[:, 1]])
    >>> model = KernelRegressor(kernel=CurlFree(Gaussian(1.0)), features=100).fit(X, field)
    >>> bool(model.score(X, field) > 0.999)
    True
    """

    def __init__(
        self,
        kernel: Kernel | str = "gaussian(median)",
        *,
        features: int | None = None,
        map: str = "auto",
        loss: str = "square",
        penalty: float | None = None,
        standardize: bool = True,
        intercept: bool = True,
        uncertainty: str = "auto",
        solver: str = "auto",
        precision: str = "auto",
        tolerance: float | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.features = features
        self.map = map
        self.loss = loss
        self.penalty = penalty
        self.standardize = standardize
        self.intercept = intercept
        self.uncertainty = uncertainty
        self.solver = solver
        self.precision = precision
        self.tolerance = tolerance
        self.random_state = random_state
        self.verbose = verbose

    def _options(self) -> dict[str, Any]:
        return {
            **kernel_options(self),
            "penalty": some_number("penalty", self.penalty),
            "loss": self.loss,
            "intercept": flag("intercept", self.intercept),
            "uncertainty": self.uncertainty,
            "solver": self.solver,
            "tolerance": some_number("tolerance", self.tolerance),
        }

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> KernelRegressor:
        """Fits to rows X (n × d) and targets y (n or n × targets)."""
        self.__dict__.pop("_statistics", None)
        return self._fit_arrays(X, y, sample_weight)

    def fit_blocks(self, blocks: Any) -> KernelRegressor:
        """Fits to blocks of rows that need not fit in memory: see :mod:`mercer.streams`.

        Parameters
        ----------
        blocks : Blocks, or iterable of (X, y) or (X, y, sample_weight)
            Read several times; an iterator that runs once is kept in a temporary file.
        """
        self.__dict__.pop("_statistics", None)
        source: Blocks = as_blocks(blocks)
        with source:
            self.n_features_in_ = source.inputs
            self._targets_flat = source.flat
            self._dates = None
            self.__dict__.pop("feature_names_in_", None)
            if source.input_names:
                self.feature_names_in_ = np.array(source.input_names, dtype=object)
            options = self._named_options(target_names=source.target_names)
            return self._take(
                self._run(_core.fit_blocks, source.restart, source.inputs, source.targets, source.rows, options)
            )

    @available_if(_has_statistics)
    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> KernelRegressor:
        """Adds rows to those seen so far and solves again (square loss, Fourier maps). The first block settles scales,
        length scales and frequencies; after that order does not matter, and the rows themselves are not kept."""
        first = not hasattr(self, "_statistics")
        rows, targets, weights = self._validated(X, y, sample_weight, reset=first)
        if first:
            self._targets_flat = targets.ndim == 1
            self._statistics = _core.Statistics(rows, as_columns(targets), weights, self._named_options(y))
        else:
            self._statistics.update(rows, as_columns(targets), weights)
        return self._take(self._run(self._statistics.solve))

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__().copy()
        if "_statistics" in state:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "statistics.stats"
                state["_statistics"].save(str(path))
                state["_statistics"] = path.read_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_statistics" in state:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "statistics.stats"
                path.write_bytes(state["_statistics"])
                self._statistics = _core.Statistics.load(str(path), self._named_options())


class KernelRegressorCV(MeanPredictor):
    """:class:`KernelRegressor` that also chooses its length scale, by closed-form leave-one-out: one fit for each candidate, no
    folds. Square loss only; other parameters are those of :class:`KernelRegressor`.

    Parameters
    ----------
    kernel : Kernel or str
    length_factors : sequence of float
        What to multiply every length scale of the kernel by.

    Attributes
    ----------
    cv_results_ : dict of lists
        ``kernel``, ``penalty`` and ``rmse`` (leave-one-out, in units of the scaled targets) of each candidate.
    best_index_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressorCV
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> model = KernelRegressorCV(features=100).fit(x, np.sin(20 * x[:, 0]))
    >>> len(model.cv_results_["rmse"])
    5
    """

    def __init__(
        self,
        kernel: Kernel | str = "gaussian(median)",
        *,
        length_factors: Sequence[float] = (0.25, 0.5, 1.0, 2.0, 4.0),
        features: int | None = None,
        map: str = "auto",
        standardize: bool = True,
        intercept: bool = True,
        uncertainty: str = "auto",
        precision: str = "auto",
        random_state: Any = 0,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.length_factors = length_factors
        self.features = features
        self.map = map
        self.standardize = standardize
        self.intercept = intercept
        self.uncertainty = uncertainty
        self.precision = precision
        self.random_state = random_state
        self.verbose = verbose

    def _options(self) -> dict[str, Any]:
        return {**kernel_options(self), "intercept": flag("intercept", self.intercept), "uncertainty": self.uncertainty}

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> KernelRegressorCV:
        """Fits every candidate to X (n × d) and y, and keeps the one of least leave-one-out error."""
        factors = [float(f) for f in self.length_factors]
        if not factors or not all(np.isfinite(f) and f > 0 for f in factors):
            raise ValueError(f"length_factors must be positive numbers, got {self.length_factors!r}")
        rows, targets, weights = self._validated(X, y, sample_weight)
        self._targets_flat = targets.ndim == 1
        targets = as_columns(targets)
        options = self._named_options(y)
        settled = _core.draw_features(rows, targets, weights, {**options, "map": "fourier:1"}, None)
        base = summary_of(settled)["kernel"]
        self.cv_results_: dict[str, list[Any]] = {"kernel": [], "penalty": [], "rmse": []}
        kept: Any = None  # the best so far; with the newest, two models are in memory at most
        for factor in factors:
            kernel = _core.scale_lengths(base, factor)
            model = self._run(_core.fit, rows, targets, weights, {**options, "kernel": kernel})
            summary = summary_of(model)
            error = summary["leave_one_out_rmse"]
            if kept is None or error < min(self.cv_results_["rmse"]):
                kept, self.best_index_ = model, len(self.cv_results_["rmse"])
            self.cv_results_["kernel"].append(kernel)
            self.cv_results_["penalty"].append(summary["penalty"])
            self.cv_results_["rmse"].append(error)
        return self._take(kept)
