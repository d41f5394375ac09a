"""scikit-learn's own checks of every estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    ConformalRegressor,
    ExactGP,
    KernelClassifier,
    KernelQuantileRegressor,
    KernelRegressor,
    KernelRegressorCV,
    OperatorFeatures,
    RandomFourierFeatures,
    SketchedFeatures,
    SpectralMixtureGP,
)

ESTIMATORS = [
    KernelRegressor(features=30),
    KernelRegressor(features=30, map="p-sr"),
    KernelRegressor(map="exact"),
    KernelRegressor(features=30, loss="huber:1.345", penalty=1e-2, tolerance=1e-10),
    KernelRegressorCV(features=30, length_factors=(1, 2)),
    # Weights equal repetition at a given penalty; an automatic one is chosen on rows held out at random.
    KernelClassifier(features=30, penalty=1e-2, tolerance=1e-10),
    KernelClassifier(features=30, loss="multinomial", penalty=1e-2, tolerance=1e-10),
    KernelClassifier(features=30, loss="square"),
    KernelQuantileRegressor(features=30, penalty=1e-2),
    ConformalRegressor(KernelRegressor(features=30), level=0.5),
    RandomFourierFeatures(30),
    SketchedFeatures(30),
    OperatorFeatures(features=30),
    ExactGP(steps=5),
    ExactGP(steps=5, inducing=5),
    SpectralMixtureGP(components=2, points=20, steps=5),
]


def expected_failures(estimator):
    weights = "check_sample_weight_equivalence_on_dense_data"
    if isinstance(estimator, ConformalRegressor):
        return {weights: "the calibrating rows are drawn at random, and a row of weight 2 falls on one side whole"}
    if isinstance(estimator, KernelClassifier) and estimator.loss == "square":
        return {"check_class_weight_classifiers": "at the automatic penalty, 2.6e-11 there, 86 % of rows get the heavy label, not 87 %"}
    if isinstance(estimator, (ExactGP, SpectralMixtureGP)):
        return {"check_fit1d": "a series may be given as a vector of times"}
    return {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures, xfail_strict=True)
def test_manners(estimator, check):
    check(estimator)


def test_expected_failures_are_few():
    assert sum(len(expected_failures(e)) for e in ESTIMATORS) == 5


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_defaults_are_documented(estimator):
    """Every parameter is named in the docstring of the class, or of the class it points to."""
    text = type(estimator).__doc__ + KernelRegressor.__doc__
    for name in estimator.get_params(deep=False):
        assert name in text, name
