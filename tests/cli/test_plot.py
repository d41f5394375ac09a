"""Pictures: mercer plot and predict --plot write SVG that parses, shows what it should, and refuse what cannot be drawn."""

import datetime
import math
import os
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from conftest import read_csv, write_csv

SVG = "{http://www.w3.org/2000/svg}"
RIDGE = ["--kernel", "gaussian(0.3)", "--map", "fourier:60", "--penalty", "1e-4"]
GP = ["--gp", "spectral_mixture:3", "--map", "fourier:30", "--steps", "20", "--posterior-draws", "2"]


def picture(path):
    """The texts, and the root. Nothing is drawn at a place that is no number."""
    text = path.read_text()
    assert not re.search(r'="[^"]*\b(nan|inf)\b', text)
    root = ET.fromstring(text)
    assert root.tag == SVG + "svg" and float(root.get("width")) > 0
    return ["".join(t.itertext()) for t in root.iter(SVG + "text")], root


def bands(root):
    return [p for p in root.iter(SVG + "path") if p.get("opacity") == "0.18"]


def monthly(path, n=144, first=1950, columns=1):
    random = np.random.default_rng(4)
    t = np.arange(n) / 12
    y = [10 + t + 3 * np.sin(2 * math.pi * t + k) + 0.2 * random.normal(size=n) for k in range(columns)]
    names = ["year"] + (["level"] if columns == 1 else [f"level{k}" for k in range(columns)])
    write_csv(path, names, [first + t, *y])
    return names


@pytest.fixture
def series(run, tmp_path):
    """144 months in all.csv, the first 108 of them in train.csv, and m.mercer, a process learned from those."""
    monthly(tmp_path / "all.csv")
    (tmp_path / "train.csv").write_text("\n".join((tmp_path / "all.csv").read_text().split("\n")[:109]) + "\n")
    run("fit", "train.csv", "--target", "level", *GP, "--validation", "0.2", "-o", "m.mercer")
    return tmp_path


# --- forecast ---------------------------------------------------------------------------------------------------------


def test_forecast_of_a_process(run, series):
    result = run("plot", "m.mercer", "all.csv", "-o", "f.svg", "--json")
    assert result.json["what"] == "forecast" and result.json["figure"] == "f.svg"
    assert (result.json["panels"], result.json["points"]) == (1, 144)
    texts, root = picture(series / "f.svg")
    for text in ["Forecast of level", "year", "level", "rows", "rows after training", "training ends", "1950", "1960",
                 "prediction with 50 % and 90 % bands"]:  # fmt: skip
        assert text in texts, text
    assert len(bands(root)) == 2
    fills = [c.get("fill") for c in root.iter(SVG + "circle")]
    assert (fills.count("#333333"), fills.count("#d55e00")) == (109, 37)  # and one each in the legend
    assert run("plot", "m.mercer", "all.csv", "-o", "g.svg").out == "wrote g.svg\n"
    assert (series / "f.svg").read_bytes() == (series / "g.svg").read_bytes()


def test_horizon_decides_how_far(run, series):
    run("plot", "m.mercer", "train.csv", "--horizon", "120", "-o", "far.svg")
    assert "1968" in picture(series / "far.svg")[0]
    run("plot", "m.mercer", "--horizon", "1", "-o", "near.svg")
    texts, root = picture(series / "near.svg")
    assert "1960" not in texts and "rows" not in texts and len(list(root.iter(SVG + "circle"))) == 0
    run("plot", "m.mercer", "-o", "default.svg")  # nine years and a quarter of them
    texts, _ = picture(series / "default.svg")
    assert "1961" in texts and "1962" not in texts


def test_dates_are_on_the_axis(run, tmp_path):
    days = [datetime.date(2023, 11, 6) + datetime.timedelta(days=i) for i in range(150)]
    values = 5 + np.sin(np.arange(150) * 2 * math.pi / 30)
    (tmp_path / "d.csv").write_text("day,level\n" + "".join(f"{d.isoformat()},{v!r}\n" for d, v in zip(days, map(float, values))))
    run("fit", "d.csv", "--target", "level", *RIDGE, "-o", "d.mercer")
    run("plot", "d.mercer", "d.csv", "--horizon", "30", "-o", "d.svg")
    texts, _ = picture(tmp_path / "d.svg")
    assert "Dec 2023" in texts and "Jan 2024" in texts and "Feb" in texts


def test_other_models_of_one_input(run, tmp_path):
    random = np.random.default_rng(2)
    x = random.uniform(0, 10, size=200)  # in no order: not a series, nothing ahead of it
    write_csv(tmp_path / "s.csv", ["dose", "response"], [x, np.sin(x) + 0.1 * random.normal(size=200)])
    for name, extra, count, legend in [
        ("ridge", [], 2, "prediction with 50 % and 90 % bands"),
        ("plain", ["--uncertainty", "none"], 0, "prediction"),
        ("huber", ["--loss", "huber:1"], 0, "prediction"),
        ("conformal", ["--conformal", "0.8"], 1, "prediction with intervals of level 80 %"),
        ("fan", ["--quantiles", "0.1,0.3,0.5,0.7,0.9"], 2, "quantile 0.5 with bands 0.1 to 0.9, 0.3 to 0.7"),
        ("pair", ["--quantiles", "0.1,0.9"], 1, "quantiles 0.1 to 0.9"),
    ]:
        run("fit", "s.csv", "--target", "response", *RIDGE, *extra, "-o", f"{name}.mercer")
        run("plot", f"{name}.mercer", "s.csv", "-o", f"{name}.svg")
        texts, root = picture(tmp_path / f"{name}.svg")
        assert "Prediction of response" in texts and "training ends" not in texts
        assert legend in texts and "dose" in texts
        assert len(bands(root)) == count, name


def test_outputs_are_panels_six_at_most(run, tmp_path):
    names = monthly(tmp_path / "w.csv", columns=8)
    run("fit", "w.csv", "--target", ",".join(names[1:]), *RIDGE, "-o", "w.mercer")
    result = run("plot", "w.mercer", "w.csv", "-o", "w.svg")
    assert "note: the first 6 of 8 outputs are drawn\n" in result.out
    texts, root = picture(tmp_path / "w.svg")
    assert [t for t in texts if t.startswith("Forecast of")] == [f"Forecast of level{k}" for k in range(6)]
    panels = [child for child in root if child.tag == SVG + "svg"]
    assert [float(p.get("y")) for p in panels] == [320.0 * k for k in range(6)]


def test_many_rows_are_thinned_and_peaks_kept(run, tmp_path):
    n = 12000
    y = np.sin(np.arange(n) / 1000)
    y[7777] = 40
    write_csv(tmp_path / "b.csv", ["t", "y"], [np.arange(n), y])
    run("fit", "b.csv", "--target", "y", *RIDGE, "-o", "b.mercer")
    result = run("plot", "b.mercer", "b.csv", "-o", "b.svg", "--json")
    assert 4000 < result.json["points"] <= 5000 and result.json["notes"]
    assert (tmp_path / "b.svg").stat().st_size < 300_000
    assert "40" in picture(tmp_path / "b.svg")[0]


def test_rows_with_missing_cells_are_left_out(run, series):
    lines = (series / "all.csv").read_text().split("\n")
    lines[5] = lines[5].split(",")[0] + ","
    (series / "holes.csv").write_text("\n".join(lines))
    assert run("plot", "m.mercer", "holes.csv", "-o", "h.svg", "--json").json["points"] == 143
    assert run("plot", "m.mercer", "holes.csv", "--missing", "drop", "-o", "h.svg", "--json").json["points"] == 143


def test_a_forecast_that_runs_away_is_cut_off(run, tmp_path):
    t = np.arange(200.0)
    write_csv(tmp_path / "r.csv", ["t", "y"], [t, np.sin(t / 20)])
    run("fit", "r.csv", "--target", "y", "--kernel", "polynomial(9)", "--map", "exact", "--penalty", "1e-12", "-o", "r.mercer")
    result = run("plot", "r.mercer", "r.csv", "-o", "r.svg")
    assert "note: the forecast of y leaves the picture\n" in result.out
    assert {"−2", "0", "1"} <= set(picture(tmp_path / "r.svg")[0])


# --- spectrum and training --------------------------------------------------------------------------------------------


def test_spectrum(run, series):
    run("plot", "m.mercer", "train.csv", "--what", "spectrum", "-o", "s.svg")
    texts, root = picture(series / "s.svg")
    for text in ["Spectrum of level", "frequency, cycles per year", "spectrum of the rows", "learned spectrum and noise",
                 "its components", "noise", "1 year"]:  # fmt: skip
        assert text in texts, text
    assert 1 <= len(bands(root)) <= 3
    run("plot", "m.mercer", "--what", "spectrum", "-o", "alone.svg")
    assert "spectrum of the rows" not in picture(series / "alone.svg")[0]


@pytest.mark.parametrize("law", ["student", "laplace"])
def test_spectrum_of_other_laws(run, series, law):
    run("fit", "train.csv", "--target", "level", "--gp", f"spectral_mixture:3,{law}", *GP[2:], "-o", "l.mercer")
    run("plot", "l.mercer", "train.csv", "--what", "spectrum", "-o", "l.svg")
    assert "1 year" in picture(series / "l.svg")[0]


def test_spectrum_over_several_inputs(run, tmp_path):
    random = np.random.default_rng(6)
    x = random.uniform(0, 10, size=(80, 2))
    write_csv(tmp_path / "p.csv", ["a", "b", "y"], [*x.T, np.sin(2 * x[:, 0]) + 0.1 * x[:, 1]])
    run("fit", "p.csv", "--target", "y", *GP, "-o", "p.mercer")
    run("plot", "p.mercer", "p.csv", "--what", "spectrum", "-o", "p.svg")
    texts, _ = picture(tmp_path / "p.svg")
    assert "Spectrum of y along a" in texts and "Spectrum of y along b" in texts
    refused = run("plot", "p.mercer", "p.csv", "-o", "q.svg", ok=False)
    assert refused.code == 2
    assert refused.err == (
        "mercer: p.mercer has 2 inputs, and a forecast is drawn over one; take --what spectrum or --what training\n"
    )


def test_training(run, series):
    run("plot", "m.mercer", "--what", "training", "-o", "t.svg")
    texts, _ = picture(series / "t.svg")
    for text in ["Training", "negative log marginal likelihood", "objective", "iteration", "Validation rows", "RMSE"]:
        assert text in texts, text
    run("fit", "train.csv", "--target", "level", "--gp", "exact", "--steps", "5", "-o", "e.mercer")
    run("plot", "e.mercer", "--what", "training", "-o", "e.svg")
    texts, _ = picture(series / "e.svg")
    assert "Validation rows" not in texts and "objective" not in texts  # which is the likelihood itself
    run("plot", "e.mercer", "all.csv", "-o", "e.svg")


# --- predict --plot ---------------------------------------------------------------------------------------------------


def test_predict_draws_the_horizon(run, series):
    result = run("predict", "m.mercer", "--horizon", "24", "--plot", "f.svg")
    assert result.out == "wrote f.svg\n"  # without -o no table
    texts, root = picture(series / "f.svg")
    assert "Forecast of level" in texts and "1960" in texts and len(bands(root)) == 2
    result = run("predict", "m.mercer", "--horizon", "24", "--plot", "g.svg", "-o", "g.csv", "--json")
    assert (result.json["figure"], result.json["n"]) == ("g.svg", 24)
    assert len(read_csv(series / "g.csv")[1]) == 24
    assert (series / "f.svg").read_bytes() == (series / "g.svg").read_bytes()
    assert run("predict", "m.mercer", "--horizon", "2", "--plot", "h.svg", "--json").json["figure"] == "h.svg"


def test_nothing_is_drawn_where_the_table_is_refused(run, series):
    refused = run("predict", "m.mercer", "--horizon", "12", "--plot", "refused.svg", "-o", "refused.npy", ok=False)
    assert "a column of times: end -o 'refused.npy' in .csv" in refused.err
    assert not (series / "refused.svg").exists()


def test_predict_draws_the_rows(run, series):
    run("predict", "m.mercer", "all.csv", "--plot", "f.svg", "-o", "p.csv")
    assert "rows after training" in picture(series / "f.svg")[0]
    write_csv(series / "future.csv", ["year"], [1959 + np.arange(60) / 12])
    run("predict", "m.mercer", "future.csv", "--plot", "g.svg")
    texts, _ = picture(series / "g.svg")
    assert "rows" not in texts and "1962" in texts


# --- refusals ---------------------------------------------------------------------------------------------------------


def refused(run, *args):
    result = run(*args, ok=False)
    assert result.code == 2, result
    assert result.err.startswith("mercer: ") and result.err.count("\n") == 1 and result.out == ""
    return result.err


def test_refusals(run, series, species):
    assert "give -o FIGURE.svg" in refused(run, "plot", "m.mercer", "all.csv")
    assert "give the picture a file" in refused(run, "plot", "m.mercer", "all.csv", "-o", "-")
    assert "nowhere" in refused(run, "plot", "m.mercer", "all.csv", "-o", "nowhere/f.svg")
    assert "nowhere" in refused(run, "predict", "m.mercer", "--horizon", "3", "--plot", "nowhere/f.svg")
    assert "did you mean 'spectrum'?" in refused(run, "plot", "m.mercer", "--what", "spectrun", "-o", "f.svg")
    assert "leave out all.csv" in refused(run, "plot", "m.mercer", "all.csv", "--what", "training", "-o", "f.svg")
    assert "--horizon goes with" in refused(run, "plot", "m.mercer", "--what", "spectrum", "--horizon", "3", "-o", "f.svg")
    assert "horizon" in refused(run, "plot", "m.mercer", "--horizon", "0", "-o", "f.svg")
    assert "year" in refused(run, "plot", "m.mercer", "species.csv", "-o", "f.svg")
    assert "same file" in refused(run, "predict", "m.mercer", "--horizon", "3", "--plot", "f", "-o", "f")
    assert "standard input" in refused(run, "predict", "m.mercer", "-", "--plot", "f.svg")
    run("fit", "train.csv", "--target", "level", *RIDGE, "-o", "ridge.mercer")
    assert "no learned spectrum" in refused(run, "plot", "ridge.mercer", "all.csv", "--what", "spectrum", "-o", "f.svg")
    assert "step by step" in refused(run, "plot", "ridge.mercer", "--what", "training", "-o", "f.svg")
    run("fit", "species.csv", "--target", "kind", *RIDGE, "-o", "c.mercer")
    for what in [[], ["--what", "training"], ["--what", "spectrum"]]:
        assert "tells classes apart" in refused(run, "plot", "c.mercer", *what, "-o", "f.svg")
    assert "tells classes apart" in refused(run, "predict", "c.mercer", "species.csv", "--plot", "f.svg")
    assert not os.path.exists(series / "f.svg")


def test_files_without_the_columns(run, series):
    write_csv(series / "other.csv", ["month", "level"], [[1, 2], [3, 4]])
    assert "year" in refused(run, "plot", "m.mercer", "other.csv", "-o", "f.svg")
    write_csv(series / "inputs.csv", ["year"], [[1950, 1951]])
    assert "level" in refused(run, "plot", "m.mercer", "inputs.csv", "-o", "f.svg")
    (series / "empty.csv").write_text("year,level\n")
    assert refused(run, "plot", "m.mercer", "empty.csv", "-o", "f.svg")
