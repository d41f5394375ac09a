"""fit, predict and score against independent computations with numpy and scikit-learn."""

import numpy as np
import pytest
from conftest import numbers, read_csv, write_csv
from scipy.linalg import solve
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics import confusion_matrix, mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.preprocessing import KernelCenterer, StandardScaler

SUMMARY = {
    "n", "weight", "inputs", "outputs", "features", "parameters", "kernel", "map", "sampling", "solver", "precision", "penalty",
    "penalty_chosen", "penalty_path", "leave_one_out_rmse", "leave_one_out_rows", "degrees_of_freedom", "iterations",
    "residual", "status", "notes", "seconds", "peak_memory_bytes",
}  # fmt: skip
RAW = ["--no-standardize", "--no-intercept"]


def gaussian(x, z, scale=1.0):
    return np.exp(-((x[:, None, :] - z[None, :, :]) ** 2).sum(-1) / (2 * scale**2))


def bordered(k, y, ridge, weights=None):
    """f = K a + b with (K + ridge W⁻¹) a + b 1 = y, 1ᵀa = 0: kernel ridge with an unpenalised constant."""
    n = len(y)
    w = np.ones(n) if weights is None else weights
    system = np.block([[k + ridge * np.diag(1 / w), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = solve(system, np.append(y, 0))
    return solution[:n], solution[n]


def predicted(run, model, data, *options):
    return numbers(run("predict", model, data, *options).out)


def close(a, b, tolerance):
    """Within a tolerance relative to the spread of b."""
    return np.abs(np.ravel(a) - np.ravel(b)).max() <= tolerance * np.ptp(b)


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
    assert set(j) == SUMMARY | {"rows_dropped", "cells_filled", "model"}
    assert set(j["seconds"]) == {"total", "read", "accumulate", "solve"}
    assert (j["n"], j["weight"], j["inputs"], j["outputs"], j["features"], j["parameters"]) == (120, 120, 3, 1, 20, 20)
    assert j["map"].startswith("fourier:10") and j["sampling"] == "orthogonal" and j["solver"] == "eigen" and j["model"] == ""
    assert j["penalty_chosen"] is True and j["leave_one_out_rows"] == 120 and j["status"] == "ok"
    assert min(j["penalty_path"], key=lambda pair: pair[1])[0] == j["penalty"]
    assert 0 < j["degrees_of_freedom"] < 21 and j["peak_memory_bytes"] > 1e6
    fixed = run(*fit, "--map", "fourier:10", "--penalty", "1e-3", "--holdout", "0.25", "-o", "m.mercer").json
    assert set(fixed) == SUMMARY | {"rows_dropped", "cells_filled", "model", "holdout"}
    assert set(fixed["holdout"]) == {"n", "targets", "rmse", "rrmse", "mae", "arrmse", "r2"}
    assert fixed["penalty"] == 1e-3 and fixed["penalty_chosen"] is False and fixed["penalty_path"] == []
    assert fixed["leave_one_out_rmse"] is None and fixed["model"] == "m.mercer"
    exact = run(*fit, "--map", "exact").json
    assert set(exact) == SUMMARY | {"rows_dropped", "cells_filled", "model"}
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


# --- penalty by leave-one-out, standard deviations --------------------------------------------------------------------


@pytest.mark.parametrize("feature_map", ["exact", "fourier:30"])
def test_leave_one_out_is_refitting_without_each_row(run, smooth, tmp_path, feature_map):
    train, _ = smooth
    x, y = train.x[:40], train.y[:40]
    write_csv(tmp_path / "few.csv", ["a", "b", "c", "y"], [*x.T, y])
    write_csv(tmp_path / "x.csv", ["a", "b", "c"], ((x - x.mean(0)) / x.std(0)).T)
    how = ["--kernel", "gaussian(1.5)", "--map", feature_map]
    j = run("fit", "few.csv", "--target", "y", *how, "--json").json
    run("gram", "x.csv", *how, "-o", "k.npy")
    k = np.load(tmp_path / "k.npy")
    t = (y - y.mean()) / y.std()
    ridge = 40 * j["penalty"]
    squares = []
    for i in range(40):
        rest = np.delete(np.arange(40), i)
        a, b = bordered(k[np.ix_(rest, rest)], t[rest], ridge)
        squares.append((k[i, rest] @ a + b - t[i]) ** 2)
    assert np.sqrt(np.mean(squares)) == pytest.approx(j["leave_one_out_rmse"], rel=1e-6)
    assert np.mean(squares) == pytest.approx(dict(map(tuple, j["penalty_path"]))[j["penalty"]], rel=1e-6)


@pytest.mark.parametrize("feature_map", ["exact", "fourier:60"])
def test_standard_deviations_are_those_of_a_gaussian_process(run, smooth, tmp_path, feature_map):
    """Ridge at penalty λ is the mean of a process with kernel (σ²/nλ) k and noise σ² = RSS/(n - degrees of freedom)."""
    train, test = smooth
    write_csv(tmp_path / "x.csv", ["a", "b", "c"], (train.x / [1, 10, 0.1]).T)
    write_csv(tmp_path / "z.csv", ["a", "b", "c"], (test.x / [1, 10, 0.1]).T)
    how = ["--kernel", "gaussian(1.5)", "--map", feature_map]
    run("gram", "x.csv", *how, "-o", "k.npy")
    run("gram", "z.csv", "x.csv", *how, "-o", "kz.npy")
    run("gram", "z.csv", *how, "-o", "kzz.npy")
    k, kz, kzz = (np.load(tmp_path / f"{name}.npy") for name in ["k", "kz", "kzz"])
    y = train.y - train.y.mean()
    write_csv(tmp_path / "xy.csv", ["a", "b", "c", "y"], [*(train.x / [1, 10, 0.1]).T, y])
    j = run("fit", "xy.csv", "--target", "y", *how, "--penalty", "1e-3", *RAW, "-o", "m.mercer", "--json").json
    ridge = 120e-3
    inverse = np.linalg.inv(k + ridge * np.eye(120))
    noise = ((y - k @ inverse @ y) ** 2).sum() / (120 - j["degrees_of_freedom"])
    latent = np.sqrt(noise / ridge * np.diag(kzz - kz @ inverse @ kz.T))
    mean, deviation = predicted(run, "m.mercer", "z.csv", "--std", "--latent").T
    assert close(mean, kz @ inverse @ y, 1e-9)
    np.testing.assert_allclose(deviation, latent, rtol=1e-7)
    _, observed = predicted(run, "m.mercer", "z.csv", "--std").T
    np.testing.assert_allclose(observed, np.sqrt(latent**2 + noise), rtol=1e-7)
    if feature_map == "exact":
        process = GaussianProcessRegressor(ConstantKernel(noise / ridge) * RBF(1.5), alpha=noise, optimizer=None)
        process.fit(train.x / [1, 10, 0.1], y)
        np.testing.assert_allclose(deviation, process.predict(test.x / [1, 10, 0.1], return_std=True)[1], rtol=1e-6)


@pytest.mark.parametrize("solver", ["exact", "cholesky", "eigen", "cg"])
def test_degrees_of_freedom_are_the_trace_of_the_hat_matrix(run, smooth, tmp_path, solver):
    """eigen: exactly. The others estimate tr(R), R = I - hat, by 32 (cg: 8) Rademacher probes, whose sum has variance
    2 Σ_{i≠j} R_ij² per probe; 6 standard deviations. An intercept counts for at most 1 more."""
    train, _ = smooth
    x, y = train.x / [1, 10, 0.1], train.y
    write_csv(tmp_path / "xy.csv", ["a", "b", "c", "y"], [*x.T, y])
    write_csv(tmp_path / "x.csv", ["a", "b", "c"], x.T)
    how = ["--kernel", "gaussian(1.5)", "--map", "exact" if solver == "exact" else "fourier:60"]
    run("gram", "x.csv", *how, "-o", "k.npy")
    k = np.load(tmp_path / "k.npy")
    fit = ["fit", "xy.csv", "--target", "y", *how, "--penalty", "1e-3", "--no-standardize", "--json"]
    fit += [] if solver == "exact" else ["--solver", solver]
    inverse = np.linalg.inv(k + 120e-3 * np.eye(120))
    border = inverse.sum(1)
    for options, m in [(["--no-intercept"], inverse), ([], inverse - np.outer(border, border) / border.sum())]:
        residual = 120e-3 * m
        spread = np.sqrt(2 * ((residual**2).sum() - (np.diag(residual) ** 2).sum()) / (8 if solver == "cg" else 32))
        tolerance = 1e-6 if solver == "eigen" else 6 * spread
        assert run(*fit, *options).json["degrees_of_freedom"] == pytest.approx(120 - np.trace(residual), abs=tolerance)


def test_sampled_standard_deviations(run, smooth):
    """64 draws: a standard deviation is off by a relative 1/√128 = 9 %; 5 of those are 45 %."""
    for keep in ["full", "samples"]:
        run("fit", "train.csv", "--target", "y", "--map", "fourier:40", "--penalty", "1e-4", "--uncertainty", keep, "-o", f"{keep}.mercer")
    full = predicted(run, "full.mercer", "test.csv", "--std", "--latent")
    samples = predicted(run, "samples.mercer", "test.csv", "--std", "--latent")
    assert close(samples[:, 0], full[:, 0], 1e-12)
    ratio = samples[:, 1] / full[:, 1]
    assert 0.55 < ratio.min() and ratio.max() < 1.45


# --- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("feature_map", ["exact", "fourier:30", "fourier:30 --solver cg"])
def test_weights_are_repetitions(run, smooth, tmp_path, feature_map):
    train, _ = smooth
    weight = np.random.default_rng(1).integers(0, 4, size=120)
    columns = [*train.x.T, train.y]
    write_csv(tmp_path / "w.csv", ["a", "b", "c", "y", "w"], [*columns, weight])
    write_csv(tmp_path / "r.csv", ["a", "b", "c", "y"], [np.repeat(c, weight) for c in columns])
    how = ["--target", "y", "--map", *feature_map.split(), "--penalty", "1e-4"]
    one = run("fit", "w.csv", *how, "--weights", "w", "-o", "w.mercer", "--json").json
    two = run("fit", "r.csv", *how, "-o", "r.mercer", "--json").json
    assert one["weight"] == two["weight"] == weight.sum()
    assert float(one["kernel"][9:-1]) == pytest.approx(float(two["kernel"][9:-1]), rel=1e-12)
    a, b = (predicted(run, m, "test.csv", "--std") for m in ["w.mercer", "r.mercer"])
    assert close(a[:, 0], b[:, 0], 1e-8)
    if "cg" in feature_map:  # its spread is sampled, row by row
        return
    left_a, left_b = (weight.sum() - j["degrees_of_freedom"] for j in [one, two])  # an estimate, by another probe per row
    np.testing.assert_allclose(a[:, 1] * np.sqrt(left_a), b[:, 1] * np.sqrt(left_b), rtol=1e-7)


def test_fractional_weights_are_a_dense_solve(run, smooth, tmp_path):
    train, test = smooth
    w = np.random.default_rng(2).uniform(0.1, 3, size=120)
    write_csv(tmp_path / "w.csv", ["a", "b", "c", "y", "w"], [*train.x.T, train.y, w])
    run("fit", "w.csv", "--target", "y", "--weights", "w", "--kernel", "gaussian([1, 10, 0.1])", "--map", "exact", "--penalty", "1e-3",
        "--no-standardize", "-o", "m.mercer")
    x, z = train.x / [1, 10, 0.1], test.x / [1, 10, 0.1]
    a, b = bordered(gaussian(x, x), train.y, w.sum() * 1e-3, w)
    assert close(predicted(run, "m.mercer", "test.csv"), gaussian(z, x) @ a + b, 1e-10)


def test_weighted_scores(run, smooth, tmp_path):
    train, test = smooth
    w = np.random.default_rng(2).uniform(0, 3, size=120)
    write_csv(tmp_path / "w.csv", ["a", "b", "c", "y", "w"], [*train.x.T, train.y, w])
    run("fit", "w.csv", "--target", "y", "--weights", "w", "--map", "fourier:10", "-o", "m.mercer")
    f = predicted(run, "m.mercer", "w.csv")[:, 0]
    j = run("score", "m.mercer", "w.csv", "--json").json
    assert j["rmse"][0] == pytest.approx(root_mean_squared_error(train.y, f, sample_weight=w), rel=1e-10)
    assert j["r2"] == pytest.approx(r2_score(train.y, f, sample_weight=w), rel=1e-10)


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


# --- missing cells, categories, columns -------------------------------------------------------------------------------


def with_holes(tmp_path, train):
    lines = (tmp_path / "train.csv").read_text().splitlines()
    for row, text in [(3, ""), (10, "?"), (50, "NA"), (77, "NaN")]:
        cells = lines[1 + row].split(",")
        cells[1] = text
        lines[1 + row] = ",".join(cells)
    (tmp_path / "holes.csv").write_text("\n".join(lines) + "\n")
    return np.array([3, 10, 50, 77])


def test_missing_mean(run, smooth, tmp_path):
    train, _ = smooth
    holes = with_holes(tmp_path, train)
    x = train.x.copy()
    x[holes, 1] = np.delete(x[:, 1], holes).mean()
    write_csv(tmp_path / "filled.csv", ["a", "b", "c", "y"], [*x.T, train.y])
    how = ["--target", "y", "--map", "fourier:30", "--penalty", "1e-4"]
    one = run("fit", "holes.csv", *how, "--missing", "mean", "-o", "1.mercer", "--json")
    assert one.json["cells_filled"] == 4 and one.json["rows_dropped"] == 0
    assert "4 missing cells filled" in one.err
    run("fit", "filled.csv", *how, "-o", "2.mercer")
    assert close(predicted(run, "1.mercer", "test.csv"), predicted(run, "2.mercer", "test.csv"), 1e-10)
    # and predict fills with the mean of the training column, whatever the new file holds
    assert close(predicted(run, "1.mercer", "holes.csv", "--missing", "mean"), predicted(run, "2.mercer", "filled.csv"), 1e-10)


def test_missing_drop(run, smooth, tmp_path):
    train, _ = smooth
    holes = with_holes(tmp_path, train)
    write_csv(tmp_path / "rest.csv", ["a", "b", "c", "y"], [*np.delete(train.x, holes, 0).T, np.delete(train.y, holes)])
    how = ["--target", "y", "--map", "fourier:30", "--penalty", "1e-4"]
    one = run("fit", "holes.csv", *how, "--missing", "drop", "-o", "1.mercer", "--json").json
    assert (one["n"], one["rows_dropped"], one["cells_filled"]) == (116, 4, 0)
    run("fit", "rest.csv", *how, "-o", "2.mercer")
    assert run("predict", "1.mercer", "test.csv").out == run("predict", "2.mercer", "test.csv").out
    lines = run("predict", "1.mercer", "holes.csv", "--std", "--missing", "drop").out.splitlines()
    assert len(lines) == 121 and [i for i, line in enumerate(lines[1:]) if line == ","] == list(holes), "rows keep their places"
    assert run("score", "1.mercer", "holes.csv", "--missing", "drop", "--json").json["n"] == 116


def test_one_hot_is_indicator_columns(run, tmp_path):
    random = np.random.default_rng(4)
    colour = random.choice(["red", "green", "blue"], size=60)
    x = random.normal(size=60)
    y = x + (colour == "red") + 0.1 * random.normal(size=60)
    write_csv(tmp_path / "text.csv", ["colour", "x", "y"], [colour, x, y])
    names = ["blue", "green", "red"]
    write_csv(tmp_path / "numbers.csv", [*names, "x", "y"], [*(1.0 * (colour == n) for n in names), x, y])
    how = ["--target", "y", "--map", "fourier:30", "--penalty", "1e-4"]
    assert run("fit", "text.csv", *how, "--one-hot", "-o", "1.mercer", "--json").json["inputs"] == 4
    run("fit", "numbers.csv", *how, "-o", "2.mercer")
    assert run("predict", "1.mercer", "text.csv").out == run("predict", "2.mercer", "numbers.csv").out
    assert run("info", "1.mercer", "--json").json["input_names"] == ["colour=blue", "colour=green", "colour=red", "x"]


@pytest.mark.parametrize("target", ["y", "3", "last:1", "3-3"])
def test_ways_to_name_a_column(run, smooth, target):
    how = ["--map", "fourier:10", "--penalty", "1e-3"]
    run("fit", "train.csv", "--target", "y", *how, "-o", "1.mercer")
    run("fit", "train.csv", "--target", target, *how, "-o", "2.mercer")
    assert run("predict", "1.mercer", "test.csv").out == run("predict", "2.mercer", "test.csv").out


@pytest.mark.parametrize("inputs", ["a,b", "0,1", "a-b", "first:2"])
def test_ways_to_choose_inputs(run, smooth, inputs):
    j = run("fit", "train.csv", "--target", "y", "--inputs", inputs, "--map", "fourier:10", "-o", "m.mercer", "--json").json
    assert j["inputs"] == 2
    assert run("info", "m.mercer", "--json").json["input_names"] == ["a", "b"]


def test_new_files_may_look_different(run, smooth, tmp_path):
    """Columns in another order, more of them, without targets, or without names in the model's order."""
    _, test = smooth
    run("fit", "train.csv", "--target", "y", "--map", "fourier:10", "-o", "m.mercer")
    expected = run("predict", "m.mercer", "test.csv").out
    write_csv(tmp_path / "shuffled.csv", ["c", "new", "a", "b"], [test.x[:, 2], test.y, test.x[:, 0], test.x[:, 1]])
    write_csv(tmp_path / "nameless.csv", None, test.x.T)
    np.save(tmp_path / "array.npy", test.x)
    for name in ["shuffled.csv", "nameless.csv", "array.npy"]:
        assert run("predict", "m.mercer", name).out == expected, name


def test_several_files_are_one(run, smooth, tmp_path):
    train, _ = smooth
    write_csv(tmp_path / "1.csv", ["a", "b", "c", "y"], [*train.x[:50].T, train.y[:50]])
    write_csv(tmp_path / "2.csv", ["y", "c", "b", "a"], [train.y[50:], *train.x[50:].T[::-1]])
    how = ["--target", "y", "--map", "fourier:10"]
    run("fit", "train.csv", *how, "-o", "1.mercer")
    run("fit", "1.csv", "2.csv", *how, "-o", "2.mercer")
    assert run("predict", "1.mercer", "test.csv").out == run("predict", "2.mercer", "test.csv").out


def test_like_takes_the_recipe_of_another_model(run, smooth):
    run("fit", "train.csv", "--target", "y", "--map", "fourier:10", "--seed", "4", "-o", "1.mercer")
    run("fit", "test.csv", "--like", "1.mercer", "-o", "2.mercer")
    one, two = (run("info", m, "--json").json for m in ["1.mercer", "2.mercer"])
    assert (two["kernel"], two["seed"], two["map"], two["n"]) == (one["kernel"], 4, one["map"], 30)


# --- classes ----------------------------------------------------------------------------------------------------------


def test_classes_with_text_labels(run, species):
    run("fit", "species.csv", "--target", "kind", "--map", "fourier:30", "-o", "m.mercer")
    header, rows = read_csv(run("predict", "m.mercer", "species.csv").out)
    assert header == ["kind", "score_birch", "score_elm", "score_oak"]
    labels, scores = rows[:, 0], rows[:, 1:].astype(float)
    assert (labels == np.array(["birch", "elm", "oak"])[scores.argmax(1)]).all()
    j = run("score", "m.mercer", "species.csv", "--json").json
    assert j["classes"] == ["birch", "elm", "oak"] and j["n"] == 150
    assert j["accuracy"] == pytest.approx((labels == species.y).mean()) and j["accuracy"] > 0.8
    assert j["error_percent"] == pytest.approx(100 * (labels != species.y).mean())
    assert j["confusion"] == confusion_matrix(species.y, labels, labels=j["classes"]).tolist()
    text = run("score", "m.mercer", "species.csv").out
    assert "accuracy" in text and "truth" in text and "birch" in text


def test_class_scores_are_least_squares_on_indicators(run, species):
    """Simplex codes with one kernel: score_k = (K g_k - 1)/(K - 1) where g_k is kernel ridge on the indicator of class k."""
    run("fit", "species.csv", "--target", "kind", "--kernel", "gaussian(1)", "--map", "exact", "--penalty", "1e-2", "--no-standardize",
        "-o", "m.mercer")
    scores = read_csv(run("predict", "m.mercer", "species.csv").out)[1][:, 1:].astype(float)
    k = gaussian(species.x, species.x)
    for c, name in enumerate(["birch", "elm", "oak"]):
        a, b = bordered(k, 1.0 * (species.y == name), 150e-2)
        np.testing.assert_allclose(scores[:, c], (3 * (k @ a + b) - 1) / 2, atol=1e-9)


def test_numbers_as_classes(run, species, tmp_path):
    digits = np.unique(species.y, return_inverse=True)[1] + 10
    lines = (tmp_path / "species.csv").read_text().splitlines()
    text = ["p,q,kind"] + [line.rsplit(",", 1)[0] + f",{d}" for line, d in zip(lines[1:], digits)]
    (tmp_path / "digits.csv").write_text("\n".join(text) + "\n")
    run("fit", "digits.csv", "--target", "kind", "--classify", "--map", "fourier:30", "-o", "d.mercer")
    run("fit", "species.csv", "--target", "kind", "--map", "fourier:30", "-o", "s.mercer")
    assert run("info", "d.mercer", "--json").json["classes"] == ["10", "11", "12"]
    one, two = (run("score", m, d, "--json").json for m, d in [("d.mercer", "digits.csv"), ("s.mercer", "species.csv")])
    assert one["confusion"] == two["confusion"]


# --- holding out ------------------------------------------------------------------------------------------------------


def test_holdout_in_time_is_the_last_rows(run, smooth, tmp_path):
    train, _ = smooth
    write_csv(tmp_path / "head.csv", ["a", "b", "c", "y"], [*train.x[:90].T, train.y[:90]])
    write_csv(tmp_path / "tail.csv", ["a", "b", "c", "y"], [*train.x[90:].T, train.y[90:]])
    j = run("fit", "train.csv", "--target", "y", "--map", "fourier:20", "--holdout", "0.25", "--split", "time", "--json").json
    assert j["n"] == 90
    run("fit", "head.csv", "--target", "y", "--map", "fourier:20", "-o", "m.mercer")
    expected = run("score", "m.mercer", "tail.csv", "--json").json
    expected.pop("seconds")
    assert j["holdout"] == expected


def test_holdout_at_random(run, smooth):
    fit = ["fit", "train.csv", "--target", "y", "--map", "fourier:20", "--holdout", "0.3", "--json"]
    one, same, other = (run(*fit, "--seed", s).json for s in [1, 1, 2])
    assert one["n"] == 84 and one["holdout"]["n"] == 36
    assert one["holdout"] == same["holdout"] and one["holdout"]["rmse"] != other["holdout"]["rmse"]
    assert "held-out rows" in run(*fit[:-1]).out


def test_holdout_rows_do_not_leak(run, smooth, tmp_path):
    """Targets of the rows held out, multiplied by 1000, change nothing but the score."""
    train, _ = smooth
    y = train.y.copy()
    y[90:] *= 1000
    write_csv(tmp_path / "odd.csv", ["a", "b", "c", "y"], [*train.x.T, y])
    for name in ["train", "odd"]:
        run("fit", f"{name}.csv", "--target", "y", "--map", "fourier:20", "--holdout", "0.25", "--split", "time", "-o", f"{name}.mercer")
    assert run("predict", "train.mercer", "test.csv").out == run("predict", "odd.mercer", "test.csv").out


# --- solvers, precision, threads --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel, data, target", [("gaussian(1.5)", "train.csv", "y"), ("curl_free(gaussian(1))", "field.csv", "u,v"),
                                                  ("decomposable(gaussian(1), covariance)", "field.csv", "u,v")])
def test_solvers_agree(run, smooth, field, kernel, data, target):
    answers = {}
    for solver in ["eigen", "cholesky", "cg"]:
        j = run("fit", data, "--target", target, "--kernel", kernel, "--map", "fourier:40", "--penalty", "1e-4", "--solver", solver,
                "-o", "m.mercer", "--json").json
        assert j["solver"] == solver and j["status"] == "ok"
        answers[solver] = predicted(run, "m.mercer", data)
    assert close(answers["cholesky"], answers["eigen"], 1e-7)
    assert close(answers["cg"], answers["eigen"], 1e-7)


def test_sgd_comes_near(run, smooth):
    fit = ["fit", "train.csv", "--target", "y", "--kernel", "gaussian(1.5)", "--map", "fourier:40", "--penalty", "1e-2", "-o", "m.mercer"]
    run(*fit)
    expected = predicted(run, "m.mercer", "train.csv")
    j = run(*fit, "--solver", "sgd", "--passes", "100", "--json").json
    assert j["solver"] == "sgd" and j["status"] == "approximate" and j["notes"]
    assert close(predicted(run, "m.mercer", "train.csv"), expected, 0.05)


def test_float32_is_close(run, smooth):
    fit = ["fit", "train.csv", "--target", "y", "--map", "fourier:60", "--penalty", "1e-4", "-o", "m.mercer"]
    run(*fit)
    expected = predicted(run, "m.mercer", "test.csv")
    assert run(*fit, "--precision", "float32", "--json").json["precision"] == "float32"
    assert close(predicted(run, "m.mercer", "test.csv"), expected, 1e-3)


@pytest.mark.parametrize("how", [["--map", "fourier:150"], ["--map", "exact"], ["--map", "fourier:100", "--solver", "cg"],
                                 ["--map", "fourier:50", "--solver", "sgd"], ["--map", "fourier:100", "--precision", "float32"]])
def test_threads_do_not_change_a_bit(run, smooth, how):
    outputs = set()
    for threads in [1, 2, 3]:
        run("fit", "train.csv", "--target", "y", *how, "--threads", threads, "-o", "m.mercer")
        outputs.add(run("predict", "m.mercer", "test.csv", "--std", "--threads", threads).out)
    assert len(outputs) == 1


def test_seeds_matter_and_repeat(run, smooth):
    outputs = []
    for seed in [0, 0, 1]:
        run("fit", "train.csv", "--target", "y", "--map", "fourier:20", "--seed", seed, "-o", "m.mercer")
        outputs.append(run("predict", "m.mercer", "test.csv").out)
    assert outputs[0] == outputs[1] != outputs[2]


def test_a_small_memory_budget_changes_nothing_much(run, tmp_path):
    """Rows that do not fit the budget are read again on every pass."""
    random = np.random.default_rng(5)
    x = random.normal(size=(60_000, 2))
    np.save(tmp_path / "big.npy", np.column_stack([x, x[:, 0] * x[:, 1]]))
    outputs = []
    for memory in ["1MB", "1GB"]:
        run("fit", "big.npy", "--target", "2", "--map", "fourier:20", "--solver", "cholesky", "--memory", memory, "-o", "m.mercer")
        outputs.append(numbers(run("predict", "m.mercer", "big.npy", "--memory", memory).out))
    assert close(outputs[0], outputs[1], 1e-12)
