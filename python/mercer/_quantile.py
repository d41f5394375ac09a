"""Several quantiles of one target, fitted together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d

from . import _core
from ._base import CoreEstimator, Floats, as_columns, flag, kernel_options, some_number, squeeze
from .kernels import Kernel


class KernelQuantileRegressor(RegressorMixin, CoreEstimator):
    """Joint quantile regression: levels are tied to each other, and need not cross.

    Parameters
    ----------
    quantiles : sequence of float
        Levels between 0 and 1.
    non_crossing : bool
        Quantiles in order at every training row, as a hard constraint.
    grid : array of shape (m, d), optional
        With ``non_crossing``: further inputs where they are in order.
    kernel, features, map, penalty, standardize, precision, tolerance, random_state, verbose
        As of :class:`KernelRegressor`.

    Attributes
    ----------
    quantiles_ : array
        The levels, ascending: the columns of predictions.
    summary_ : dict
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 1, (400, 1))
    >>> y = x[:, 0] + (0.1 + x[:, 0]) * rng.normal(size=400)
    >>> bands = KernelQuantileRegressor([0.1, 0.5, 0.9], non_crossing=True).fit(x, y).predict(x)
    >>> bands.shape, bool((np.diff(bands) >= 0).all())
    ((400, 3), True)
    """

    def __init__(
        self,
        quantiles: Sequence[float] = (0.5,),
        *,
        non_crossing: bool = False,
        grid: ArrayLike | None = None,
        kernel: Kernel | str = "gaussian(median)",
        features: int | None = None,
        map: str = "auto",
        penalty: float | None = None,
        standardize: bool = True,
        precision: str = "auto",
        tolerance: float | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ):
        self.quantiles = quantiles
        self.non_crossing = non_crossing
        self.grid = grid
        self.kernel = kernel
        self.features = features
        self.map = map
        self.penalty = penalty
        self.standardize = standardize
        self.precision = precision
        self.tolerance = tolerance
        self.random_state = random_state
        self.verbose = verbose

    def _levels(self) -> list[float]:
        """The levels, ascending."""
        try:
            levels = sorted(float(level) for level in np.atleast_1d(np.asarray(self.quantiles, dtype=float)))
        except (TypeError, ValueError):
            levels = []
        if not levels or not all(0 < level < 1 for level in levels):
            raise ValueError(f"quantiles must be numbers between 0 and 1, got {self.quantiles!r}")
        if len(set(levels)) < len(levels):
            raise ValueError(f"quantiles must differ from each other, got {self.quantiles!r}")
        return levels

    def _options(self) -> dict[str, Any]:
        levels = self._levels()
        grid = None if self.grid is None else np.asarray(self.grid, dtype=float).ravel().tolist()
        return {
            **kernel_options(self),
            "penalty": some_number("penalty", self.penalty),
            "loss": "pinball",
            "quantiles": levels,
            "non_crossing": flag("non_crossing", self.non_crossing),
            "grid": grid,
            "tolerance": some_number("tolerance", self.tolerance),
        }

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> KernelQuantileRegressor:
        """Fits to rows X (n × d) and one target y (n)."""
        rows, targets, weights = self._validated(X, y, sample_weight)
        if targets.ndim == 2 and targets.shape[1] > 1:
            raise ValueError(f"quantiles are of one target; y has {targets.shape[1]} columns")
        targets = as_columns(column_or_1d(targets, warn=True))
        if self.grid is not None and np.atleast_2d(np.asarray(self.grid)).shape[1] != rows.shape[1]:
            raise ValueError(f"grid must have {rows.shape[1]} columns as X has")
        self._take(self._run(_core.fit, rows, targets, weights, self._named_options(y)))
        self.quantiles_ = np.asarray(self.model_.levels)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """One column for each level, ascending; a vector when there is one level."""
        return squeeze(self._ask(X, lambda rows: self.model_.predict(rows)), len(self.quantiles_) == 1)

    def predict_interval(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Lower and upper ends of the model's conformal intervals (see :class:`ConformalRegressor`)."""
        lower, upper = self._ask(X, lambda rows: self.model_.predict_interval(rows))
        return lower[:, 0], upper[:, 0]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of the pinball loss of constant quantiles that the model explains (D², 1 is perfect), averaged over levels."""
        from sklearn.metrics import d2_pinball_score

        bands = np.atleast_2d(self.predict(X).T)
        scores = [
            d2_pinball_score(y, band, sample_weight=sample_weight, alpha=level)
            for level, band in zip(self.quantiles_, bands, strict=True)
        ]
        return float(np.mean(scores))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # D² of absolute errors is smaller than R² of the same fit
        return tags
