"""Intervals with a guarantee: split conformal prediction around Mercer's regressors."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from ._base import CoreEstimator, Floats, flag
from ._classification import KernelClassifier
from ._regression import KernelRegressor


class ConformalRegressor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """A regressor with intervals that hold a new observation with a given probability, whatever the model.

    A fifth of the rows is kept out of the fit and calibrates the intervals. New rows exchangeable with the training rows fall
    inside with probability at least ``level``; with ``time_order`` the calibrating rows are the last ones, for series.

    Parameters
    ----------
    estimator : KernelRegressor, KernelQuantileRegressor, ExactGP or SpectralMixtureGP, optional
        ``KernelRegressor()`` when left out.
    level : float
    time_order : bool

    Attributes
    ----------
    estimator_ : the fitted estimator
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ConformalRegressor, KernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 1, (500, 1))
    >>> y = np.sin(6 * x[:, 0]) + 0.1 * rng.standard_t(3, 500)
    >>> lower, upper = ConformalRegressor(KernelRegressor(features=50), level=0.9).fit(x, y).predict_interval(x)
    >>> bool(0.85 < np.mean((lower <= y) & (y <= upper)) < 0.96)
    True
    """

    def __init__(self, estimator: Any = None, *, level: float = 0.9, time_order: bool = False):
        self.estimator = estimator
        self.level = level
        self.time_order = time_order

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> ConformalRegressor:
        """Fits to four fifths of the rows and calibrates on the rest."""
        estimator = KernelRegressor() if self.estimator is None else self.estimator
        if not isinstance(estimator, CoreEstimator) or isinstance(estimator, KernelClassifier):
            raise ValueError(f"ConformalRegressor goes around Mercer's regressors, not {type(estimator).__name__}")
        estimator = clone(estimator)
        estimator._extra_options = {"conformal": float(self.level), "time_order": flag("time_order", self.time_order)}
        estimator._least_rows = 2
        if sample_weight is None:
            estimator.fit(X, y)
        else:
            estimator.fit(X, y, sample_weight=sample_weight)
        self.estimator_ = estimator
        self.n_features_in_ = estimator.n_features_in_
        if hasattr(estimator, "feature_names_in_"):
            self.feature_names_in_ = estimator.feature_names_in_
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """What the estimator predicts."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def predict_interval(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Lower and upper ends, shaped as one prediction for each target."""
        check_is_fitted(self)
        return self.estimator_.predict_interval(X)

    def save(self, path: Any) -> None:
        """Writes a ``.mercer`` file, intervals included."""
        check_is_fitted(self)
        self.estimator_.save(path)

    def to_onnx(
        self, path: Any = None, *, dtype: str = "float32", arithmetic: str = "auto", intervals: bool = True
    ) -> Any:
        """The estimator as an ONNX graph (see :meth:`KernelRegressor.to_onnx`), with outputs ``lower`` and ``upper`` as well
        unless ``intervals`` is False."""
        check_is_fitted(self)
        from ._onnx import convert

        return convert(self.estimator_, path, dtype, arithmetic, intervals)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
