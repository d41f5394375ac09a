"""Leave-one-out, standard deviations, degrees of freedom and row weights against their definitions."""

import numpy as np
import pytest
from conftest import write_csv
from oracles import RAW, bordered, close, gaussian, predicted
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics import r2_score, root_mean_squared_error


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
