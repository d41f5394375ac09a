"""Finite data never gives NaN: degenerate, tiny, huge and shifted tables, through fit, predict --std and score."""

import numpy as np
import pytest
from conftest import numbers, write_csv

X = np.random.default_rng(20).normal(size=50)
TABLES = {
    "constant target": ([X], np.full(50, 3.0)),
    "constant input": ([np.full(50, 1e6), X], np.sin(X)),
    "nothing but a constant input": ([np.full(50, 2.0)], X),
    "repeated rows": ([np.repeat(X[:5], 10)], np.repeat(X[:5], 10)),
    "contradicting rows": ([np.repeat(X[:5], 10)], X),
    "one row": ([[1.0]], [2.0]),
    "two rows": ([[1.0, 2.0]], [2.0, 3.0]),
    "scale 1e150": ([1e150 * X], 1e150 * np.sin(X)),
    "scale 1e-150": ([1e-150 * X], 1e-150 * np.sin(X)),
    "offset 1e9": ([1e9 + X], 1e12 + np.sin(X)),
    "inputs that are copies": ([X, X, X], np.sin(X)),
    "more inputs than rows": ([*np.random.default_rng(21).normal(size=(30, 10))], np.arange(10.0)),
    "one far outlier": ([np.append(X[1:], 1e12)], np.append(np.sin(X[1:]), -1e12)),
}
MAPS = [["fourier:20"], ["exact"], ["fourier:20", "--solver", "cg"], ["fourier:20", "--solver", "sgd"], ["fourier:20", "--penalty", "0"],
        ["exact", "--penalty", "1e-14"], ["fourier:20", "--precision", "float32"]]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("how", MAPS, ids=" ".join)
def test_finite_in_finite_out(run, tmp_path, name, how):
    inputs, y = TABLES[name]
    write_csv(tmp_path / "t.csv", [*(f"x{j}" for j in range(len(inputs))), "y"], [*inputs, y])
    j = run("fit", "t.csv", "--target", "y", "--map", *how, "-o", "m.mercer", "--json").json
    assert np.isfinite(j["degrees_of_freedom"]) and np.isfinite(j["penalty"])
    out = numbers(run("predict", "m.mercer", "t.csv", "--std").out)
    assert np.isfinite(out).all() and (out[:, 1] >= 0).all()
    scores = run("score", "m.mercer", "t.csv", "--json").json
    assert np.isfinite(scores["rmse"] + scores["mae"] + scores["rrmse"] + [scores["r2"]]).all()
    if name == "constant target":
        np.testing.assert_allclose(out[:, 0], 3, rtol=1e-6)
    if name == "scale 1e150" and how == ["exact"]:
        assert scores["r2"] > 0.999
