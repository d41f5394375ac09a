"""Classification: simplex coding with the square loss, or margins and probabilities with others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from . import _core
from ._base import CoreEstimator, Floats, kernel_options, some_number
from .kernels import Kernel


def _gives_probabilities(estimator: Any) -> bool:
    if estimator.loss in ("logistic", "multinomial"):
        return True
    raise AttributeError(f"loss={estimator.loss!r} gives no probabilities; use loss='logistic' or 'multinomial'")


class KernelClassifier(ClassifierMixin, CoreEstimator):
    """Classification with a kernel, random features or a sketch of it.

    Parameters
    ----------
    kernel, features, map, penalty, standardize, precision, tolerance, random_state, verbose
        As of :class:`KernelRegressor`.
    loss : str
        "logistic" (one class against the rest when there are more than two) and "multinomial" give probabilities; "square" on the
        corners of a simplex is the fastest; "hinge" and "squared_hinge" are support vector machines.
    class_weight : dict, "balanced" or None
        What the rows of a class weigh, by label; "balanced": as much as those of any other class together.

    Attributes
    ----------
    classes_ : array of labels
    summary_ : dict
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelClassifier(features=100).fit(X, y).predict_proba(X[:1]).round(1)
    array([[1., 0., 0.]])
    """

    def __init__(
        self,
        kernel: Kernel | str = "gaussian(median)",
        *,
        features: int | None = None,
        map: str = "auto",
        loss: str = "logistic",
        class_weight: Any = None,
        penalty: float | None = None,
        standardize: bool = True,
        precision: str = "auto",
        tolerance: float | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.features = features
        self.map = map
        self.loss = loss
        self.class_weight = class_weight
        self.penalty = penalty
        self.standardize = standardize
        self.precision = precision
        self.tolerance = tolerance
        self.random_state = random_state
        self.verbose = verbose

    def _options(self) -> dict[str, Any]:
        return {
            **kernel_options(self),
            "penalty": some_number("penalty", self.penalty),
            "loss": self.loss,
            "tolerance": some_number("tolerance", self.tolerance),
        }

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> KernelClassifier:
        """Fits to rows X (n × d) and labels y (n), which may be of any type that sorts."""
        rows, labels = self._checked(X, y, ensure_min_samples=self._least_rows)
        check_classification_targets(labels)
        weights = self._weights(sample_weight, rows)
        if self.class_weight is not None:
            of_classes = compute_sample_weight(self.class_weight, labels)
            weights = self._weights(of_classes if weights is None else of_classes * weights, rows)
        seen = labels if weights is None else labels[weights > 0]
        self.classes_ = np.unique(seen)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class only, {self.classes_.tolist()[0]!r}; a classifier needs two or more")
        codes = np.searchsorted(self.classes_, labels).clip(0, len(self.classes_) - 1)
        options = self._named_options(y, classes=[str(label) for label in self.classes_.tolist()])
        targets = codes.astype(np.float64)[:, None]
        return self._take(self._run(_core.fit, rows, targets, weights, options))

    def _scores(self, X: Any) -> Floats:
        """One number for each class: probabilities where the loss gives them; else the larger, the likelier."""
        return self._ask(X, lambda rows: self.model_.predict(rows))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The likeliest label of each row."""
        best = np.argmax(self._scores(X), axis=1)
        return self.classes_[best]

    def decision_function(self, X: ArrayLike) -> Floats:
        """Scores, n × classes; with two classes one number, above 0 for the second. Log-odds of probabilities."""
        scores = self._scores(X)
        if self.loss in ("logistic", "multinomial"):
            scores = np.clip(scores, 1e-300, 1)
            scores = np.log(scores)
        if len(self.classes_) == 2:
            difference = scores[:, 1] - scores[:, 0]
            return difference if self.loss in ("logistic", "multinomial") else difference / 2
        return scores

    @available_if(_gives_probabilities)
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities, n × classes."""
        return self._scores(X)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """Logarithms of :meth:`predict_proba`."""
        return np.log(np.maximum(self._scores(X), 1e-300))
