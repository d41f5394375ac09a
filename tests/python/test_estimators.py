"""Estimators: right answers, against closed forms, scikit-learn and the command line."""

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
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
from mercer.kernels import CurlFree, Gaussian, Helmholtz


def test_exact_ridge_equals_kernel_ridge(wave):
    X, y = wave
    ours = KernelRegressor(Gaussian(0.8), map="exact", penalty=1e-3, standardize=False, intercept=False).fit(X, y)
    peer = KernelRidge(kernel="rbf", gamma=0.5 / 0.8**2, alpha=1e-3 * len(X)).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), atol=1e-8)


def test_features_with_ridge_equal_the_regressor(wave):
    """(1/n)Σ½(f - y)² + (λ/2)‖θ‖² is scikit-learn's Ridge at alpha = nλ."""
    X, y = wave
    pipeline = make_pipeline(RandomFourierFeatures(60, Gaussian(1.0), random_state=3), Ridge(alpha=1e-3 * len(X)))
    ours = KernelRegressor(Gaussian(1.0), features=60, penalty=1e-3, standardize=False, random_state=3)
    np.testing.assert_allclose(ours.fit(X, y).predict(X), pipeline.fit(X, y).predict(X), atol=1e-8)


def test_features_approximate_the_kernel(rng):
    X = rng.normal(size=(100, 3))
    phi = RandomFourierFeatures(5000, Gaussian(1.0)).fit_transform(X)
    # Hoeffding for the 5050 pairs, entries of D terms in [-1, 1]: P(any off by t) <= 2·5050·exp(-D t²/2) < 1e-9 at t = 0.11
    assert np.abs(phi @ phi.T - Gaussian(1.0)(X)).max() < 0.11


def test_operator_and_its_adjoint(rng):
    X = rng.normal(size=(7, 2))
    operator = OperatorFeatures(Helmholtz(Gaussian(1.0), 0.4), 30).fit(X).operator(X)
    theta, values = rng.normal(size=operator.shape[1]), rng.normal(size=operator.shape[0])
    assert values @ (operator @ theta) == pytest.approx(theta @ (operator.T @ values), rel=1e-12)


def test_curl_free_predictions_have_no_curl(rng):
    X = rng.uniform(-1, 1, (200, 2))
    field = np.column_stack([np.cos(X[:, 0]) * X[:, 1], np.sin(X[:, 0])])
    model = KernelRegressor(CurlFree(Gaussian(1.0)), features=100).fit(X, field)
    step = 1e-4
    at = lambda x, y: model.predict([[x, y]])[0]  # noqa: E731
    curl = (at(0.3 + step, 0.1)[1] - at(0.3 - step, 0.1)[1] - at(0.3, 0.1 + step)[0] + at(0.3, 0.1 - step)[0]) / (2 * step)
    assert abs(curl) < 1e-6
    assert model.score(X, field) > 0.999


def test_weights_equal_repetition(wave):
    X, y = wave
    weights = np.arange(len(X)) % 3
    model = KernelRegressor(features=50, penalty=1e-3)
    weighted = model.fit(X, y, sample_weight=weights).predict(X)
    repeated = model.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).predict(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-8)


def test_float32_is_read_where_it_lies(wave):
    X, y = wave
    single = KernelRegressor(features=50).fit(X.astype(np.float32), y.astype(np.float32))
    widened = KernelRegressor(features=50).fit(X.astype(np.float32).astype(float), y.astype(np.float32).astype(float))
    np.testing.assert_array_equal(single.predict(X), widened.predict(X))


def test_partial_fit_equals_fit_with_the_first_blocks_scales(wave):
    X, y = wave
    model = KernelRegressor(Gaussian(1.0), features=50, penalty=1e-3, standardize=False)
    whole = model.fit(X, y).predict(X)
    for rows in np.array_split(np.arange(len(X)), 4):
        model.partial_fit(X[rows], y[rows])
    assert model.summary_["n"] == len(X)
    np.testing.assert_allclose(model.predict(X), whole, atol=1e-8)


def test_partial_fit_goes_on_after_a_pickle(wave):
    X, y = wave
    model = KernelRegressor(features=50, penalty=1e-3).partial_fit(X[:100], y[:100])
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(copy.partial_fit(X[100:], y[100:]).predict(X), model.partial_fit(X[100:], y[100:]).predict(X), atol=1e-9)


def test_fit_forgets_what_partial_fit_saw(wave):
    X, y = wave
    model = KernelRegressor(features=20).partial_fit(X, y).fit(X[:50], y[:50])
    model.partial_fit(X[:60], y[:60])
    assert model.summary_["n"] == 60


def test_cv_finds_a_better_length_scale(rng):
    X = rng.uniform(-1, 1, (400, 1))
    y = np.sin(12 * X[:, 0]) + 0.1 * rng.normal(size=400)
    chosen = KernelRegressorCV(features=100).fit(X, y)
    assert chosen.cv_results_["rmse"][chosen.best_index_] == min(chosen.cv_results_["rmse"])
    assert chosen.kernel_ == chosen.cv_results_["kernel"][chosen.best_index_]
    assert len(set(chosen.cv_results_["rmse"])) == 5


def test_standard_deviations_cover(rng):
    X = rng.uniform(-2, 2, (2000, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=2000)
    mean, std = KernelRegressor(features=100).fit(X, y).predict(X, return_std=True)
    _, latent = KernelRegressor(features=100).fit(X, y).predict(X, return_std=True, latent=True)
    # 2000 rows: the share within 1.645 σ is 0.90 ± 0.0067; 5 of these
    assert abs(np.mean(np.abs(y - mean) < 1.645 * std) - 0.9) < 0.034
    assert (latent < std).all()


@pytest.mark.parametrize("loss", ["logistic", "multinomial"])
def test_probabilities_equal_scikit_learns_logistic_regression(rng, loss):
    """On given features, two classes: C = 1/(nλ) of scikit-learn's summed loss; multinomial penalises both classes' weights."""
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=200) > 0, "up", "down")
    ours = KernelClassifier(Gaussian(1.0), features=30, loss=loss, penalty=1e-2, standardize=False, tolerance=1e-10).fit(X, y)
    phi = RandomFourierFeatures(30, Gaussian(1.0)).fit_transform(X)
    share = 1.0 if loss == "logistic" else 0.5
    peer = LogisticRegression(C=1 / (share * 1e-2 * len(X)), tol=1e-12, max_iter=10000).fit(phi, y)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(phi), atol=1e-5)
    assert (ours.predict(X) == peer.predict(phi)).all()
    assert ((ours.decision_function(X) > 0) == (ours.predict(X) == "up")).all()


@pytest.mark.parametrize("loss", ["square", "hinge", "squared_hinge", "logistic", "multinomial"])
@pytest.mark.parametrize("classes", [2, 4])
def test_classes_are_told_apart(rng, loss, classes):
    y = rng.integers(0, classes, 300)
    X = 5 * np.eye(4)[y] + 0.5 * rng.normal(size=(300, 4))  # 14 deviations apart
    model = KernelClassifier(features=50, loss=loss).fit(X, y * 10)
    assert model.score(X, y * 10) > 0.98
    assert hasattr(model, "predict_proba") == (loss in ("logistic", "multinomial"))
    scores = model.decision_function(X)
    assert scores.shape == ((300,) if classes == 2 else (300, classes))
    expected = model.classes_[(scores > 0).astype(int) if classes == 2 else np.argmax(scores, axis=1)]
    np.testing.assert_array_equal(model.predict(X), expected)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_quantiles_hold_their_share_and_do_not_cross(rng):
    X = rng.uniform(0, 1, (1000, 1))
    y = np.sin(6 * X[:, 0]) + (0.1 + 0.4 * X[:, 0]) * rng.normal(size=1000)
    model = KernelQuantileRegressor([0.9, 0.1, 0.5], non_crossing=True, map="p-sr", features=100).fit(X, y)
    np.testing.assert_array_equal(model.quantiles_, [0.1, 0.5, 0.9])
    bands = model.predict(X)
    assert (np.diff(bands, axis=1) >= -1e-9).all()
    np.testing.assert_allclose((y[:, None] <= bands).mean(axis=0), model.quantiles_, atol=0.04)
    assert 0 < model.score(X, y) < 1
    with pytest.raises(ValueError, match="one target"):
        model.fit(X, np.column_stack([y, y]))


def test_non_crossing_holds_on_the_grid(rng):
    X = rng.uniform(0, 1, (60, 1))
    y = rng.normal(size=60)
    grid = np.linspace(-0.5, 1.5, 40)[:, None]
    model = KernelQuantileRegressor([0.2, 0.4, 0.6, 0.8], non_crossing=True, grid=grid, kernel=Gaussian(0.2), penalty=1e-4)
    assert (np.diff(model.fit(X, y).predict(grid), axis=1) >= -1e-6).all()


def test_conformal_intervals_cover(rng):
    X = rng.uniform(-1, 1, (1200, 2))
    y = X[:, 0] ** 2 + 0.2 * rng.standard_t(3, 1200)
    for inner in (KernelRegressor(features=50), KernelQuantileRegressor([0.05, 0.95], features=50)):
        model = ConformalRegressor(inner, level=0.8).fit(X[:800], y[:800])
        lower, upper = model.predict_interval(X[800:])
        # 160 calibration rows and 400 test rows: sd of the covered share ~ sqrt(.16/160 + .16/400) = 0.037; 4 of these
        assert abs(np.mean((lower <= y[800:]) & (y[800:] <= upper)) - 0.8) < 0.15
    with pytest.raises(ValueError, match="LinearRegression|Ridge"):
        ConformalRegressor(Ridge()).fit(X, y)


def test_spectral_mixture_finds_a_period_and_forecasts_dates():
    months = np.arange("2000-01", "2012-01", dtype="datetime64[M]")
    t = np.arange(len(months))
    y = 10 + np.sin(2 * np.pi * t / 12) + 0.05 * np.random.default_rng(0).normal(size=len(t))
    model = SpectralMixtureGP(components=3, steps=100).fit(months.astype("datetime64[ns]"), y)
    strongest = max(model.spectrum(), key=lambda c: c["weight"])
    assert 1 / strongest["frequency"][0] == pytest.approx(365.25, rel=0.02)
    dates, mean, std = model.forecast(12)
    np.testing.assert_array_equal(dates.astype("datetime64[M]"), np.arange("2012-01", "2013-01", dtype="datetime64[M]"))
    assert np.abs(mean - (10 + np.sin(2 * np.pi * (t[:12]) / 12))).max() < 0.25
    frame = pd.Series(months.astype("datetime64[ns]"), name="month")
    np.testing.assert_allclose(model.predict(frame[:5]), model.predict(months[:5].astype("datetime64[ns]")))


def test_samples_of_a_process_have_its_mean_and_spread(rng):
    t = np.arange(40.0)
    y = np.sin(t / 3) + 0.1 * rng.normal(size=40)
    model = SpectralMixtureGP(components=2, points=50, steps=30).fit(t, y)
    ahead = np.linspace(40, 60, 7)
    mean, std = model.predict(ahead, return_std=True, latent=True)
    drawn = model.sample_y(ahead, 4000)
    assert drawn.shape == (7, 4000)
    # means of 4000: standard error std/63; 5.5 of these
    assert (np.abs(drawn.mean(axis=1) - mean) < 0.09 * std + 1e-6).all()
    np.testing.assert_allclose(drawn.std(axis=1), std, rtol=0.12)


def test_exact_process_against_scikit_learn(rng):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    X = rng.uniform(-3, 3, (80, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=80)
    ours = ExactGP(1.0 * Gaussian(0.5), mean="none").fit(X, y)
    scaled = (X - X.mean()) / X.std(), (y - y.mean()) / y.std()
    peer = GaussianProcessRegressor(ConstantKernel() * RBF() + WhiteKernel(), n_restarts_optimizer=2, random_state=0).fit(*scaled)
    assert ours.summary_["nlml"] <= -peer.log_marginal_likelihood_value_ + 1e-3
    grid = np.linspace(-3, 3, 50)[:, None]
    mean, std = ours.predict(grid, return_std=True)
    peer_mean, peer_std = peer.predict((grid - X.mean()) / X.std(), return_std=True)
    np.testing.assert_allclose(mean, peer_mean * y.std() + y.mean(), atol=2e-3)
    np.testing.assert_allclose(std, peer_std * y.std(), atol=2e-3)
    assert ours.log_density(X, y).mean() > 0


def test_sketched_features_of_all_rows_are_exact(rng):
    X = rng.normal(size=(40, 2))
    phi = SketchedFeatures(40, Gaussian(1.0)).fit_transform(X)
    np.testing.assert_allclose(phi @ phi.T, Gaussian(1.0)(X), atol=1e-6)


def test_frames_in_and_out(wave):
    X, y = wave
    table = pd.DataFrame(X, columns=["east", "north"])
    target = pd.Series(y, name="height")
    model = KernelRegressor(features=30).fit(table, target)
    np.testing.assert_array_equal(model.feature_names_in_, ["east", "north"])
    assert model.model_.columns()["targets"] == ["height"]
    polar = KernelRegressor(features=30).fit(pl.DataFrame(table.to_dict("list")), pl.Series("height", y))
    np.testing.assert_array_equal(model.predict(table), polar.predict(pl.DataFrame(table.to_dict("list"))))
    features = RandomFourierFeatures(5).set_output(transform="pandas").fit_transform(table)
    assert list(features.columns)[:2] == ["randomfourierfeatures0", "randomfourierfeatures1"]
    pipeline = make_pipeline(StandardScaler(), RandomFourierFeatures(20), Ridge()).set_output(transform="pandas")
    assert pipeline.fit(table, target).score(table, target) > 0.9


def test_pickle_and_joblib_keep_every_bit(wave, tmp_path):
    X, y = wave
    for model in (KernelRegressor(features=30), KernelRegressor(map="exact"), SpectralMixtureGP(2, points=20, steps=5)):
        before = model.fit(X, y).predict(X)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), before)
        joblib.dump(model, tmp_path / "model.joblib")
        np.testing.assert_array_equal(joblib.load(tmp_path / "model.joblib").predict(X), before)


def test_random_state(wave):
    X, y = wave
    same = [KernelRegressor(features=20, random_state=7).fit(X, y).predict(X) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    other = KernelRegressor(features=20, random_state=8).fit(X, y).predict(X)
    assert not np.array_equal(same[0], other)
    drawn = [KernelRegressor(features=20, random_state=np.random.RandomState(1)).fit(X, y).predict(X) for _ in range(2)]
    np.testing.assert_array_equal(*drawn)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda X, y: KernelRegressor(map="fourier:10", features=20).fit(X, y), "says already"),
        (lambda X, y: KernelRegressor(features=0).fit(X, y), "at least 1"),
        (lambda X, y: KernelRegressor(features=2.5).fit(X, y), "whole number"),
        (lambda X, y: KernelRegressor(loss="hubber").fit(X, y), "hubber"),
        (lambda X, y: KernelRegressor(solver="magic").fit(X, y), "magic"),
        (lambda X, y: KernelRegressor(penalty=-1.0).fit(X, y), "penalty"),
        (lambda X, y: KernelRegressor(penalty="much").fit(X, y), "penalty must be a number, or None"),
        (lambda X, y: KernelRegressor().fit(X, y, sample_weight=-np.ones(len(X))), "egative"),
        (lambda X, y: KernelRegressorCV(length_factors=()).fit(X, y), "length_factors"),
        (lambda X, y: KernelRegressor(kernel="curl_free(gaussian(1))").fit(X, y), "output"),
        (lambda X, y: KernelQuantileRegressor([1.5]).fit(X, y), "1.5"),
        (lambda X, y: SpectralMixtureGP(components=0).fit(X, y), "components must be"),
        (lambda X, y: KernelRegressor(features=20, uncertainty="none").fit(X, y).predict(X, return_std=True), "deviation"),
        (lambda X, y: mercer.load("/nowhere/model.mercer"), "/nowhere/model.mercer"),
    ],
)
def test_mistakes_are_told_in_one_line(make, says, wave):
    with pytest.raises((ValueError, OSError, AttributeError), match=says) as caught:
        make(*wave)
    assert "\n" not in str(caught.value)


def test_a_fit_that_stops_early_warns(wave):
    from sklearn.exceptions import ConvergenceWarning

    X, y = wave
    with pytest.warns(ConvergenceWarning):
        KernelRegressor(features=100, solver="cg", penalty=1e-14, tolerance=1e-15).fit(X, y)


def test_verbose_shows_progress(wave, capsys):
    X, y = wave
    KernelRegressor(features=20, verbose=1).fit(X, y)
    assert "KernelRegressor" in capsys.readouterr().err


def test_tags_and_html(wave):
    assert "KernelRegressor" in KernelRegressor()._repr_html_()
