"""Gaussian processes through the program: a series with dates from file to forecast, against formulas written out in numpy."""
import csv
import json
import subprocess

import numpy as np
import pytest
from conftest import MERCER

QUICK = ["--map", "fourier:40", "--steps", "80", "--posterior-draws", "2"]


def write(path, header, rows):
    path.write_text(header + "\n" + "".join(",".join(map(str, r)) + "\n" for r in rows))
    return path


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    """Ten years of months: a trend, a year, noise; some months missing."""
    folder = tmp_path_factory.mktemp("series")
    rng = np.random.default_rng(1)
    rows = []
    for i in range(120):
        y = 300 + 0.1 * i + 4 * np.sin(2 * np.pi * i / 12) + 0.3 * rng.standard_normal()
        rows.append((f"{2010 + i // 12}-{i % 12 + 1:02d}-15", f"{y:.4f}"))
    keep = [r for k, r in enumerate(rows) if k not in (17, 18, 60)]
    write(folder / "train.csv", "date,level", keep[:96])
    write(folder / "test.csv", "date,level", keep[96:])
    write(folder / "all.csv", "date,level", keep)
    return folder


@pytest.fixture(scope="module")
def model(series):
    done = subprocess.run([MERCER, "fit", "train.csv", "--target", "level", "--gp", "spectral_mixture:5", *QUICK, "--trace", "trace.csv", "-o", "m.mercer"],
                          cwd=series, capture_output=True, text=True, check=True)
    return series / "m.mercer", done.stdout


def test_learns_and_says_the_year(model, run):
    path, words = model
    info = run("info", path).out
    assert "period" in words and "steps of adam" in words
    assert "trend longer than" in info and "weight" in info and "±" in info
    spectrum = json.loads(run("info", path, "--json").out)["spectrum"][0]
    yearly = [c for c in spectrum if abs(365.2425 * c["frequency"][0] - 1) < 0.01]
    assert yearly and yearly[0]["weight"] > 1


def test_scores_with_density_and_bands(series, model, run):
    scores = json.loads(run("score", model[0], series / "test.csv", "--json").out)
    assert scores["rmse"][0] < 1.5
    assert 0.5 <= scores["band_coverage"][0] <= 1
    assert scores["log_density"][0] > -3
    text = run("score", model[0], series / "test.csv").out
    assert "log density" in text and "within 90 % bands" in text


def test_density_is_that_of_the_predictions(series, model, run, tmp_path):
    run("predict", model[0], series / "test.csv", "--std", "-o", tmp_path / "p.csv")
    p = np.genfromtxt(tmp_path / "p.csv", delimiter=",", names=True)
    y = np.array([float(r["level"]) for r in csv.DictReader(open(series / "test.csv"))])
    z = (y - p["level"]) / p["level_std"]
    density = np.mean(-z**2 / 2 - np.log(p["level_std"]) - np.log(2 * np.pi) / 2)
    scores = json.loads(run("score", model[0], series / "test.csv", "--json").out)
    assert scores["log_density"][0] == pytest.approx(density, rel=1e-9)
    assert scores["band_coverage"][0] == pytest.approx(np.mean(np.abs(z) <= 1.6448536269514722))


def test_horizon_goes_on_in_months(model, run):
    lines = run("predict", model[0], "--horizon", "3", "--std", "--samples", "2").out.splitlines()
    assert lines[0] == "date,level,level_std,level_sample1,level_sample2"
    assert [line.split(",")[0] for line in lines[1:]] == ["2018-04-15", "2018-05-15", "2018-06-15"]


def test_rolling_keeps_the_hyperparameters(series, model, run):
    out = json.loads(run("score", model[0], series / "all.csv", "--rolling", "6,2", "--json").out)
    assert len(out["origins"]) == 2 and out["rmse"][0] < 1.5
    assert "coverage" in out


def test_trace_is_written(series, model):
    rows = list(csv.DictReader(open(series / "trace.csv")))
    assert len(rows) == 80
    assert float(rows[-1]["nlml"]) < float(rows[0]["nlml"])


@pytest.mark.parametrize("more", [["--optimizer", "lbfgs"], ["--parametrization", "natural"], ["--allocation", "optimal"], ["--allocation", "uniform"],
                                  ["--mean", "linear"], ["--draws", "3"], ["--restarts", "2"], ["--validation", "0.2"], ["--no-standardize", "--mean", "linear"]])
def test_options_do_something_sensible(series, run, more):
    out = json.loads(run("fit", series / "train.csv", "--target", "level", "--gp", "spectral_mixture:4", *QUICK, *more, "--json").out)
    assert out["process"] == "spectral_mixture" and np.isfinite(out["nlml"])


@pytest.mark.parametrize("law", ["student", "laplace", "gaussian"])
def test_laws_of_components(series, run, law):
    out = json.loads(run("fit", series / "train.csv", "--target", "level", "--gp", f"spectral_mixture:4,{law}", *QUICK, "--json").out)
    assert np.isfinite(out["nlml"])


@pytest.mark.parametrize("gp", ["exact", "vfe:25"])
@pytest.mark.parametrize("kernel", ["spectral_mixture:3", "matern(1, nu=1.5) * gaussian(2)", "gaussian(median) + linear()"])
def test_exact_and_variational_with_any_kernel(series, run, tmp_path, gp, kernel):
    path = tmp_path / "m.mercer"
    out = json.loads(run("fit", series / "train.csv", "--target", "level", "--gp", gp, "--kernel", kernel, "--steps", "40", "-o", path, "--json").out)
    assert out["process"] == gp.split(":")[0] and np.isfinite(out["nlml"])
    scores = json.loads(run("score", path, series / "train.csv", "--json").out)
    assert scores["rmse"][0] < 3.5 and scores["band_coverage"][0] > 0.6
    assert "likelihood" in run("info", path).out


def test_two_inputs_and_two_targets(run, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (150, 2))
    y = np.column_stack([np.sin(3 * x[:, 0] + x[:, 1]), np.cos(2 * x[:, 1])]) + 0.05 * rng.standard_normal((150, 2))
    write(tmp_path / "t.csv", "a,b,u,v", [tuple(f"{v:.6f}" for v in r) for r in np.column_stack([x, y])])
    for outputs in ("independent", "shared"):
        path = tmp_path / "m.mercer"
        run("fit", tmp_path / "t.csv", "--target", "u,v", "--gp", "spectral_mixture:5", *QUICK, "--outputs", outputs, "-o", path)
        scores = json.loads(run("score", path, tmp_path / "t.csv", "--json").out)
        assert max(scores["rmse"]) < 0.25, outputs
        assert "frequency" in run("info", path).out


BAD = [
    (["--gp", "spectral_mixtures"], "did you mean"),
    (["--gp", "spectral_mixture:1.5"], "whole number"),
    (["--gp", "exact", "--map", "fourier:300"], "--map"),
    (["--gp", "spectral_mixture", "--map", "p-sr:100"], "fourier"),
    (["--gp", "spectral_mixture", "--map", "fourier:100,sobol"], "mc, antithetic, qmc"),
    (["--gp", "spectral_mixture:50", "--map", "fourier:10"], "10 frequencies"),
    (["--gp", "spectral_mixture", "--loss", "huber:1"], "Gaussian likelihood"),
    (["--gp", "spectral_mixture", "--penalty", "0.1"], "--penalty"),
    (["--gp", "spectral_mixture", "--tune"], "--tune"),
    (["--gp", "spectral_mixture", "--steps", "0"], "--steps"),
    (["--gp", "spectral_mixture", "--rate", "-1"], "rate"),
    (["--gp", "spectral_mixture", "--parametrization", "naturl"], "did you mean"),
    (["--mean", "linear"], "--gp"),
    (["--gp", "spectral_mixture", "--kernel", "gaussian(1)"], "--kernel"),
    (["--gp", "spectral_mixture", "--precision", "float32"], "--precision"),
    (["--gp", "spectral_mixture", "--no-intercept"], "--mean none"),
    (["--gp", "exact", "--optimizer", "adam"], "lbfgs"),
    (["--gp", "vfe", "--outputs", "both"], "neither independent nor shared"),
    (["--gp", "exact", "--kernel", "curl_free(gaussian(1))"], "curl_free"),
    (["--gp", "exact", "--kernel", "spectral_mixture:x"], "whole number"),
]


@pytest.mark.parametrize("more,words", BAD, ids=[" ".join(b[0]) for b in BAD])
def test_bad_options(series, run, more, words):
    out = run("fit", series / "train.csv", "--target", "level", *more, ok=False)
    assert out.code == 2
    assert words in out.err and out.err.count("\n") == 1


def test_all_targets_missing(run, tmp_path):
    write(tmp_path / "t.csv", "t,y", [(k, "") for k in range(5)])
    out = run("fit", tmp_path / "t.csv", "--target", "y", "--gp", "spectral_mixture", "--missing", "drop", ok=False)
    assert out.code == 2 and out.err.count("\n") == 1


def test_samples_only_where_there_are_some(series, run, tmp_path):
    run("fit", series / "train.csv", "--target", "level", "-o", tmp_path / "r.mercer")
    out = run("predict", tmp_path / "r.mercer", "--horizon", "3", "--samples", "2", ok=False)
    assert out.code == 2 and "--gp" in out.err


def test_like_of_a_process_is_refused(series, model, run):
    out = run("fit", series / "all.csv", "--like", model[0], ok=False)
    assert out.code == 2 and "--rolling" in out.err


def test_trace_counts_training_seconds(series, run, tmp_path):
    run("fit", series / "train.csv", "--target", "level", "--gp", "spectral_mixture:3", *QUICK, "--validation", "0.2", "--trace", tmp_path / "t.csv")
    seconds = [float(r["seconds"]) for r in csv.DictReader(open(tmp_path / "t.csv"))]
    assert seconds == sorted(seconds) and seconds[0] >= 0


@pytest.fixture(scope="module")
def tides(tmp_path_factory):
    """Two targets of one series: a season with little noise, and a slower one with much."""
    folder = tmp_path_factory.mktemp("tides")
    rng = np.random.default_rng(3)
    t = np.arange(90) / 12
    fast = 5 + np.sin(2 * np.pi * t) + 0.02 * rng.standard_normal(90)
    slow = 90 + 2 * t + 3 * np.cos(2 * np.pi * t / 4) + 2 * rng.standard_normal(90)
    rows = [(f"{1958 + (i + 2) // 12}{(i + 2) % 12 + 1:02d}", f"{a:.5f}", f"{b:.5f}") for i, (a, b) in enumerate(zip(fast, slow))]
    write(folder / "t.csv", "month,fast,slow", rows)
    write(folder / "fast.csv", "month,fast", [row[:2] for row in rows])
    return folder


@pytest.mark.parametrize("gp", ["exact", "vfe:30"])
def test_every_target_has_its_own_kernel_and_noise(tides, run, gp):
    fit = ["fit", tides / "t.csv", "--target", "fast,slow", "--gp", gp, "--kernel", "spectral_mixture:2", "--mean", "linear", "--steps", "60"]
    run(*fit, "--trace", tides / "trace.csv", "-o", tides / "m.mercer")
    info = json.loads(run("info", tides / "m.mercer", "--json").out)
    noise = info["noise"]
    assert noise[0] < 0.2 and noise[1] > 1
    assert len(info["spectrum"]) == 2 and len(info["mean"]) == 2
    assert info["mean"][1]["slope"][0] * 365.2425 == pytest.approx(2, abs=1)
    words = run("info", tides / "m.mercer").out
    assert "fast: period 1.0" in words and "slow: " in words and "per year" in words
    assert "times      195803 to" in words and "usually 1 month apart" in words
    trace = list(csv.DictReader(open(tides / "trace.csv")))
    assert {r["output"] for r in trace} == {"fast", "slow"}
    run(*fit, "--outputs", "shared", "--trace", tides / "trace.csv", "-o", tides / "s.mercer")
    assert "output" not in next(csv.DictReader(open(tides / "trace.csv")))
    both = json.loads(run("info", tides / "s.mercer", "--json").out)["noise"]
    assert both[0] / both[1] > 3 * noise[0] / noise[1]  # one noise in scaled units
    run("plot", tides / "m.mercer", tides / "t.csv", "--what", "spectrum", "-o", tides / "s.svg")
    run("plot", tides / "m.mercer", "--what", "training", "-o", tides / "t.svg")
    text = (tides / "t.svg").read_text()
    assert "Training of fast" in text and "Training of slow" in text


@pytest.mark.parametrize("gp", ["exact", "vfe:30"])
def test_samples_of_exact_and_variational(tides, run, gp):
    run("fit", tides / "fast.csv", "--target", "fast", "--gp", gp, "--steps", "30", "-o", tides / "f.mercer")
    lines = run("predict", tides / "f.mercer", "--horizon", "2", "--std", "--latent", "--samples", "200", "--seed", "4").out.splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == ["196509", "196510"]
    cells = np.array([[float(c) for c in line.split(",")[1:]] for line in lines[1:]])
    mean, deviation, drawn = cells[:, 0], cells[:, 1], cells[:, 2:]
    # 6 standard errors of a mean of 200, and 5 of a deviation (0.05 of it): failure probability below 1e-5
    assert np.all(np.abs(drawn.mean(axis=1) - mean) < 6 * deviation / np.sqrt(200))
    assert np.all(np.abs(drawn.std(axis=1) / deviation - 1) < 5 * 0.05)
    again = run("predict", tides / "f.mercer", "--horizon", "1", "--std", "--latent", "--samples", "200", "--seed", "4").out.splitlines()
    assert np.allclose([float(c) for c in again[1].split(",")[1:]], cells[0], rtol=1e-9)


def test_info_tells_the_coupling_and_the_mean(tides, run):
    run("fit", tides / "t.csv", "--target", "fast,slow", "--gp", "spectral_mixture:3", *QUICK, "--mean", "linear", "--outputs", "shared", "-o", tides / "b.mercer")
    info = json.loads(run("info", tides / "b.mercer", "--json").out)
    b = np.array(info["coregionalisation"])
    assert b.shape == (2, 2) and np.allclose(b, b.T) and np.linalg.eigvalsh(b).min() >= 0
    assert len(info["noise"]) == 2 and len(info["mean"][0]["slope"]) == 1 and len(info["mean_at"]) == 1
    words = run("info", tides / "b.mercer").out
    assert "matrix B" in words and "mean       fast: " in words and "slope" in words
