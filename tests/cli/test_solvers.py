"""Solvers, precisions, threads, seeds and memory budgets give one answer."""

import numpy as np
import pytest
from conftest import numbers
from oracles import close, predicted


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
