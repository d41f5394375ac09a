"""--conformal: intervals from fit to score, and what is refused."""

import numpy as np
import pytest
from conftest import numbers, read_csv, write_csv


@pytest.fixture
def noisy(tmp_path):
    """600 training and 2000 test rows with noise of standard deviation 0.1 + |a|, targets y and z."""
    random = np.random.default_rng(3)
    a = random.normal(size=2600)
    y = np.sin(2 * a) + (0.1 + np.abs(a)) * random.normal(size=2600)
    z = 10 * a + random.normal(size=2600)
    for name, part in [("train.csv", slice(0, 600)), ("test.csv", slice(600, 2600))]:
        write_csv(tmp_path / name, ["a", "y", "z"], [a[part], y[part], z[part]])


def inside(tmp_path, target="y"):
    header, _ = read_csv(tmp_path / "p.csv")
    p = numbers(tmp_path / "p.csv")
    names, _ = read_csv(tmp_path / "test.csv")
    truth = numbers(tmp_path / "test.csv")[:, names.index(target)]
    low, high = p[:, header.index(target + "_lower")], p[:, header.index(target + "_upper")]
    return np.mean((low <= truth) & (truth <= high)), np.mean(high - low)


@pytest.mark.parametrize(
    "extra", [[], ["--uncertainty", "none"], ["--quantiles", "0.1,0.5,0.9"], ["--split", "time"], ["--loss", "huber:1"]]
)
def test_fit_predict_score(run, noisy, tmp_path, extra):
    command = ["fit", "train.csv", "--target", "y", "--inputs", "a", "--map", "fourier:50", "--conformal", "0.9", *extra]
    fit = run(*command, "-o", "m.mercer", "--json").json
    assert fit["interval_level"] == 0.9 and fit["calibration_rows"] == 120 and fit["n"] == 480
    run("predict", "m.mercer", "test.csv", "-o", "p.csv")
    share, width = inside(tmp_path)
    score = run("score", "m.mercer", "test.csv", "--json").json
    assert score["interval_level"] == 0.9
    np.testing.assert_allclose(score["interval_coverage"], [share], rtol=1e-12)
    np.testing.assert_allclose(score["interval_width"], [width], rtol=1e-12)
    # Given m = 120 scores coverage is Beta(109, 12): mean 0.901, deviation 0.027; on 2000 rows another 0.007. Outside of
    # five deviations, 0.14, with probability 4e-5 (the lower tail, by numerical integration).
    assert abs(share - 0.901) < 0.14
    promise = "falls inside with probability at least 90 %, whatever the model"
    assert promise in run("info", "m.mercer").out and promise in run(*command).out
    assert "% of rows inside the intervals of level 90 %" in run("score", "m.mercer", "test.csv").out
    assert run("info", "m.mercer", "--json").json["calibration_rows"] == 120


def test_two_targets_with_deviations_and_holdout(run, noisy, tmp_path):
    fit = run("fit", "train.csv", "--target", "y,z", "--map", "fourier:50", "--conformal", "0.8", "--holdout", "0.25",
              "-o", "m.mercer", "--json").json  # fmt: skip
    assert fit["n"] == 360 and fit["calibration_rows"] == 90 and len(fit["holdout"]["interval_coverage"]) == 2
    run("predict", "m.mercer", "test.csv", "--std", "-o", "p.csv")
    header, _ = read_csv(tmp_path / "p.csv")
    assert header == ["y", "z", "y_std", "z_std", "y_lower", "z_lower", "y_upper", "z_upper"]
    p = numbers(tmp_path / "p.csv")
    # Both bounds are the mean plus or minus one multiple of the deviation.
    for t in (0, 1):
        multiple = (p[:, 6 + t] - p[:, t]) / p[:, 2 + t]
        np.testing.assert_allclose(multiple, multiple[0], rtol=1e-9)
        np.testing.assert_allclose(p[:, t] - p[:, 4 + t], p[:, 6 + t] - p[:, t], rtol=1e-6, atol=1e-12)
    assert "for each target" in run("info", "m.mercer").out


def test_without_it_nothing_changes(run, noisy):
    fit = run("fit", "train.csv", "--target", "y", "--map", "fourier:20", "-o", "m.mercer", "--json").json
    assert fit["interval_level"] is None and fit["n"] == 600
    assert "interval_level" not in run("score", "m.mercer", "test.csv", "--json").json
    assert run("predict", "m.mercer", "test.csv").out.startswith("y\n")


@pytest.mark.parametrize(
    "level, words",
    [
        ("0", "between 0 and 1"),
        ("1", "between 0 and 1"),
        ("1.2", "between 0 and 1"),
        ("nan", "--conformal 'nan' is not a number"),
        ("wide", "--conformal 'wide' is not a number"),
        ("0.999", "need at least 999 calibration rows (a fifth of the rows), and there are 120"),
    ],
)
def test_bad_levels(run, noisy, tmp_path, level, words):
    result = run("fit", "train.csv", "--target", "y", "--map", "fourier:10", "--conformal", level, "-o", "m.mercer", ok=False)
    assert result.code == 2 and words in result.err and result.err.count("\n") == 1
    assert not (tmp_path / "m.mercer").exists()


def test_refused_with_classes_and_like(run, species, noisy):
    result = run("fit", "species.csv", "--target", "kind", "--conformal", "0.9", ok=False)
    assert result.code == 2 and "intervals are for numbers" in result.err
    run("fit", "train.csv", "--target", "y", "--map", "fourier:10", "-o", "m.mercer")
    result = run("fit", "train.csv", "--like", "m.mercer", "--conformal", "0.9", ok=False)
    assert result.code == 2 and "--conformal cannot be given with --like" in result.err
