"""What helps before and beside a fit: plan of a Fourier map, bench, progress on a terminal."""

import os
import pty
import re
import subprocess

import numpy as np
import pytest

from conftest import MERCER, write_csv


def test_plan_without_a_target(run, smooth, tmp_path):
    """The kernel is of the inputs alone: a table without targets is enough, and any target gives the same answer."""
    lines = [line.rsplit(",", 1)[0] for line in (tmp_path / "train.csv").read_text().splitlines()]
    (tmp_path / "inputs.csv").write_text("\n".join(lines) + "\n")
    for plan in (["--map", "p-sr"], ["--map", "p-sr:20"], []):
        named = run("plan", "train.csv", "--target", "y", *plan, "--json").json
        alone = run("plan", "inputs.csv", *plan, "--json").json
        for key in ["n", "kernel", "statistical_dimension", "critical_radius_squared", "advised_map", "diameter", "advised_frequencies"]:
            assert named.get(key) == alone.get(key), key
    assert "every one of the 3 columns counts as an input" in run("plan", "inputs.csv").out


def test_plan_of_a_fourier_map(run, smooth):
    plan = ["plan", "train.csv", "--target", "y", "--kernel", "gaussian(1.5)", "--error", "0.1"]
    told = run(*plan, "--json").json
    rows = told["table"]
    assert [row["features"] for row in rows] == [2 * row["frequencies"] for row in rows]
    for key in ("typical_error", "largest_error", "guaranteed_error"):  # more frequencies, less error
        assert [row[key] for row in rows] == sorted((row[key] for row in rows), reverse=True), key
    for row in rows:
        assert 0 < row["typical_error"] <= row["largest_error"] <= row["guaranteed_error"]
        assert row["seconds"] > 0 and row["memory_bytes"] >= 8 * row["features"] ** 2
    assert 1 <= told["advised_frequencies"] < told["guaranteed_frequencies"]
    assert told["confidence"] == 0.95 and told["error"] == 0.1
    # Half the error takes four times the frequencies, measured or proved (the proof also has a logarithm, and a part that grows as 1/error).
    assert told["sampled"] == told["n"] and sum(told["eigenvalues"]) == pytest.approx(told["trace"])
    assert told["statistical_dimension"] <= told["statistical_dimension_at_most"]
    assert told["critical_radius_squared_at_least"] <= told["critical_radius_squared"]
    half = run(*plan[:-1], "0.05", "--json").json
    assert 3 < half["advised_frequencies"] / told["advised_frequencies"] < 5
    assert 3 < half["guaranteed_frequencies"] / told["guaranteed_frequencies"] < 6
    assert "with a proof" in run(*plan).out


def test_bench_says_how_close_to_the_peak(run):
    told = run("bench", "scalar_2d", "--rows", "300", "--json").json
    assert told["job"] == "scalar_2d" and told["machine"]["peak_f64"] > 0
    result = told["result"]
    assert result["rows"] == 300 and result["inputs"] == 2 and result["bound_seconds"] > 0
    assert result["flops"] > result["rows"] * result["features"] ** 2 / 2  # a Gram matrix at least


def on_a_terminal(folder, *args):
    """What the program shows on a terminal, as its only screen."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([MERCER, *args], cwd=folder, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait(60) == 0, shown
    return shown.decode()


def test_progress_with_time_left_on_a_terminal(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20000, 4))
    write_csv(tmp_path / "t.csv", ["a", "b", "c", "d", "y"], [*x.T, np.sin(x[:, 0])])
    fit = ["fit", "t.csv", "--target", "y", "--map", "fourier:1200", "--penalty", "1e-6", "--solver", "cholesky", "--threads", "1"]
    shown = on_a_terminal(tmp_path, *fit)
    assert re.search(r"\d+ %", shown) and re.search(r"\d+ %, [\d.]+ m?s left", shown), shown[-300:]
    assert shown.endswith("\r\x1b[K"), "it leaves the line as it found it"
    assert on_a_terminal(tmp_path, "fit", "t.csv", "--target", "y", "--map", "fourier:50", "--penalty", "1e-6", "--quiet") == ""
