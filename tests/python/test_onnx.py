"""ONNX graphs predict what the models they come from predict, by onnxruntime."""

import json

import numpy as np
import onnxruntime
import pytest

import mercer
from mercer import (
    ConformalRegressor,
    ExactGP,
    KernelClassifier,
    KernelQuantileRegressor,
    KernelRegressor,
    KernelRegressorCV,
    SpectralMixtureGP,
)

KERNELS = [
    "gaussian(1.5)",
    "gaussian([0.5, 2])",
    "laplacian(3)",
    "cauchy([1, 2])",
    "rational_quadratic(1)",
    "rational_quadratic(1, alpha=2.5)",
    "matern(1, nu=0.5)",
    "matern([1, 2], nu=1.5)",
    "matern(1, nu=2.5)",
    "matern(2, nu=4.5)",
    "linear()",
    "polynomial(degree=3, offset=0.5)",
    "spectral_mixture(weights=[1, 0.5], means=[[0.2, 0.1], [0, 0.3]], scales=[[0.1, 0.2], [0, 0.1]])",
    "gaussian(1) + 0.5*linear()",
    "2*gaussian(1)*polynomial(degree=2, offset=1)",
    "(gaussian(1) + 0.3*laplacian(2))*cauchy(3)",
]
FIELDS = ["curl_free(gaussian(1))", "divergence_free(matern([1, 1.5], nu=2.5))", "helmholtz(rational_quadratic(1), 0.3)"]


def session(model):
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def run(estimator, X, dtype, **options):
    """Outputs by name."""
    runner = session(estimator.to_onnx(dtype=dtype, **options))
    names = [output.name for output in runner.get_outputs()]
    return dict(zip(names, runner.run(None, {"X": np.asarray(X, dtype=dtype)}), strict=True))


def check(estimator, X, scale, **options):
    """float32 to 1e-5 of the scale of the targets, float64 to 1e-10, with the rows as the graph sees them."""
    for dtype, tolerance in (("float32", 1e-5), ("float64", 1e-10)):
        rows = np.asarray(X, dtype=dtype)
        expected = estimator.predict(rows)
        answer = run(estimator, rows, dtype, **options)["prediction"]
        assert answer.dtype == dtype
        assert answer.shape == expected.shape
        assert np.abs(answer - expected).max() <= tolerance * scale, dtype


@pytest.fixture
def field(rng):
    X = rng.uniform(-1, 1, (60, 2))
    return X, np.column_stack([np.sin(2 * X[:, 0]) - X[:, 1], X[:, 0] + X[:, 1] ** 2])


@pytest.fixture
def fresh(rng):
    """Rows that models have not seen, some outside of where they were fitted."""
    return np.random.default_rng(1).uniform(-2.5, 2.5, (40, 2))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("map", ["fourier:100", "exact", "p-sr:40", "nystrom:40"])
def test_kernels_and_maps(kernel, map, wave, fresh):
    X, y = wave
    model = KernelRegressor(kernel, map=map, penalty=1e-4).fit(X, y)
    check(model, fresh, y.std())
    check(model, X[:3], y.std())


@pytest.mark.parametrize("kernel", KERNELS[:3])
def test_many_inputs(kernel, rng):
    """Beyond 16 inputs squared distances come from inner products."""
    kernel = kernel.replace("([0.5, 2])", f"({(1 + np.arange(20)).tolist()})")
    X = rng.normal(size=(150, 20))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    for map in ("fourier:100", "exact", "p-sr:60"):
        model = KernelRegressor(kernel, map=map).fit(X, y)
        check(model, np.vstack([X[:20], rng.normal(size=(20, 20))]), y.std())


def test_other_smoothness(wave, fresh):
    X, y = wave
    check(KernelRegressor("matern(1, nu=0.8)", features=50).fit(X, y), fresh, y.std())
    with pytest.raises(ValueError, match="nu=0.8 cannot be written in ONNX"):
        KernelRegressor("matern(1, nu=0.8)", map="exact").fit(X, y).to_onnx()


@pytest.mark.parametrize("kernel", [*FIELDS, "helmholtz(matern(1, nu=1.5), 0.7)", "curl_free(gaussian(1) + 0.5*gaussian(2))"])
@pytest.mark.parametrize("map", ["fourier:80", "exact"])
def test_fields(kernel, map, field):
    X, y = field
    model = KernelRegressor(kernel, map=map).fit(X, y)
    check(model, np.vstack([X[:10], np.random.default_rng(1).uniform(-1.3, 1.3, (20, 2))]), y.std())


def test_fields_that_have_no_form(field):
    with pytest.raises(ValueError, match="exact vector fields with the kernel cauchy .* map='fourier'"):
        KernelRegressor("curl_free(cauchy(1))", map="exact").fit(*field).to_onnx()


@pytest.mark.parametrize("map", ["fourier:80", "exact", "p-sr:40"])
@pytest.mark.parametrize("outputs", ["identity", "covariance", "[[1, 0.5], [0.5, 2]]"])
def test_several_targets(map, outputs, field):
    X, y = field
    model = KernelRegressor(f"decomposable(gaussian(1), {outputs})", map=map).fit(X, y)
    check(model, X, y.std())
    assert run(model, X, "float32")["prediction"].shape == (60, 2)


def test_sum_of_output_matrices(field):
    X, y = field
    kernel = "decomposable(gaussian(1), [[1, 0.5], [0.5, 2]]) + 0.5*decomposable(linear(), identity)"
    for map in ("fourier:80", "exact"):
        check(KernelRegressor(kernel, map=map).fit(X, y), X, y.std())


def test_column_vector_of_targets(wave):
    X, y = wave
    model = KernelRegressor(features=50).fit(X, y[:, None])
    check(model, X, y.std())
    assert run(model, X, "float32")["prediction"].shape == (300, 1)


@pytest.mark.parametrize("loss", ["huber:1.345", "epsilon:0.1"])
def test_other_losses(loss, wave, fresh):
    X, y = wave
    check(KernelRegressor(loss=loss, features=50).fit(X, y), fresh, y.std())


def test_cv(wave, fresh):
    X, y = wave
    check(KernelRegressorCV(features=50, length_factors=(0.5, 1)).fit(X, y), fresh, y.std())


@pytest.mark.parametrize("options", [{"standardize": False}, {"intercept": False}])
def test_settings(options, wave, fresh):
    X, y = wave
    check(KernelRegressor(features=50, **options).fit(X, y), fresh, np.abs(y).max())


def test_far_from_zero(wave):
    """Inputs whose shift is large against their scale."""
    X, y = wave
    X = X + [1e5, -4e3]
    for map in ("fourier:100", "exact"):
        model = KernelRegressor(map=map, penalty=1e-3).fit(X, y)
        rows = X.astype(np.float32)
        answer = run(model, rows, "float32", arithmetic="float32")["prediction"]
        assert np.abs(answer - model.predict(rows)).max() <= 1e-5 * y.std()
        check(model, X, y.std())


@pytest.mark.parametrize("loss", ["logistic", "multinomial", "square", "hinge"])
@pytest.mark.parametrize("labels", [["no", "yes"], [3, 7, -1], ["a", "b", "c"], [0.0, 1.0, 2.0]])
@pytest.mark.parametrize("map", ["fourier:60", "p-sr:40"])
def test_classifiers(loss, labels, map, wave):
    X, y = wave
    names = np.array(labels)[np.digitize(y, np.quantile(y, [0.3, 0.7] if len(labels) == 3 else [0.5]))]
    model = KernelClassifier(loss=loss, map=map, penalty=1e-3).fit(X, names)
    for dtype, tolerance in (("float32", 1e-5), ("float64", 1e-10)):
        rows = X.astype(dtype)
        expected = model._scores(rows)
        answer = run(model, rows, dtype)
        name = "probabilities" if loss in ("logistic", "multinomial") else "scores"
        assert set(answer) == {"label", name}
        assert answer[name].dtype == dtype
        np.testing.assert_allclose(answer[name], expected, rtol=0, atol=tolerance * max(1, np.abs(expected).max()))
        clear = np.ptp(np.sort(expected, axis=1)[:, -2:], axis=1) > 1e-4
        assert answer["label"].shape == (300,)
        assert (answer["label"] == model.predict(rows))[clear].all()


@pytest.mark.parametrize("levels", [[0.5], [0.1, 0.5, 0.9]])
def test_quantiles(levels, wave, fresh):
    X, y = wave
    for map in ("fourier:40", "nystrom:40"):
        check(KernelQuantileRegressor(levels, map=map, penalty=1e-3).fit(X, y), fresh, y.std())


def test_spectral_mixture(rng):
    t = np.arange(200.0)
    y = np.sin(2 * np.pi * t / 12) + 0.01 * t + 0.05 * rng.normal(size=200)
    for mean in ("none", "constant", "linear"):
        model = SpectralMixtureGP(components=3, points=40, steps=30, mean=mean).fit(t, y)
        check(model, np.arange(220.0)[:, None], y.std())


@pytest.mark.parametrize("outputs", ["independent", "shared"])
def test_spectra_of_several_targets(outputs, field):
    X, y = field
    model = SpectralMixtureGP(components=2, points=30, steps=20, outputs=outputs, mean="linear").fit(X, y)
    check(model, X, y.std())


@pytest.mark.parametrize("inducing", [None, 15])
@pytest.mark.parametrize("mean", ["none", "constant", "linear"])
def test_exact_processes(inducing, mean, wave, fresh):
    X, y = wave
    model = ExactGP("matern(1, nu=2.5)", inducing=inducing, mean=mean, steps=10).fit(X[:80], y[:80])
    check(model, fresh, y.std())


def test_exact_processes_of_several_targets(field):
    X, y = field
    y = y + 0.1 * np.random.default_rng(2).normal(size=y.shape)
    check(ExactGP("gaussian(1) + linear()", steps=10).fit(X, y), X, y.std())
    check(ExactGP("spectral_mixture:2", steps=10).fit(X, y), X, y.std())


def test_dates():
    days = np.arange("2020-01-01", "2020-07-01", dtype="datetime64[D]")
    y = np.sin(2 * np.pi * np.arange(len(days)) / 7)
    model = SpectralMixtureGP(components=2, points=40, steps=30).fit(days, y)
    made = model.to_onnx()
    rows = days.astype(float)[:, None].astype(np.float32)
    answer = session(made).run(None, {"X": rows})[0]
    assert np.abs(answer - model.predict(days)).max() < 1e-5
    assert properties(made)["dates"] == "days since 1970-01-01"


def check_intervals(model, X, scale):
    for dtype, tolerance in (("float32", 1e-5), ("float64", 1e-10)):
        rows = X.astype(dtype)
        answer = run(model, rows, dtype)
        assert set(answer) == {"prediction", "lower", "upper"}
        for name, expected in zip(("lower", "upper"), model.predict_interval(rows), strict=True):
            assert answer[name].shape == expected.shape
            assert np.abs(answer[name] - expected).max() <= tolerance * scale, (name, dtype)


def test_intervals_of_constant_width(wave):
    X, y = wave
    check_intervals(ConformalRegressor(KernelRegressor(features=50, uncertainty="none")).fit(X, y), X, y.std())
    check_intervals(ConformalRegressor(KernelRegressor(features=50, loss="huber:1")).fit(X, y), X, y.std())


def test_intervals_of_quantiles(wave):
    X, y = wave
    model = ConformalRegressor(KernelQuantileRegressor([0.1, 0.5, 0.9], features=40, penalty=1e-3)).fit(X, y)
    check_intervals(model, X, y.std())


@pytest.mark.parametrize(
    "options",
    [
        {"features": 40},
        {"map": "p-sr:30"},
        {"kernel": "gaussian(1)*polynomial(degree=1, offset=1) + linear()", "features": 20},
        {"features": 40, "solver": "cholesky"},
        {"features": 40, "uncertainty": "samples"},
        {"features": 40, "intercept": False},
        {"kernel": "decomposable(gaussian(1), [[1, 0.5], [0.5, 2]])", "features": 30},
        {"kernel": "helmholtz(gaussian(1), 0.4)", "features": 30},
    ],
    ids=str,
)
def test_intervals_that_follow_the_deviation(options, wave):
    X, y = wave
    if "decomposable" in options.get("kernel", "") or "helmholtz" in options.get("kernel", ""):
        y = np.column_stack([y, 2 * y + X[:, 0] + np.random.default_rng(3).normal(size=300)])
    model = ConformalRegressor(KernelRegressor(penalty=1e-3, **options)).fit(X, y)
    assert mercer._core.model_parts(model.estimator_.model_)["calibration"]["relative"]
    check_intervals(model, X, y.std())
    assert set(run(model, X, "float32", intervals=False)) == {"prediction"}


def test_intervals_that_are_not_written(wave):
    X, y = wave
    model = ConformalRegressor(KernelRegressor(map="exact", penalty=1e-3)).fit(X, y)
    with pytest.raises(ValueError, match="intervals=False"):
        model.to_onnx()
    assert set(run(model, X, "float32", intervals=False)) == {"prediction"}


def properties(model):
    return {entry.key: entry.value for entry in model.metadata_props}


def test_metadata(wave):
    import pandas

    X, y = wave
    frame = pandas.DataFrame(X, columns=["east", "north"])
    made = KernelRegressor("gaussian(1)", features=50).fit(frame, pandas.Series(y, name="height")).to_onnx()
    assert made.producer_name == "mercer"
    assert made.producer_version == mercer.__version__
    told = properties(made)
    assert told["kernel"] == "gaussian(1)"
    assert told["mercer"] == mercer.__version__
    assert json.loads(told["inputs"]) == ["east", "north"]
    assert json.loads(told["outputs"]) == ["height"]


def test_any_number_of_rows(wave, tmp_path):
    X, y = wave
    path = tmp_path / "wave.onnx"
    model = KernelRegressor(features=50).fit(X, y)
    model.to_onnx(path)
    runner = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (place,) = runner.get_inputs()
    assert (place.name, place.shape, place.type) == ("X", ["N", 2], "tensor(float)")
    assert runner.get_outputs()[0].shape == ["N"]
    for rows in (0, 1, 7, 300):
        assert runner.run(None, {"X": X[:rows].astype(np.float32)})[0].shape == (rows,)


@pytest.mark.parametrize("map", ["fourier:50", "exact"])
def test_missing_numbers(map, wave):
    X, y = wave
    rows = X[:3].copy()
    rows[1, 0] = np.nan
    answer = run(KernelRegressor(map=map).fit(X, y), rows, "float32")["prediction"]
    assert np.isnan(answer).tolist() == [False, True, False]


def test_loaded_models(wave, tmp_path):
    X, y = wave
    KernelRegressor(map="p-sr:40", penalty=1e-3).fit(X, y).save(tmp_path / "m.mercer")
    check(mercer.load(tmp_path / "m.mercer"), X, y.std())


def test_arithmetic_is_single_where_it_can_be(wave):
    X, y = wave
    models = [KernelRegressor(map=map, penalty=1e-3).fit(X, y) for map in ("fourier:300", "exact")]
    assert [properties(model.to_onnx())["arithmetic"] for model in models] == ["float32", "float64"]
    check(models[0], X, y.std())


def test_arguments_are_checked(wave):
    X, y = wave
    model = KernelRegressor(features=20)
    with pytest.raises(Exception, match="not fitted"):
        model.to_onnx()
    model.fit(X, y)
    with pytest.raises(ValueError, match="dtype must be one of float32, float64, got 'int8'"):
        model.to_onnx(dtype="int8")
    with pytest.raises(ValueError, match="arithmetic must be"):
        model.to_onnx(arithmetic="half")
