"""accumulate, merge, solve: shards on any machine, in any order, are one fit."""

import itertools

import numpy as np
import pytest
from conftest import numbers, write_csv
from oracles import SUMMARY

NAMES = ["a", "b", "c", "y"]


@pytest.fixture
def shards(smooth, tmp_path):
    train, _ = smooth
    for k, rows in enumerate([slice(0, 30), slice(30, 80), slice(80, 120)], start=1):
        write_csv(tmp_path / f"{k}.csv", NAMES, [*train.x[rows].T, train.y[rows]])


@pytest.fixture
def accumulated(run, shards):
    run("accumulate", "1.csv", "--target", "y", "--map", "fourier:30", "-o", "1.stats")
    for k in [2, 3]:
        run("accumulate", f"{k}.csv", "--like", "1.stats", "-o", f"{k}.stats")


@pytest.mark.parametrize("order", list(itertools.permutations("123")))
def test_three_shards_in_any_order_are_one_fit(run, accumulated, order):
    assert run("merge", *(f"{k}.stats" for k in order), "-o", "all.stats", "--json").json["n"] == 120
    solved = run("solve", "all.stats", "--penalty", "1e-4", "-o", "solved.mercer", "--json").json
    fitted = run("fit", "train.csv", "--like", "1.stats", "--penalty", "1e-4", "-o", "fitted.mercer", "--json").json
    assert solved["n"] == fitted["n"] == 120 and solved["kernel"] == fitted["kernel"]
    a, b = (numbers(run("predict", m, "test.csv", "--std").out) for m in ["solved.mercer", "fitted.mercer"])
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-8 * np.ptp(b[:, 0]))


def test_merging_two_by_two(run, accumulated):
    run("merge", "1.stats", "2.stats", "3.stats", "-o", "flat.stats")
    run("merge", "2.stats", "3.stats", "-o", "right.stats")
    run("merge", "1.stats", "right.stats", "-o", "nested.stats")
    for name in ["flat", "nested"]:
        run("solve", f"{name}.stats", "--penalty", "1e-4", "-o", f"{name}.mercer")
    a, b = (numbers(run("predict", m, "test.csv").out) for m in ["flat.mercer", "nested.mercer"])
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-9 * np.ptp(b))


@pytest.mark.parametrize("files", [["1", "1"], ["1", "2", "1"], ["12", "2"], ["12", "123"]])
def test_nothing_counts_twice(run, accumulated, tmp_path, files):
    run("merge", "1.stats", "2.stats", "-o", "12.stats")
    run("merge", "1.stats", "2.stats", "3.stats", "-o", "123.stats")
    result = run("merge", *(f"{f}.stats" for f in files), "-o", "bad.stats", ok=False)
    assert result.code == 2 and "twice" in result.err and result.err.count("\n") == 1
    assert not (tmp_path / "bad.stats").exists()


def test_the_same_rows_accumulated_again_are_noticed(run, accumulated):
    run("accumulate", "2.csv", "--like", "1.stats", "-o", "again.stats")
    result = run("merge", "1.stats", "2.stats", "again.stats", "-o", "bad.stats", ok=False)
    assert result.code == 2 and "twice" in result.err


def test_several_files_in_one_shard(run, accumulated):
    run("accumulate", "1.csv", "2.csv", "3.csv", "--like", "1.stats", "-o", "all.stats")
    run("merge", "1.stats", "2.stats", "3.stats", "-o", "merged.stats")
    for name in ["all", "merged"]:
        run("solve", f"{name}.stats", "--penalty", "1e-4", "-o", f"{name}.mercer")
    a, b = (numbers(run("predict", m, "test.csv").out) for m in ["all.mercer", "merged.mercer"])
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-9 * np.ptp(b))


def test_penalty_by_generalised_cross_validation(run, accumulated):
    """Least (RSS/n)/(1 - df/n)² among the penalties tried."""
    run("merge", "1.stats", "2.stats", "3.stats", "-o", "all.stats")
    j = run("solve", "all.stats", "-o", "m.mercer", "--json").json
    assert j["penalty_path"] and min(j["penalty_path"], key=lambda pair: pair[1])[0] == j["penalty"]
    assert any("cross-validation" in note for note in j["notes"])
    assert "cross-validation" in run("info", "m.mercer").out
    assert "given" not in run("info", "m.mercer").out
    assert run("score", "m.mercer", "test.csv", "--json").json["r2"] > 0.5


def test_solvers_of_statistics_agree(run, accumulated):
    for solver in ["eigen", "cholesky"]:
        run("solve", "1.stats", "--penalty", "1e-3", "--solver", solver, "-o", f"{solver}.mercer")
    a, b = (numbers(run("predict", f"{s}.mercer", "test.csv").out) for s in ["eigen", "cholesky"])
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-7 * np.ptp(b))


def test_vector_fields_and_weights(run, field, tmp_path):
    w = np.random.default_rng(1).uniform(0.5, 2, size=80)
    names = ["px", "py", "u", "v", "w"]
    for name, rows in [("all", slice(0, 80)), ("one", slice(0, 33)), ("two", slice(33, 80))]:
        write_csv(tmp_path / f"{name}.csv", names, [*field.x[rows].T, *field.y[rows].T, w[rows]])
    kernel = "helmholtz(gaussian(median), 0.5)"
    run("accumulate", "one.csv", "--target", "u,v", "--weights", "w", "--kernel", kernel, "--map", "fourier:20", "-o", "1.stats")
    run("accumulate", "two.csv", "--like", "1.stats", "-o", "2.stats")
    run("merge", "1.stats", "2.stats", "-o", "all.stats")
    run("solve", "all.stats", "--penalty", "1e-3", "-o", "solved.mercer")
    run("fit", "all.csv", "--like", "1.stats", "--penalty", "1e-3", "-o", "fitted.mercer")
    a, b = (numbers(run("predict", m, "all.csv").out) for m in ["solved.mercer", "fitted.mercer"])
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-8 * np.ptp(b))


def test_classes(run, species, tmp_path):
    lines = (tmp_path / "species.csv").read_text().splitlines()
    for name, part in [("one", lines[1:90]), ("two", lines[90:])]:
        (tmp_path / f"{name}.csv").write_text("\n".join([lines[0], *part]) + "\n")
    run("accumulate", "one.csv", "--target", "kind", "--map", "fourier:20", "-o", "1.stats")
    run("accumulate", "two.csv", "--like", "1.stats", "-o", "2.stats")
    run("merge", "2.stats", "1.stats", "-o", "all.stats")
    run("solve", "all.stats", "-o", "m.mercer")
    assert run("score", "m.mercer", "species.csv", "--json").json["accuracy"] > 0.8


def test_json(run, accumulated):
    assert set(run("accumulate", "2.csv", "--like", "1.stats", "-o", "x.stats", "--json").json) == {"n", "features", "statistics"}
    j = run("merge", "1.stats", "2.stats", "-o", "m.stats", "--json").json
    assert j == {"n": 80, "files": 2, "statistics": "m.stats"}
    assert set(run("solve", "m.stats", "-o", "m.mercer", "--json").json) == SUMMARY
