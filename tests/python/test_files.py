"""One model file for Python, the command line and C++: equal predictions."""

import csv

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import ConformalRegressor, ExactGP, KernelClassifier, KernelQuantileRegressor, KernelRegressor, SpectralMixtureGP
from mercer.kernels import CurlFree, Gaussian


def read(path):
    with open(path) as file:
        return list(csv.reader(file))


@pytest.fixture
def table(rng, tmp_path):
    X = rng.uniform(-2, 2, (120, 2))
    frame = pd.DataFrame(X, columns=["east", "north"])
    frame["u"], frame["v"] = -2 * X[:, 0], -X[:, 1] + 0.01 * rng.normal(size=120)
    frame["side"] = np.where(X[:, 0] > 0, "right", "left")
    frame.to_csv(tmp_path / "data.csv", index=False, float_format="%.17g")
    return frame


MODELS = {
    "fourier": (KernelRegressor(features=40), ["u", "v"]),
    "field": (KernelRegressor(CurlFree(Gaussian(1.0)), features=40), ["u", "v"]),
    "sketch": (KernelRegressor(features=20, map="nystrom", loss="huber:1.345"), ["u"]),
    "exact": (KernelRegressor(map="exact"), ["u"]),
    "quantiles": (KernelQuantileRegressor([0.1, 0.9], features=20), ["u"]),
    "spectrum": (SpectralMixtureGP(2, points=20, steps=5), ["u"]),
    "process": (ExactGP(steps=5), ["u"]),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_command_line_predicts_the_same(name, table, tmp_path, program):
    model, targets = MODELS[name]
    X = table[["east", "north"]]
    model.fit(X, table[targets] if len(targets) > 1 else table[targets[0]])
    model.save(tmp_path / "model.mercer")
    program("predict", tmp_path / "model.mercer", tmp_path / "data.csv", "-o", tmp_path / "out.csv")
    lines = read(tmp_path / "out.csv")
    expected = np.asarray(model.predict(X)).reshape(len(X), -1)
    np.testing.assert_allclose(np.array(lines[1:], dtype=float)[:, -expected.shape[1] :], expected, rtol=1e-12)
    loaded = mercer.load(tmp_path / "model.mercer")
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("options", [["--target", "u,v"], ["--target", "u", "--map", "exact"], ["--target", "u", "--quantiles", "0.1,0.9"]])
def test_python_predicts_what_the_command_line_does(options, table, tmp_path, program):
    model_file, answers = tmp_path / "cli.mercer", tmp_path / "out.csv"
    program("fit", tmp_path / "data.csv", "--inputs", "east,north", *options, "-o", model_file)
    program("predict", model_file, tmp_path / "data.csv", "-o", answers)
    loaded = mercer.load(model_file)
    ours = np.asarray(loaded.predict(table[["east", "north"]])).reshape(len(table), -1)
    np.testing.assert_allclose(np.array(read(answers)[1:], dtype=float)[:, -ours.shape[1] :], ours, rtol=1e-12)


def test_classes_keep_their_labels(table, tmp_path, program):
    X = table[["east", "north"]]
    for labels in (table["side"], (table["side"] == "right").astype(int) * 7):
        model = KernelClassifier(features=30).fit(X, labels)
        model.save(tmp_path / "classes.mercer")
        loaded = mercer.load(tmp_path / "classes.mercer")
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        np.testing.assert_array_equal(loaded.classes_, model.classes_)


def test_intervals_travel(table, tmp_path):
    X = table[["east", "north"]]
    model = ConformalRegressor(KernelRegressor(features=20), level=0.8).fit(X, table["v"])
    model.save(tmp_path / "intervals.mercer")
    loaded = mercer.load(tmp_path / "intervals.mercer")
    np.testing.assert_array_equal(loaded.predict_interval(X), model.predict_interval(X))


def test_dates_travel(tmp_path, program):
    days = np.arange("2020-01-01", "2020-04-01", dtype="datetime64[D]")
    y = np.sin(np.arange(len(days)) / 7 * 2 * np.pi)
    model = SpectralMixtureGP(2, points=30, steps=10).fit(days.astype("datetime64[ns]"), y)
    model.save(tmp_path / "weekly.mercer")
    program("predict", tmp_path / "weekly.mercer", "--horizon", "5", "-o", tmp_path / "out.csv")
    lines = read(tmp_path / "out.csv")
    assert lines[1][0] == "2020-04-01"
    loaded = mercer.load(tmp_path / "weekly.mercer")
    dates, mean, _ = loaded.forecast(5)
    assert str(dates[0])[:10] == "2020-04-01"
    np.testing.assert_allclose([float(line[1]) for line in lines[1:]], mean, rtol=1e-9)


def test_damaged_files_are_refused(tmp_path, wave):
    path = tmp_path / "model.mercer"
    KernelRegressor(features=10).fit(*wave).save(path)
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(OSError, match="checksum"):
        mercer.load(path)
    with pytest.raises(OSError, match="nowhere"):
        KernelRegressor(features=10).fit(*wave).save("/nowhere/model.mercer")
