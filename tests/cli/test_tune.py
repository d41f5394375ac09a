"""mercer tune and fit --tune: the search from the command line."""

import shlex
import signal
import time

import numpy as np
import pytest
from conftest import read_csv, start, write_csv

SMALL = ["--target", "y", "--map", "fourier:40"]


@pytest.fixture
def wave(tmp_path):
    """240 rows of a function with a length scale of its own, far below the median distance."""
    random = np.random.default_rng(4)
    x = random.uniform(-2, 2, size=240)
    y = np.sin(5 * x) + 0.1 * random.normal(size=240)
    write_csv(tmp_path / "wave.csv", ["x", "y"], [x, y])
    return x, y


def test_the_best_is_printed_as_a_command_that_works(run, wave, tmp_path):
    found = run("tune", "wave.csv", *SMALL, "--seed", 3, "--length-factors", "0.1,0.3,1", "--json").json
    assert found["metric"] == "rmse" and found["computed"] == 3 and len(found["table"]) == 3 * 23
    assert found["best"]["score"] == min(row["score"] for row in found["table"])
    words = shlex.split(found["command"])
    assert words[:2] == ["mercer", "fit"] and "--seed" in words and "--length-factors" not in words
    fit = run(*words[1:], "--json").json
    assert fit["kernel"] == found["best"]["kernel"] and fit["penalty"] == found["best"]["penalty"]
    assert (tmp_path / "model.mercer").exists()
    text = run("tune", "wave.csv", *SMALL, "--length-factors", "0.1,0.3,1").out
    assert "best penalty" in text and "mercer fit wave.csv" in text and "best: rmse" in text


def test_fit_tune_is_tune_and_fit(run, wave, tmp_path):
    tuned = run("fit", "wave.csv", *SMALL, "--tune", "-o", "a.mercer", "--json").json
    assert tuned["n"] == 240 and tuned["penalty"] == tuned["tuning"]["best"]["penalty"]
    words = shlex.split(tuned["tuning"]["command"])
    words[words.index("-o") + 1] = "b.mercer"
    run(*words[1:])
    for name in "ab":
        run("predict", f"{name}.mercer", "wave.csv", "-o", f"{name}.csv")
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


def test_tuned_rows_are_not_the_held_out_or_the_calibrating_ones(run, wave):
    fit = run("fit", "wave.csv", *SMALL, "--tune", "--holdout", "0.25", "--conformal", "0.9", "--json").json
    assert fit["n"] == 144 and fit["calibration_rows"] == 36 and fit["holdout"]["n"] == 60
    assert len(fit["tuning"]["table"]) == 3 * 23
    again = run(*shlex.split(fit["tuning"]["command"])[1:], "--json").json
    assert again["holdout"] == fit["holdout"] and again["calibration_rows"] == 36


def test_results_are_written_and_used_again(run, wave, tmp_path):
    command = ["tune", "wave.csv", *SMALL, "--penalties", "1e-4,1e-2", "--results", "r.csv", "--json"]
    first = run(*command).json
    header, rows = read_csv(tmp_path / "r.csv")
    assert header == ["kernel", "map", "loss", "penalty", "metric", "score", "spread", "setup"] and len(rows) == 6
    second = run(*command).json
    assert second["computed"] == 0 and second["reused"] == 3 and second["table"] == first["table"]
    assert "3 configurations taken from r.csv" in run(*command[:-1]).out
    result = run(*command, "--seed", 1, ok=False)
    assert result.code == 2 and "r.csv: line 2 is of a search on other rows" in result.err


def test_a_search_that_was_interrupted_goes_on(run, tmp_path):
    random = np.random.default_rng(2)
    x = random.normal(size=(1500, 3))
    write_csv(tmp_path / "t.csv", ["a", "b", "c", "y"], [*x.T, np.sin(x).sum(1) + 0.1 * random.normal(size=1500)])
    command = ["tune", "t.csv", "--target", "y", "--map", "fourier:200", "--penalties", "1e-4,1e-2", "--length-factors", "0.25,0.5,1,2,4,8",
               "--results", "r.csv", "--json"]  # fmt: skip
    search = start(*command, cwd=tmp_path)
    while search.poll() is None and not ((tmp_path / "r.csv").exists() and (tmp_path / "r.csv").read_text().count("\n") >= 2):
        time.sleep(0.01)
    search.send_signal(signal.SIGINT)
    _, said = search.communicate()
    found = run(*command).json
    assert found["reused"] >= 1 and found["reused"] + found["computed"] == 6
    if search.returncode == 130:  # else it had finished before the signal came
        assert found["computed"] >= 1
        assert "r.csv has what was found so far" in said.decode()


def test_kernels_and_maps_with_commas_in_results(run, field, tmp_path):
    command = ["tune", "field.csv", "--target", "u,v", "--kernel", "helmholtz(gaussian(median), 0.5)", "--map", "fourier:20,mc",
               "--penalties", "1e-3", "--folds", 2, "--results", "r.csv", "--json"]  # fmt: skip
    first = run(*command).json
    assert first["metric"] == "arrmse"
    assert run(*command).json["reused"] == 3


@pytest.mark.parametrize(
    "extra, metric",
    [
        (["--loss", "huber", "--loss-parameters", "0.5,2", "--length-factors", "0.3"], "mae"),
        (["--quantiles", "0.2,0.8", "--length-factors", "0.3"], "pinball"),
        (["--metric", "mae", "--sizes", "10,30", "--length-factors", "0.3"], "mae"),
        (["--map", "nystrom:20", "--split", "time", "--holdout", "0.3"], "rmse"),
        (["--trials", "2", "--length-factors", "0.1,1"], "rmse"),
        (["--map", "exact", "--folds", "2", "--penalty", "0.01"], "rmse"),
    ],
)
def test_kinds_of_search(run, wave, extra, metric):
    found = run("tune", "wave.csv", *SMALL, *extra, "--json").json
    assert found["metric"] == metric and found["best"]["score"] == min(row["score"] for row in found["table"])


def test_classes(run, species):
    found = run("tune", "species.csv", "--target", "kind", "--map", "fourier:30", "--json").json
    assert found["metric"] == "accuracy" and found["best"]["score"] > 0.7
    assert found["best"]["score"] == max(row["score"] for row in found["table"])


def test_rows_in_time_order_are_noticed(run, tmp_path):
    random = np.random.default_rng(1)
    y = np.zeros(400)
    for t in range(1, 400):
        y[t] = 0.9 * y[t - 1] + random.normal()
    write_csv(tmp_path / "series.csv", ["x", "y"], [random.normal(size=400), y])
    shuffled = random.permutation(400)
    write_csv(tmp_path / "mixed.csv", ["x", "y"], [random.normal(size=400), y[shuffled]])
    quick = [*SMALL, "--penalty", "0.1", "--length-factors", "1"]
    assert "as if ordered in time" in run("tune", "series.csv", *quick).out
    assert "as if ordered in time" in run("fit", "series.csv", *quick, "--tune").out
    assert "ordered in time" not in run("tune", "series.csv", *quick, "--split", "time").out
    assert "ordered in time" not in run("tune", "mixed.csv", *quick).out


@pytest.mark.parametrize(
    "words, expected",
    [
        (["--folds", "1"], "--folds must be a whole number of at least 2"),
        (["--folds", "1000"], "--folds must lie between 2 and the number of rows"),
        (["--folds", "3", "--holdout", "0.2"], "give one"),
        (["--holdout", "1"], "--holdout must lie between 0 and 1"),
        (["--metric", "rmsd"], "did you mean 'rmse'?"),
        (["--metric", "accuracy"], "accuracy is for classes"),
        (["--length-factors", "1,wide"], "'wide' is not a number"),
        (["--length-factors", "-1"], "is not a positive number"),
        (["--penalties", "0"], "is not a positive number"),
        (["--penalties", "1", "--penalty", "2"], "give one of them"),
        (["--sizes", "1.5"], "whole number"),
        (["--loss-parameters", "1"], "huber, epsilon and epsilon2"),
        (["--trials", "0"], "--trials must be a whole number"),
        (["--results", "nowhere/r.csv"], "nowhere"),
        (["--results", "wave.csv"], "no table of results"),
    ],
)
def test_bad_searches(run, wave, tmp_path, words, expected):
    before = (tmp_path / "wave.csv").read_bytes()
    result = run("tune", "wave.csv", *SMALL, *words, ok=False)
    assert result.code == 2 and expected in result.err and result.err.count("\n") == 1
    assert (tmp_path / "wave.csv").read_bytes() == before


def test_searching_needs_tune(run, wave):
    result = run("fit", "wave.csv", *SMALL, "--folds", "3", ok=False)
    assert result.code == 2 and "--folds belongs to a search; give --tune too" in result.err
    run("fit", "wave.csv", *SMALL, "-o", "m.mercer")
    result = run("fit", "wave.csv", "--like", "m.mercer", "--tune", ok=False)
    assert result.code == 2 and "--like" in result.err


def test_flags_are_flags_in_the_printed_command(run, tmp_path):
    random = np.random.default_rng(0)
    lines = [f"{x},{'up' if x > 0 else 'down'},{abs(x)}" for x in random.normal(size=60)]
    (tmp_path / "words.csv").write_text("\n".join(["x,sign,y", *lines]) + "\n")
    found = run("tune", "words.csv", *SMALL, "--one-hot", "--length-factors", "1", "--json").json
    run(*shlex.split(found["command"])[1:])
