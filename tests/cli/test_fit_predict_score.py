"""fit, predict and score against dense solves with numpy and scikit-learn."""

import numpy as np
import pytest
from conftest import read_csv, write_csv
from oracles import RAW, SUMMARY, bordered, close, gaussian, predicted
from scipy.linalg import solve
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.preprocessing import KernelCenterer, StandardScaler


# --- the first lines of a newcomer ------------------------------------------------------------------------------------


def test_first_lines_of_a_newcomer(run, smooth, tmp_path):
    _, test = smooth
    said = run("fit", "train.csv", "--target", "y", "--map", "fourier:100", "-o", "m.mercer").out
    for words in ["fitted 120 rows, 3 inputs, 1 output", "kernel gaussian(", "fourier:100", "penalty", "wrote m.mercer"]:
        assert words in said
    assert "wrote p.csv" in run("predict", "m.mercer", "test.csv", "--std", "-o", "p.csv").out
    header, rows = read_csv(tmp_path / "p.csv")
    values = rows.astype(float)
    assert header == ["y", "y_std"] and values.shape == (30, 2) and (values[:, 1] > 0).all()
    assert root_mean_squared_error(test.y, values[:, 0]) < 0.5 * test.y.std()
    text = run("score", "m.mercer", "test.csv").out
    assert "RMSE" in text and "30 rows" in text


def test_predictions_as_npy(run, smooth, species, tmp_path):
    run("fit", "train.csv", "--target", "y", "--map", "fourier:30", "-o", "m.mercer")
    for name in ["p.csv", "p.npy"]:
        run("predict", "m.mercer", "test.csv", "--std", "-o", name)
    values = np.load(tmp_path / "p.npy")
    assert values.dtype == np.float64 and values.shape == (30, 2)
    assert (values == read_csv(tmp_path / "p.csv")[1].astype(float)).all()
    run("fit", "species.csv", "--target", "kind", "--map", "fourier:10", "-o", "c.mercer")
    failed = run("predict", "c.mercer", "species.csv", "-o", "c.npy", ok=False)
    assert "class names: end -o 'c.npy' in .csv" in failed.err and not (tmp_path / "c.npy").exists()


def test_without_output_nothing_is_written(run, smooth, tmp_path):
    before = sorted(tmp_path.iterdir())
    assert "-o model.mercer" in run("fit", "train.csv", "--target", "y", "--map", "fourier:10").out
    assert sorted(tmp_path.iterdir()) == before


def test_quiet_says_nothing(run, smooth):
    fit = ["fit", "train.csv", "--target", "y", "--map", "fourier:10", "-o", "m.mercer", "--quiet"]
    assert run(*fit).out == ""
    both = run(*fit, "--json")
    assert both.json["n"] == 120 and both.err == ""
    assert run("score", "m.mercer", "test.csv", "--quiet").out == ""


# --- JSON, key by key as the help documents it ------------------------------------------------------------------------


def test_json_of_fit(run, smooth):
    fit = ["fit", "train.csv", "--target", "y", "--json"]
    j = run(*fit, "--map", "fourier:10").json
    assert set(j) == SUMMARY | {"rows_dropped", "cells_filled", "dates", "model"}
    assert set(j["seconds"]) == {"total", "read", "map", "accumulate", "solve"}
    assert (j["n"], j["weight"], j["inputs"], j["outputs"], j["features"], j["parameters"]) == (120, 120, 3, 1, 20, 20)
    assert j["map"].startswith("fourier:10") and j["sampling"] == "orthogonal" and j["solver"] == "eigen" and j["model"] == ""
    assert j["penalty_chosen"] is True and j["leave_one_out_rows"] == 120 and j["status"] == "ok"
    assert min(j["penalty_path"], key=lambda pair: pair[1])[0] == j["penalty"]
    assert 0 < j["degrees_of_freedom"] < 21 and j["peak_memory_bytes"] > 1e6
    fixed = run(*fit, "--map", "fourier:10", "--penalty", "1e-3", "--holdout", "0.25", "-o", "m.mercer").json
    assert set(fixed) == SUMMARY | {"rows_dropped", "cells_filled", "dates", "model", "holdout"}
    assert set(fixed["holdout"]) == {"n", "targets", "rmse", "rrmse", "mae", "arrmse", "r2"}
    assert fixed["penalty"] == 1e-3 and fixed["penalty_chosen"] is False and fixed["penalty_path"] == []
    assert fixed["leave_one_out_rmse"] is None and fixed["model"] == "m.mercer"
    exact = run(*fit, "--map", "exact").json
    assert set(exact) == SUMMARY | {"rows_dropped", "cells_filled", "dates", "model"}
    assert (exact["map"], exact["solver"], exact["sampling"], exact["features"]) == ("exact", "exact", "", 120)


def test_json_of_predict_and_score(run, smooth, species, tmp_path):
    run("fit", "train.csv", "--target", "y", "--map", "fourier:10", "-o", "m.mercer")
    j = run("predict", "m.mercer", "test.csv", "--std", "-o", "p.csv", "--json").json
    assert set(j) == {"n", "outputs", "columns", "predictions", "seconds", "peak_memory_bytes"}
    assert (j["n"], j["outputs"], j["columns"], j["predictions"]) == (30, 1, ["y", "y_std"], "p.csv")
    j = run("score", "m.mercer", "test.csv", "--json").json
    assert set(j) == {"n", "targets", "rmse", "mae", "rrmse", "arrmse", "r2", "seconds"} and set(j["seconds"]) == {"total"}
    run("fit", "species.csv", "--target", "kind", "--map", "fourier:10", "-o", "k.mercer")
    j = run("score", "k.mercer", "species.csv", "--json").json
    assert set(j) == {"n", "accuracy", "error_percent", "classes", "confusion", "seconds"}


# --- exact models against dense solves --------------------------------------------------------------------------------


def test_linear_kernel_is_sklearn_kernel_ridge(run, smooth):
    train, test = smooth
    run("fit", "train.csv", "--target", "y", "--kernel", "linear()", "--map", "exact", "--penalty", "0.01", *RAW, "-o", "m.mercer")
    oracle = KernelRidge(kernel="linear", alpha=120 * 0.01).fit(train.x, train.y)
    assert close(predicted(run, "m.mercer", "test.csv"), oracle.predict(test.x), 1e-10)


@pytest.mark.parametrize("feature_map", ["exact", "fourier:7"])
def test_linear_kernel_with_intercept_is_sklearn_ridge(run, smooth, feature_map):
    train, test = smooth
    run("fit", "train.csv", "--target", "y", "--kernel", "linear()", "--map", feature_map, "--penalty", "0.01", "--no-standardize",
        "-o", "m.mercer")
    oracle = Ridge(alpha=120 * 0.01).fit(train.x, train.y)
    assert close(predicted(run, "m.mercer", "test.csv"), oracle.predict(test.x), 1e-10)


@pytest.mark.parametrize("feature_map", ["exact", "fourier:7"])
@pytest.mark.parametrize("degree, offset", [(2, 1.0), (3, 0.5)])
def test_polynomial_kernel_is_centred_sklearn_kernel_ridge(run, smooth, degree, offset, feature_map):
    train, test = smooth
    kernel = f"polynomial({degree}, offset={offset})"
    run("fit", "train.csv", "--target", "y", "--kernel", kernel, "--map", feature_map, "--penalty", "1e-3", "-o", "m.mercer")
    scaler = StandardScaler().fit(train.x)
    x, z = scaler.transform(train.x), scaler.transform(test.x)
    centre = KernelCenterer()
    k = centre.fit_transform((x @ x.T + offset) ** degree)
    oracle = KernelRidge(kernel="precomputed", alpha=120e-3).fit(k, train.y - train.y.mean())
    expected = oracle.predict(centre.transform((z @ x.T + offset) ** degree)) + train.y.mean()
    assert close(predicted(run, "m.mercer", "test.csv"), expected, 1e-9)


def test_standardized_gaussian_is_a_dense_solve(run, smooth):
    train, test = smooth
    run("fit", "train.csv", "--target", "y", "--kernel", "gaussian(1.5)", "--map", "exact", "--penalty", "1e-4", "-o", "m.mercer")
    mean, scale = train.x.mean(0), train.x.std(0)
    x, z, y = (train.x - mean) / scale, (test.x - mean) / scale, (train.y - train.y.mean()) / train.y.std()
    a, b = bordered(gaussian(x, x, 1.5), y, 120e-4)
    expected = (gaussian(z, x, 1.5) @ a + b) * train.y.std() + train.y.mean()
    assert close(predicted(run, "m.mercer", "test.csv"), expected, 1e-10)


def test_fourier_model_is_kernel_ridge_with_the_approximate_gram(run, smooth, tmp_path):
    """gram --map and fit --map draw the same features from the same seed."""
    train, test = smooth
    write_csv(tmp_path / "x.csv", ["a", "b", "c"], train.x.T)
    write_csv(tmp_path / "z.csv", ["a", "b", "c"], test.x.T)
    how = ["--kernel", "gaussian([1, 10, 0.1])", "--map", "fourier:40,mc", "--seed", "5"]
    run("gram", "x.csv", *how, "-o", "k.npy")
    run("gram", "z.csv", "x.csv", *how, "-o", "kz.npy")
    run("fit", "train.csv", "--target", "y", *how, "--penalty", "1e-3", *RAW, "-o", "m.mercer")
    k, kz = np.load(tmp_path / "k.npy"), np.load(tmp_path / "kz.npy")
    expected = kz @ solve(k + 120e-3 * np.eye(120), train.y, assume_a="pos")
    assert close(predicted(run, "m.mercer", "test.csv"), expected, 1e-9)


def test_coupled_outputs_are_a_dense_solve(run, field):
    a_matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    kernel = "decomposable(gaussian(0.7), [[2, 0.5], [0.5, 1]])"
    run("fit", "field.csv", "--target", "u,v", "--kernel", kernel, "--map", "exact", "--penalty", "1e-3", *RAW, "-o", "m.mercer")
    k = np.kron(gaussian(field.x, field.x, 0.7), a_matrix)
    expected = k @ solve(k + 80e-3 * np.eye(160), field.y.ravel(), assume_a="pos")
    assert close(predicted(run, "m.mercer", "field.csv"), expected, 1e-9)


def curl_free_gaussian(x, z, s):
    """σ⁻²(I - δδᵀ/σ²) exp(-‖δ‖²/2σ²), laid out (n·d) × (m·d)."""
    delta = x[:, None, :] - z[None, :, :]
    block = (np.eye(2) - delta[..., :, None] * delta[..., None, :] / s**2) / s**2 * gaussian(x, z, s)[..., None, None]
    return block.transpose(0, 2, 1, 3).reshape(2 * len(x), 2 * len(z))


def test_curl_free_field_is_a_dense_solve(run, field):
    run("fit", "field.csv", "--target", "u,v", "--kernel", "curl_free(gaussian(0.8))", "--map", "exact", "--penalty", "1e-3", *RAW,
        "-o", "m.mercer")
    k = curl_free_gaussian(field.x, field.x, 0.8)
    expected = k @ solve(k + 80e-3 * np.eye(160), field.y.ravel(), assume_a="pos")
    assert close(predicted(run, "m.mercer", "field.csv"), expected, 1e-9)


def test_fields_share_one_scale(run, tmp_path):
    """Standardised: all inputs divided by one factor, all outputs by another, so that a gradient stays a gradient."""
    random = np.random.default_rng(3)
    x = random.normal(size=(50, 2)) * [1, 5] + [3, 0]
    u = np.stack([2 * x[:, 0], np.cos(x[:, 1])], axis=1)
    write_csv(tmp_path / "f.csv", ["p", "q", "u", "v"], [*x.T, *u.T])
    run("fit", "f.csv", "--target", "u,v", "--kernel", "curl_free(gaussian(0.8))", "--map", "exact", "--penalty", "1e-3", "-o", "m.mercer")
    t = (x - x.mean(0)) / np.sqrt(x.var(0).mean())
    scale = np.sqrt(u.var(0).mean())
    y = ((u - u.mean(0)) / scale).ravel()
    k = curl_free_gaussian(t, t, 0.8)
    ones = np.kron(np.ones((50, 1)), np.eye(2))
    system = np.block([[k + 50e-3 * np.eye(100), ones], [ones.T, np.zeros((2, 2))]])
    solution = solve(system, np.append(y, [0, 0]))
    expected = (k @ solution[:100] + ones @ solution[100:]).reshape(50, 2) * scale + u.mean(0)
    assert close(predicted(run, "m.mercer", "f.csv"), expected, 1e-9)


# --- scores -----------------------------------------------------------------------------------------------------------


def test_scores_are_those_of_sklearn(run, field, tmp_path):
    train, test = slice(0, 50), slice(50, 80)
    for name, rows in [("train.csv", train), ("test.csv", test)]:
        write_csv(tmp_path / name, ["px", "py", "u", "v"], [*field.x[rows].T, *field.y[rows].T])
    run("fit", "train.csv", "--target", "u,v", "--map", "fourier:10", "--penalty", "1e-2", "-o", "m.mercer")
    header, rows = read_csv(run("predict", "m.mercer", "test.csv").out)
    assert header == ["u", "v"]
    f, y = rows.astype(float), field.y[test]
    j = run("score", "m.mercer", "test.csv", "--json").json
    assert j["n"] == 30 and j["targets"] == ["u", "v"]
    np.testing.assert_allclose(j["rmse"], root_mean_squared_error(y, f, multioutput="raw_values"), rtol=1e-10)
    np.testing.assert_allclose(j["mae"], mean_absolute_error(y, f, multioutput="raw_values"), rtol=1e-10)
    rrmse = np.sqrt(((f - y) ** 2).sum(0) / ((y - field.y[train].mean(0)) ** 2).sum(0))
    np.testing.assert_allclose(j["rrmse"], rrmse, rtol=1e-10)
    assert j["arrmse"] == pytest.approx(rrmse.mean(), rel=1e-10)
    assert j["r2"] == pytest.approx(r2_score(y, f), rel=1e-10)
