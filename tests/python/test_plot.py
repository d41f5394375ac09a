"""Pictures: each returns its Axes, draws what the model says, and refuses what it cannot draw in one line."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from sklearn.datasets import load_iris  # noqa: E402
from sklearn.model_selection import GridSearchCV, train_test_split  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

import mercer  # noqa: E402
from mercer import (  # noqa: E402
    ConformalRegressor,
    ExactGP,
    KernelClassifier,
    KernelQuantileRegressor,
    KernelRegressor,
    OperatorFeatures,
    RandomFourierFeatures,
    SpectralMixtureGP,
    plot,
)
from mercer.kernels import CurlFree, Gaussian, Helmholtz  # noqa: E402
from mercer.plot._spectrum import empirical_density, span  # noqa: E402

Z90 = 1.6448536269514722


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def title(ax):
    return ax.get_title(loc="left")


def line(ax, label):
    (found,) = [line for line in ax.lines if line.get_label() == label]
    return np.asarray(found.get_xdata(), dtype=float), np.asarray(found.get_ydata(), dtype=float)


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def bands(ax):
    """Lower and upper ends of what was filled between two curves, by x."""
    ends = []
    for filled in ax.collections:
        if type(filled).__name__ == "FillBetweenPolyCollection":
            v = filled.get_paths()[0].vertices
            n = (len(v) - 3) // 2
            ends.append((v[1 : n + 1, 1], v[n + 2 : -1, 1][::-1]))
    return ends


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 6, (200, 1))
    return x, np.sin(x[:, 0]) + (0.05 + 0.05 * x[:, 0]) * rng.normal(size=200)


@pytest.fixture(scope="module")
def ridge(rows):
    return KernelRegressor(features=40).fit(*rows)


@pytest.fixture(scope="module")
def quantiles(rows):
    return KernelQuantileRegressor([0.1, 0.25, 0.5, 0.75, 0.9], features=40, penalty=1e-3).fit(*rows)


@pytest.fixture(scope="module")
def conformal(rows):
    return ConformalRegressor(KernelRegressor(features=40), level=0.8).fit(*rows)


@pytest.fixture(scope="module")
def flow():
    X = np.random.default_rng(1).uniform(-1, 1, (150, 2))
    Y = np.column_stack([-X[:, 1], X[:, 0]])
    return X, Y, KernelRegressor(Helmholtz(Gaussian(1.0)), features=40).fit(X, Y)


@pytest.fixture(scope="module")
def series():
    rng = np.random.default_rng(2)
    t = np.arange(96.0)
    y = 10 + np.sin(2 * np.pi * t / 12) + 0.1 * rng.normal(size=96)
    return t, y, SpectralMixtureGP(components=2, steps=20).fit(t, y)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, KernelClassifier(features=30, penalty=1e-3).fit(X, y)


def every_picture(rows, ridge, flow, series, iris):
    x, y = rows
    X, Y, field = flow
    A, b, classifier = iris
    return {
        "field": lambda ax: plot.field(field, X, Y, grid=8, ax=ax),
        "fan": lambda ax: plot.fan(ridge, x, y, ax=ax),
        "forecast": lambda ax: plot.forecast(series[2], 12, ax=ax),
        "spectrum": lambda ax: plot.spectrum(series[2], ax=ax),
        "calibration": lambda ax: plot.calibration(ridge, x, y, ax=ax),
        "residuals": lambda ax: plot.residuals(ridge, x, y, ax=ax),
        "learning_curve": lambda ax: plot.learning_curve(KernelRegressor(), x, y, features=(5, 20), ax=ax),
        "kernel_error": lambda ax: plot.kernel_error("gaussian(1)", x, features=(10, 50), ax=ax),
        "training": lambda ax: plot.training(series[2], ax=ax),
        "decision": lambda ax: plot.decision(classifier, A, b, ax=ax),
    }


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", plot.__all__)
def test_pictures_return_their_axes(name, rows, ridge, flow, series, iris, tmp_path):
    """On a figure of their own and on given Axes, in order: words of a title, names at both axes; and they can be printed."""
    draw = every_picture(rows, ridge, flow, series, iris)[name]
    alone = draw(None)
    assert isinstance(alone, Axes)
    assert title(alone)
    assert alone.get_xlabel() and alone.get_ylabel()
    alone.figure.savefig(tmp_path / "picture.png")
    _, given = pyplot.subplots()
    assert draw(given) is given


def test_no_picture_leaves_traces_in_the_settings(rows, ridge):
    before = dict(matplotlib.rcParams)
    plot.fan(ridge, *rows)
    assert dict(matplotlib.rcParams) == before


# --- fan


def test_fan_draws_mean_and_bands(rows, ridge):
    x, y = rows
    ax = plot.fan(ridge, x, y)
    at, mean = line(ax, "mean")
    expected, deviation = ridge.predict(at[:, None], return_std=True)
    np.testing.assert_allclose(mean, expected)
    assert at.min() == x.min() and at.max() == x.max()
    low, high = bands(ax)[0]
    np.testing.assert_allclose(low, expected - Z90 * deviation)
    np.testing.assert_allclose(high, expected + Z90 * deviation)
    assert labels(ax) == ["rows", "90 % band", "50 % band", "mean"]
    points = ax.collections[0].get_offsets()
    np.testing.assert_allclose(np.sort(points[:, 1]), np.sort(y))


def test_fan_draws_quantiles(rows, quantiles):
    ax = plot.fan(quantiles, rows[0])
    at, median = line(ax, "median")
    expected = quantiles.predict(at[:, None])
    np.testing.assert_allclose(median, expected[:, 2])
    np.testing.assert_allclose(bands(ax)[0], (expected[:, 0], expected[:, 4]))
    np.testing.assert_allclose(bands(ax)[1], (expected[:, 1], expected[:, 3]))
    assert labels(ax) == ["quantiles 0.1 to 0.9", "quantiles 0.25 to 0.75", "median"]


def test_fan_of_one_quantile_and_of_two(rows):
    one = plot.fan(KernelQuantileRegressor([0.9], features=20, penalty=1e-2).fit(*rows), *rows)
    assert labels(one) == ["rows", "0.9 quantile"]
    two = plot.fan(KernelQuantileRegressor([0.1, 0.9], features=20, penalty=1e-2).fit(*rows), *rows)
    assert labels(two) == ["rows", "quantiles 0.1 to 0.9"]


def test_fan_draws_conformal_intervals(rows, conformal):
    ax = plot.fan(conformal, *rows)
    at, _ = line(ax, "prediction")
    np.testing.assert_allclose(bands(ax)[0], conformal.predict_interval(at[:, None]))
    assert "80 % interval" in labels(ax)


def test_fan_of_several_levels_in_the_loss(rows):
    model = KernelRegressor(loss="pinball:0.1,0.9", features=20, penalty=1e-2).fit(*rows)
    assert model.predict(rows[0]).shape == (200, 2)
    ax = plot.fan(model, *rows)
    assert labels(ax) == ["rows", "quantiles 0.1 to 0.9"]


def test_fan_keeps_other_inputs_at_their_medians(rng):
    frame = pd.DataFrame(rng.normal(size=(120, 4)), columns=list("abcd"))
    y = pd.Series(frame["b"] ** 2 + frame["c"], name="height")
    model = KernelRegressor(features=30).fit(frame, y)
    ax = plot.fan(model, frame, y, feature="b")
    at, mean = line(ax, "mean")
    grid = pd.DataFrame(np.tile(frame.median(), (len(at), 1)), columns=frame.columns)
    grid["b"] = at
    np.testing.assert_allclose(mean, model.predict(grid))
    assert ax.get_xlabel() == "b (other inputs at their medians)"
    assert ax.get_ylabel() == "height"


def test_fan_of_pipelines_searches_and_missing_rows(rows):
    x, y = rows[0].copy(), rows[1].copy()
    pipeline = make_pipeline(StandardScaler(), KernelRegressor(features=20)).fit(x, y)
    search = GridSearchCV(KernelRegressor(), {"features": [10, 20]}, cv=2).fit(x, y)
    x[3], y[5] = np.nan, np.nan
    for model in (pipeline, search):
        _, mean = line(plot.fan(model, x, y), "mean")
        assert np.isfinite(mean).all()


def test_fan_shows_a_single_row(ridge):
    at, _ = line(plot.fan(ridge, [[2.0]], [0.9]), "mean")
    assert at.min() < 2 < at.max()


def test_a_runaway_prediction_leaves_the_picture(rows, ridge):
    x, y = rows
    low, high = plot.fan(ridge, np.vstack([x, [[60.0]]]), np.append(y, 0)).get_ylim()
    assert high - low <= 1.1 * 3 * np.ptp(y)


def test_powers_of_ten_stand_beside_the_name(rows):
    x, y = rows
    ax = plot.fan(KernelRegressor(features=20).fit(x, 1e8 * y), x, 1e8 * y)
    assert ax.get_ylabel() == r"y ($\times\mathdefault{10^{8}}\mathdefault{}$)"
    assert not ax.yaxis.get_offset_text().get_visible()


# --- forecast


def test_forecast_draws_what_the_model_remembers(series):
    t, y, model = series
    ax = model.plot_forecast(horizon=24)
    times, mean, deviation = model.forecast(24)
    np.testing.assert_allclose(line(ax, "mean"), (times, mean))
    np.testing.assert_allclose(bands(ax)[0], (mean - Z90 * deviation, mean + Z90 * deviation))
    np.testing.assert_allclose(line(ax, "observed"), (t, y))
    assert title(ax) == "Forecast of y, 24 steps"


def test_forecast_level(series):
    model = series[2]
    _, mean, deviation = model.forecast(5)
    low, high = bands(plot.forecast(model, 5, level=0.3))[0]
    np.testing.assert_allclose(high - low, 2 * 0.38532046640756773 * deviation)


def test_forecast_shows_what_came_true(series):
    t, y, model = series
    later = np.arange(90.0, 100.0)
    ax = plot.forecast(model, 24, history=(later, later))
    np.testing.assert_allclose(line(ax, "observed")[0], np.arange(90.0, 96.0))
    np.testing.assert_allclose(line(ax, "came true")[0], np.arange(96.0, 100.0))


def test_a_long_past_does_not_hide_the_future(series):
    t, y, model = series
    past = np.arange(-5000.0, 96.0)
    assert len(line(plot.forecast(model, 24, history=(past, np.sin(past))), "observed")[0]) == 192


def test_forecast_over_dates_and_history_of_one_row():
    days = np.arange("2024-01-01", "2024-04-01", dtype="datetime64[D]")
    y = np.sin(np.arange(len(days)) / 4) + 0.1 * np.random.default_rng(0).normal(size=len(days))
    model = ExactGP("gaussian(1)", steps=5).fit(days, y)
    ax = model.plot_forecast(horizon=7)
    assert type(ax.xaxis.get_major_formatter()).__name__ == "ConciseDateFormatter"
    observed = [one for one in ax.lines if one.get_label() == "observed"][0]
    np.testing.assert_array_equal(observed.get_xdata().astype("datetime64[D]"), days)
    ax = plot.forecast(model, 1, history=(days[-1:], [np.nan]))
    assert title(ax) == "Forecast of y, 1 step"


def test_history_may_have_gaps(series):
    t, y, model = series
    gaps = y.copy()
    gaps[10:20] = np.nan
    _, drawn = line(plot.forecast(model, 6, history=(t, gaps)), "observed")
    assert np.isnan(drawn).sum() == 10


def test_forecast_of_one_output_of_three():
    t = np.arange(40.0)
    Y = pd.DataFrame({"low": np.sin(t), "middle": np.cos(t), "high": t})
    model = ExactGP("gaussian(1)", steps=5).fit(t, Y)
    ax = plot.forecast(model, 4, output="high")
    np.testing.assert_allclose(line(ax, "mean")[1], model.forecast(4)[1][:, 2])
    np.testing.assert_allclose(line(ax, "observed")[1], t)
    assert ax.get_ylabel() == "high"


def test_series_are_remembered_for_one_input_only(series, wave, tmp_path):
    t, y, model = series
    np.testing.assert_array_equal(model.series_, (t, y))
    again = ExactGP(steps=2).fit(t[:20], y[:20])
    again.fit(wave[0][:20], wave[1][:20])
    assert not hasattr(again, "series_")
    model.save(tmp_path / "series.mercer")
    loaded = mercer.load(tmp_path / "series.mercer")
    assert not hasattr(loaded, "series_")
    assert labels(loaded.plot_forecast(horizon=6)) == ["90 % band", "50 % band", "mean"]


# --- spectrum


def test_empirical_density_of_white_noise():
    """v / highest on average. The density is exponential at each frequency; its mean over 480 that are independent without
    a taper has the relative variance 1.94/480 (n Σw⁴/(Σw²)² of Hann's weights w): 6 standard errors, false alarm < 1e-8."""
    rng = np.random.default_rng(0)
    s, density = empirical_density(np.arange(1200.0), 3 * rng.normal(size=1200), 0.5)
    inside = (s > 0.05) & (s < 0.45)
    assert abs(density[inside].mean() / (9 / 0.5) - 1) < 6 * np.sqrt(2 / 480)


@pytest.mark.parametrize("kept", [1.0, 0.9])
def test_empirical_density_of_a_cycle(kept):
    """Its integral is A²/2 whatever its frequency, also where rows are missing (the bridged gaps take a little of it)."""
    t = np.arange(500.0)
    t = t[np.random.default_rng(1).random(500) < kept]
    s, density = empirical_density(t, 7 + 2 * np.cos(2 * np.pi * t / 17.3), 0.5)
    near = np.abs(s - 1 / 17.3) < 4 / 500
    power = np.sum((density[1:] + density[:-1]) / 2 * np.diff(s) * near[1:])
    assert abs(power / 2 - 1) < (0.01 if kept == 1 else 0.05)


def test_uneven_rows_have_a_spectrum_too():
    t = np.sort(np.random.default_rng(0).uniform(0, 300, 400))
    s, density = empirical_density(t, np.sin(2 * np.pi * t / 20), 0.5)
    assert abs(s[density.argmax()] - 1 / 20) < 1 / 300
    t = np.sort(np.random.default_rng(0).uniform(0, 3000, 20000))  # so many that they are put on a grid
    s, density = empirical_density(t, np.sin(2 * np.pi * t / 20), 0.5)
    assert abs(s[density.argmax()] - 1 / 20) < 1 / 3000


def test_even_and_uneven_rows_agree():
    """A shift of one row by a tenth of a step makes a series uneven, and changes the power of a cycle and of the noise little."""
    t = np.arange(300.0)
    y = np.sin(2 * np.pi * t / 9.7) + 0.3 * np.random.default_rng(0).normal(size=300)
    s, density = empirical_density(t, y, 0.4)
    t[150] += 0.11
    again, uneven = empirical_density(t, y, 0.4)
    for low, high in ((1 / 9.7 - 0.02, 1 / 9.7 + 0.02), (0.2, 0.4)):
        power = [d[(f > low) & (f < high)].mean() for f, d in ((s, density), (again, uneven))]
        assert power[1] == pytest.approx(power[0], rel=0.03)


def test_the_learned_density_integrates_to_the_weights(series):
    t, y, model = series
    ax = plot.spectrum(model)
    s, density = line(ax, "learned, with noise")
    (noise,) = {round(v, 12) for v in line(ax, "noise")[1]}
    inside = [c for c in model.spectrum() if 0.03 < c["frequency"][0] < 0.45 and c["spread"][0] < 0.01]
    assert inside  # the cycle of 12 steps
    for component in inside:
        near = np.abs(s - component["frequency"][0]) < 0.03
        power = np.sum(((density[1:] + density[:-1]) / 2 - noise) * np.diff(s) * near[1:])
        assert abs(power / component["weight"] - 1) < 0.05
    assert noise * 0.5 == pytest.approx(model.model_.noise[0] * y.var(), rel=1e-6)
    assert labels(ax) == ["empirical", "components", "learned, with noise", "noise"]
    assert "period 12" in [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("law", ["student", "laplace"])
def test_spectra_of_other_laws(series, law, tmp_path):
    t, y, _ = series
    model = SpectralMixtureGP(components=2, steps=3, law=law).fit(t, y)
    plot.spectrum(model)
    model.save(tmp_path / "law.mercer")
    assert "empirical" not in labels(plot.spectrum(mercer.load(tmp_path / "law.mercer")))


def test_the_spectrum_of_an_exact_process(series):
    t, y, _ = series
    model = ExactGP("spectral_mixture:2", steps=20).fit(t, y)
    texts = [text.get_text() for text in plot.spectrum(model).texts]
    assert "period 12" in texts


def test_spans_are_words():
    assert span(365.0, 365.2425, "year") == "1 year"
    assert span(11 * 365.25, 365.2425, "year") == "11 years"
    assert span(30.4 * 6, 365.2425, "year") == "6 months"
    assert span(7.0, 365.2425, "year") == "7 days"
    assert span(0.5, 1, "day") == "12 hours"
    assert span(1 / 48, 1 / 24, "hour") == "30 minutes"
    assert span(12.04, 1, "unit of time") == "period 12"


# --- calibration, residuals


def test_calibration_of_deviations(rows, ridge):
    x, y = rows
    levels, shares = line(plot.calibration(ridge, x, y), "model")
    mean, deviation = ridge.predict(x, return_std=True)
    at = np.argmin(np.abs(levels - 0.9))
    assert shares[at] == np.mean(np.abs(y - mean) <= Z90 * deviation)
    assert (np.diff(shares) >= 0).all()


def test_calibration_of_quantiles_and_intervals(rows, quantiles, conformal):
    x, y = rows
    levels, shares = line(plot.calibration(quantiles, x, y), "model")
    np.testing.assert_allclose(levels, [0.1, 0.25, 0.5, 0.75, 0.9])
    np.testing.assert_allclose(shares, np.mean(y[:, None] <= quantiles.predict(x), axis=0))
    (level,), (share,) = line(plot.calibration(conformal, x, y), "model")
    low, high = conformal.predict_interval(x)
    assert level == 0.8 and share == np.mean((low <= y) & (y <= high))


def test_calibration_of_several_outputs_leaves_out_missing_rows(flow):
    X, Y, model = flow
    Y = Y.copy()
    Y[0, 1] = np.nan
    ax = plot.calibration(model, X, Y)
    assert labels(ax) == ["chance, 95 %", "y0", "y1"]
    assert title(ax) == "Calibration on 149 rows"


def test_calibration_of_a_classifier(iris):
    X, y, model = iris
    claimed, right = line(plot.calibration(model, X, y), "model")
    assert len(claimed) == 10 and (np.diff(claimed) >= 0).all()
    assert np.mean(right) == pytest.approx(model.score(X, y))  # groups of equal size
    assert np.mean(claimed) == pytest.approx(model.predict_proba(X).max(axis=1).mean())


def test_residuals(rows, ridge, quantiles):
    x, y = rows
    ax = plot.residuals(ridge, x, y)
    np.testing.assert_allclose(ax.collections[-1].get_offsets(), np.column_stack([y, ridge.predict(x)]))
    assert f"R² {ridge.score(x, y):.3f}" in ax.texts[0].get_text()
    assert title(plot.residuals(quantiles, x, y)) == "Median against observed"


def test_many_residuals_are_counted(ridge):
    x = np.linspace(0, 6, 5000)[:, None]
    ax = plot.residuals(ridge, x, np.sin(x[:, 0]))
    assert ax.collections[-1].get_array().sum() == 5000


# --- field, learning curve, kernel error, training, decision


def test_field_draws_the_arrows(flow):
    X, Y, model = flow
    ax = plot.field(model, X, Y, grid=9)
    (arrows,) = [c for c in ax.collections if type(c).__name__ == "Quiver"]
    np.testing.assert_allclose(np.column_stack([arrows.U, arrows.V]), model.predict(arrows.get_offsets()), atol=1e-12)
    assert arrows.N == 81
    values = ax.images[0].get_array()
    centre = values[values.shape[0] // 2, values.shape[1] // 2]
    assert centre < 0.2 < values[0, 0]  # a rotation stands still in the middle
    assert labels(ax) == ["residuals of rows"]


@pytest.mark.parametrize("given", [False, True])
def test_field_without_deviations_or_rows(flow, given):
    X, Y, _ = flow
    model = KernelRegressor(CurlFree(Gaussian(1.0)), features=20, uncertainty="none").fit(X, Y)
    assert isinstance(plot.field(model, X if given else None, grid=5), Axes)


def test_field_of_three_outputs_and_missing_rows(flow):
    X, Y, _ = flow
    three = np.column_stack([Y, X[:, 0]])
    model = KernelRegressor(features=30).fit(X, pd.DataFrame(three, columns=["bx", "by", "bz"]))
    X = X.copy()
    X[0] = np.nan
    ax = plot.field(model, X, three, grid=6)
    assert ax.figure.axes[-1].get_ylabel() == "bz"
    assert ax.images[0].norm.vmin == -ax.images[0].norm.vmax


def test_learning_curve_measures_test_error(rows):
    x, y = rows
    ax = plot.learning_curve(KernelRegressor(), x, y, features=(20, 5))
    counts, errors = line(ax, "test error")
    np.testing.assert_array_equal(counts, [5, 20])
    a, b, c, d = train_test_split(x, y, test_size=0.2, random_state=0)
    expected = np.sqrt(np.mean((KernelRegressor(features=20).fit(a, c).predict(b) - d) ** 2))
    assert errors[1] == pytest.approx(expected)
    assert (ax.right_ax.lines[0].get_ydata() > 0).all()


def test_learning_curve_of_pipelines_classes_and_quantiles(rows, iris):
    x, y = rows
    pipeline = make_pipeline(StandardScaler(), RandomFourierFeatures(), KernelRegressor(features=10))
    plot.learning_curve(make_pipeline(StandardScaler(), KernelRegressor()), x, y, features=(5,))
    assert pipeline.get_params()["kernelregressor__features"] == 10
    ax = plot.learning_curve(KernelClassifier(penalty=1e-2), iris[0], iris[1], features=(5, 20))
    assert ax.get_ylabel() == "share of wrong labels"
    ax = plot.learning_curve(KernelQuantileRegressor([0.1, 0.9], penalty=1e-2), x, y, features=(5, 20))
    assert ax.get_ylabel() == "pinball loss"


def test_kernel_error_is_that_of_the_transformers(rng):
    X = rng.normal(size=(30, 2))
    ax = plot.kernel_error(Gaussian(1.5), X, features=(20, 80), draws=1)
    phi = RandomFourierFeatures(80, Gaussian(1.5), sampling="mc", random_state=0).fit_transform(X)
    error = np.abs(phi @ phi.T - Gaussian(1.5)(X))
    assert line(ax, "largest error")[1][1] == pytest.approx(error.max())
    assert line(ax, "mean error")[1][1] == pytest.approx(error[np.triu_indices(30)].mean())

    kernel = CurlFree(Gaussian(1.5))
    ax = plot.kernel_error(kernel, X, features=(20, 80), draws=1)
    phi = OperatorFeatures(kernel, 80, map="fourier,mc", random_state=0).fit(X).operator(X)
    left = (phi @ phi.T) @ np.eye(60) - kernel(X)
    norms = [np.linalg.norm(left[2 * i : 2 * i + 2, 2 * j : 2 * j + 2], 2) for i in range(30) for j in range(30)]
    size = max(np.linalg.norm(kernel(X)[2 * i : 2 * i + 2, 2 * i : 2 * i + 2], 2) for i in range(30))
    assert line(ax, "largest error")[1][1] == pytest.approx(max(norms) / size)


def test_the_rate_is_a_slope_of_minus_a_half(rng):
    ax = plot.kernel_error("gaussian(1)", rng.normal(size=(20, 2)), features=(10, 1000), draws=2)
    counts, rate = line(ax, "rate $D^{-1/2}$")
    assert rate[0] / rate[1] == pytest.approx(10)


def test_training_draws_the_trace(series):
    t, y, model = series
    trace = model.model_.training()
    ax = plot.training(model)
    drawn = [np.asarray(one.get_ydata()) for one in ax.lines]
    for name in ("nlml", "objective"):
        assert any(len(values) == len(trace[name]) and np.allclose(values, trace[name]) for values in drawn), name


def test_decision_of_two_classes_without_probabilities(iris):
    X, y = iris[0][:100, :2], np.array(["setosa", "versicolor"])[iris[1][:100]]
    model = KernelClassifier(features=20, loss="hinge", penalty=1e-2).fit(X, y)
    ax = plot.decision(model, X, y)
    assert labels(ax) == ["setosa", "versicolor"]
    colours = ax.images[0].get_array()
    low, high = np.transpose([ax.get_xlim(), ax.get_ylim()])
    first, last = (colours[int(j), int(i)] for i, j in np.round((X[[0, 99]] - low) / (high - low) * 159))
    assert first[2] > first[0] and last[0] > last[2]  # blue, orange


# --- what cannot be drawn


@pytest.fixture(scope="module")
def refusals(rows, ridge, quantiles, flow, series, iris):
    x, y = rows
    X, Y, field = flow
    t, v, process = series
    A, b, classifier = iris
    return {
        "no model": lambda: plot.fan(3, x),
        "not fitted": lambda: plot.fan(KernelRegressor(), x),
        "not fitted inside": lambda: plot.fan(ConformalRegressor(), x),
        "no predictions": lambda: plot.fan(RandomFourierFeatures(3).fit(x), x),
        "classes": lambda: plot.fan(classifier, A),
        "columns": lambda: plot.fan(ridge, np.hstack([x, x])),
        "no such input": lambda: plot.fan(ridge, x, feature=1),
        "no input of that name": lambda: plot.fan(ridge, x, feature="age"),
        "text": lambda: plot.fan(ridge, ["a", "b"]),
        "rows of y": lambda: plot.fan(ridge, x, y[:3]),
        "nothing finite": lambda: plot.fan(ridge, [[np.nan]]),
        "no such output": lambda: plot.residuals(ridge, x, y, output=1),
        "no field": lambda: plot.field(ridge),
        "grid": lambda: plot.field(field, grid=0),
        "Y without X": lambda: plot.field(field, Y=Y),
        "forecast of a field": lambda: plot.forecast(field, 3),
        "horizon": lambda: plot.forecast(process, 0),
        "horizon of a half": lambda: plot.forecast(process, 2.5),
        "level": lambda: plot.forecast(process, 3, level=1),
        "history": lambda: plot.forecast(process, 3, history=t),
        "history's rows": lambda: plot.forecast(process, 3, history=(t, v[:2])),
        "no spectrum": lambda: plot.spectrum(ridge),
        "no bands": lambda: plot.calibration(KernelRegressor(features=5, uncertainty="none").fit(x, y), x, y),
        "no probabilities": lambda: plot.calibration(KernelClassifier(features=5, loss="square").fit(A, b), A, b),
        "no training": lambda: plot.training(ridge),
        "no features": lambda: plot.learning_curve(ExactGP(), x, y),
        "empty features": lambda: plot.learning_curve(KernelRegressor(), x, y, features=()),
        "two rows": lambda: plot.learning_curve(KernelRegressor(), x[:2], y[:2]),
        "exact features": lambda: plot.kernel_error("linear()", x),
        "kernel": lambda: plot.kernel_error("gauss(1)", x),
        "one row": lambda: plot.kernel_error("gaussian(1)", x[:1]),
        "draws": lambda: plot.kernel_error("gaussian(1)", x, draws=0),
        "decision of numbers": lambda: plot.decision(ridge, x),
        "labels": lambda: plot.decision(classifier, A, b[:3]),
        "three inputs": lambda: plot.decision(classifier, A, b, features=(0, 1, 2)),
    }


def test_what_cannot_be_drawn_is_refused_in_one_line(refusals):
    for name, draw in refusals.items():
        with pytest.raises(ValueError) as caught:
            draw()
        message = str(caught.value)
        assert message and "\n" not in message and len(message) < 160, name


# --- matplotlib is optional


def run(code):
    root = Path(mercer.__file__).parents[1]
    code = f"import sys; sys.path.insert(0, {str(root)!r})\n{code}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_matplotlib_waits_until_a_picture_is_drawn():
    done = run("import mercer, mercer.plot\nprint('matplotlib' in sys.modules, flush=True)")
    assert done.stdout == "False\n"


def test_without_matplotlib_the_message_says_what_to_install():
    code = """
sys.modules["matplotlib"] = None
import mercer
try:
    mercer.plot.kernel_error("gaussian(1)", [[0.0], [1.0]], features=(5,))
except ImportError as error:
    print(error, flush=True)
"""
    assert run(code).stdout == "pictures need matplotlib: pip install 'mercer[plot]'\n"
