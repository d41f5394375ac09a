"""Reports: scores against scikit-learn and the command line, pages of every kind of model, recipes that give the same model."""

import json
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics

import mercer
from mercer import (
    ConformalRegressor,
    ExactGP,
    KernelClassifier,
    KernelQuantileRegressor,
    KernelRegressor,
    KernelRegressorCV,
    SpectralMixtureGP,
)
from mercer.__main__ import main
from mercer._report import report_file
from mercer._report.data import from_arrays, from_file, looks_fitted
from mercer._report.recipe import code, command
from mercer._report.scores import expectile, log_density, pinball, r2, score
from mercer._report.subject import Subject
from mercer.kernels import CurlFree, Gaussian

SECTIONS = ["Data", "Model", "Scores", "Pictures", "Time and memory", "How to reproduce"]
VOID = {"meta", "link", "img", "br"}


class Page(HTMLParser):
    """Checks that tags are balanced, and gathers what a page holds."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.addresses, self.headings, self.pre = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.addresses += [value for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)
        if self.open[-2:] == ["pre", "code"]:
            self.pre.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def checked(text):
    """What every page must be: whole, self-contained, with a word for every picture."""
    page = Page(text)
    assert page.headings == SECTIONS
    assert page.all("html") == [{"lang": "en"}]
    assert all(address.startswith(("data:", "#")) for address in page.addresses)
    assert not re.search(r"url\(|@import|<script", text)
    assert page.all("img") and all(image["alt"] and image["src"].startswith("data:image/") for image in page.all("img"))
    assert all(drawing.get("aria-label") or drawing.get("aria-hidden") for drawing in page.all("svg"))
    assert len(page.all("h1")) == 1
    return page


def models(X, y):
    labels = np.where(y > 1, "high", "low")
    t = np.arange(len(y), dtype=float)
    field = np.column_stack([-2 * X[:, 0], -X[:, 1]])
    wave = np.sin(t / 2) + 0.1 * X[:, 0]
    return {
        "regressor": (KernelRegressor(features=40), X, y),
        "cg": (KernelRegressor(features=40, solver="cg", penalty=1e-3, tolerance=1e-9), X, y),
        "sketch": (KernelRegressor(map="p-sr", features=30), X, y),
        "huber": (KernelRegressor(features=30, loss="huber:1.345", penalty=1e-3), X, y),
        "exact": (KernelRegressor(map="exact"), X, y),
        "cv": (KernelRegressorCV(features=30, length_factors=(1, 2)), X, y),
        "field": (KernelRegressor(CurlFree(Gaussian(1.0)), features=40), X, field),
        "many": (KernelRegressor(features=30), X, np.column_stack([y, -y, y**2, X[:, 0], X[:, 1]])),
        "logistic": (KernelClassifier(features=30), X, labels),
        "square": (KernelClassifier(features=30, loss="square"), X, labels),
        "multinomial": (KernelClassifier(features=30, loss="multinomial"), X, np.digitize(y, [0, 1, 2])),
        "quantiles": (KernelQuantileRegressor([0.1, 0.5, 0.9], features=30, non_crossing=True), X, y),
        "median": (KernelQuantileRegressor(features=30), X, y),
        "conformal": (ConformalRegressor(KernelRegressor(features=30), level=0.8), X, y),
        "conformal series": (ConformalRegressor(KernelRegressor(features=30), time_order=True), X, y),
        "conformal quantiles": (ConformalRegressor(KernelQuantileRegressor([0.1, 0.9], features=30)), X, y),
        "gp": (ExactGP(steps=10), X, y),
        "inducing": (ExactGP(steps=10, inducing=15), X, y),
        "series": (SpectralMixtureGP(components=2, points=30, steps=20), t, wave),
        "exact series": (ExactGP("spectral_mixture:2", steps=10), t, wave),
        "dates": (SpectralMixtureGP(components=2, points=30, steps=20), np.datetime64("2020-01-01") + t.astype(int), wave),
        "spectral table": (SpectralMixtureGP(components=2, points=30, steps=10), X, y),
    }


KINDS = list(models(np.zeros((4, 2)), np.zeros(4)))


@pytest.fixture
def small(rng):
    X = rng.uniform(-2, 2, (120, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.normal(size=120)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_for_every_model(kind, small):
    estimator, X, y = models(*small)[kind]
    text = mercer.report(estimator.fit(X, y), X, y)
    page = checked(text)
    assert "no picture" not in text
    assert len(page.all("figure")) >= (1 if kind in ("huber", "square") else 2)
    assert len(page.pre) == 2 and page.pre[0].startswith("mercer fit train.csv") and page.pre[1].startswith("from mercer import")


def test_scores_of_regression(wave):
    from scipy.stats import norm

    X, y = wave
    model = KernelRegressor(features=40).fit(X[:200], y[:200])
    weights = np.linspace(0.5, 2, 100)
    found = score(Subject(model), from_arrays(Subject(model), X[200:], y[200:], weights)).targets[0]
    mean, std = model.predict(X[200:], return_std=True)
    truth = y[200:]
    assert found.r2 == pytest.approx(metrics.r2_score(truth, mean, sample_weight=weights))
    assert found.rmse == pytest.approx(metrics.root_mean_squared_error(truth, mean, sample_weight=weights))
    assert found.mae == pytest.approx(metrics.mean_absolute_error(truth, mean, sample_weight=weights))
    assert found.log_density == pytest.approx(np.average(norm.logpdf(truth, mean, std), weights=weights))
    low, high = norm.interval(0.9, mean, std)
    assert found.band_coverage == pytest.approx(np.average((low <= truth) & (truth <= high), weights=weights))


def test_formulas():
    y, f = np.array([1.0, 2.0, 4.0]), np.array([1.5, 1.0, 4.0])
    assert pinball(y, f, 0.9) == pytest.approx(metrics.mean_pinball_loss(y, f, alpha=0.9))
    assert expectile(y, f, 0.9) == pytest.approx((0.1 * 0.25 + 0.9 * 1 + 0) / 3)
    assert log_density(y, f, np.ones(3)) == pytest.approx(-0.5 * np.log(2 * np.pi) - 0.5 * 1.25 / 3)
    assert np.isnan(r2(np.ones(3), f, None))


def test_scores_of_quantiles(wave):
    X, y = wave
    model = KernelQuantileRegressor([0.2, 0.5, 0.8], features=40).fit(X[:200], y[:200])
    found = score(Subject(model), from_arrays(Subject(model), X[200:], y[200:]))
    bands = model.predict(X[200:])
    for k, level in enumerate(found.levels):
        assert level.loss == pytest.approx(metrics.mean_pinball_loss(y[200:], bands[:, k], alpha=level.level))
        assert level.below == np.mean(y[200:] <= bands[:, k])
    assert found.crossed == pytest.approx(np.mean(bands[:, 1:] < bands[:, :-1]))
    assert found.inside == np.mean((bands[:, 0] <= y[200:]) & (y[200:] <= bands[:, 2]))


@pytest.mark.parametrize("loss", ["logistic", "multinomial", "square"])
def test_scores_of_classes(wave, loss):
    X, y = wave
    labels = np.array(["a", "b", "c"])[np.digitize(y, [0.5, 2])]
    model = KernelClassifier(features=40, loss=loss, penalty=1e-3).fit(X[:200], labels[:200])
    found = score(Subject(model), from_arrays(Subject(model), X[200:], labels[200:]))
    said = model.predict(X[200:])
    assert found.accuracy == pytest.approx(metrics.accuracy_score(labels[200:], said))
    assert np.array_equal(found.confusion, metrics.confusion_matrix(labels[200:], said))
    assert found.majority == pytest.approx(max(np.mean(labels[200:] == label) for label in "abc"))
    if loss == "square":
        assert found.log_loss is None
    else:
        assert found.log_loss == pytest.approx(
            metrics.log_loss(labels[200:], model.predict_proba(X[200:]), labels=["a", "b", "c"])
        )


def test_fitted_rows_are_recognised(wave):
    X, y = wave
    model = KernelRegressor(features=40).fit(X[:200], y[:200])
    subject = Subject(model)
    assert looks_fitted(subject, from_arrays(subject, X[:200], y[:200]))
    assert not looks_fitted(subject, from_arrays(subject, X[100:], y[100:]))
    assert "flatter" in mercer.report(model, X[:200], y[:200])
    assert "flatter" not in mercer.report(model, X[200:], y[200:])


NASTY = ['<script>alert("x")</script>', 'a & b\' "c"', "$\\frac{x$", "</title><b>", "名前"]


def test_nothing_from_data_becomes_markup(wave):
    """Names of columns, labels and titles stand on the page as they are."""
    pandas = pytest.importorskip("pandas")
    X, y = wave
    frame = pandas.DataFrame(X, columns=NASTY[:2])
    labels = np.array(NASTY[2:])[np.digitize(y, [0.5, 2])]
    text = mercer.report(
        KernelClassifier(features=30).fit(frame, pandas.Series(labels, name=NASTY[3])), frame, labels, title=NASTY[0]
    )
    page = checked(text)
    assert not page.all("b") and not page.all("script")
    assert "no picture" not in text
    target = KernelRegressor(features=30).fit(frame, pandas.Series(y, name=NASTY[2]))
    assert "no picture" not in mercer.report(target, frame, y)


def test_missing_cells_are_left_out(wave):
    X, y = (values.copy() for values in wave)
    model = KernelRegressor(features=30).fit(X, y)
    X[3, 1] = np.nan
    y[[5, 6]] = np.nan
    text = mercer.report(model, X, y)
    checked(text)
    assert "3 rows have a missing cell" in text
    kept = np.isfinite(X).all(axis=1) & np.isfinite(y)
    subject = Subject(model)
    found = score(subject, from_arrays(subject, X, y).complete()).targets[0]
    assert found.r2 == pytest.approx(model.score(X[kept], y[kept]))
    with pytest.raises(ValueError, match="every row has a missing cell"):
        mercer.report(model, X, np.full(len(y), np.nan))


def test_frames_are_read_by_name(wave):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = wave
    model = KernelRegressor(features=30).fit(pandas.DataFrame(X, columns=["a", "b"]), pandas.Series(y, name="height"))
    subject = Subject(model)
    for frame in (pandas, polars):
        swapped = frame.DataFrame({"b": X[:, 1], "other": y, "a": X[:, 0]})
        assert np.array_equal(from_arrays(subject, swapped, y).X, X)
    assert "<h1>Report on height</h1>" in mercer.report(model, swapped, y)
    with pytest.raises(ValueError, match="X lacks the model's input 'a'"):
        mercer.report(model, pandas.DataFrame(X, columns=["b", "c"]), y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X[:, :1], y), "the model takes 2 inputs"),
        (lambda X, y: (X, np.column_stack([y, y])), "the model has 1 target"),
        (lambda X, y: (X, y[:-1]), "X has 300 rows and y has 299"),
        (lambda X, y: (X[:0], y[:0]), "X has no rows"),
        (lambda X, y: (X, ["a"] * len(y)), "y must be numbers"),
    ],
)
def test_errors_say_what_is_wrong(wave, change, message):
    X, y = wave
    with pytest.raises(ValueError, match=message):
        mercer.report(KernelRegressor(features=30).fit(X, y), *change(X, y))


def test_models_that_cannot_be_reported(wave):
    X, y = wave
    with pytest.raises(ValueError, match="not fitted"):
        mercer.report(KernelRegressor(), X, y)
    with pytest.raises(ValueError, match="not of RandomFourierFeatures"):
        mercer.report(mercer.RandomFourierFeatures(10).fit(X), X, y)
    classifier = KernelClassifier(features=30).fit(X, np.where(y > 1, "high", "low"))
    with pytest.raises(ValueError, match="the label 'middle', which the model does not know"):
        mercer.report(classifier, X, ["middle"] * len(y))


def test_few_rows(wave):
    """One row has no spread, and still gives a page."""
    X, y = wave
    checked(mercer.report(KernelRegressor(features=30).fit(X, y), X[:1], y[:1]))
    labels = y > 1
    checked(mercer.report(KernelClassifier(features=30).fit(X, labels), X[:2], labels[:2]))


def test_written_and_shown(wave, tmp_path):
    X, y = wave
    path = tmp_path / "report.html"
    text = mercer.report(KernelRegressor(features=30).fit(X, y), X, y, path)
    assert path.read_text(encoding="utf-8") == text
    assert repr(text).startswith("<Report, ")
    (frame,) = Page(text._repr_html_()).all("iframe")
    assert frame["srcdoc"] == text


def test_matplotlib_is_asked_for_by_name(wave, monkeypatch):
    X, y = wave
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'mercer[plot]'")):
        mercer.report(KernelRegressor(features=30).fit(X, y), X, y)


@pytest.mark.parametrize("kind", KINDS)
def test_python_code_gives_the_same_model(kind, small):
    estimator, X, y = models(*small)[kind]
    model = estimator.fit(X, y)
    names = {"X": X, "y": y}
    exec(code(Subject(model)), names)
    again = names["model"]
    assert type(again).__name__ == ("KernelRegressor" if kind == "cv" else type(model).__name__)
    if kind in ("logistic", "square", "multinomial"):
        assert np.allclose(again.decision_function(X), model.decision_function(X), atol=1e-6)
    else:
        assert np.allclose(again.predict(X), model.predict(X), rtol=1e-6, atol=1e-6 * np.std(y))


@pytest.mark.parametrize("outputs", ["independent", "shared"])
def test_spectra_of_several_targets_from_files(small, outputs, tmp_path):
    X, y = small
    Y = np.column_stack([y, X[:, 0]])
    SpectralMixtureGP(components=2, points=20, steps=8, outputs=outputs).fit(X, Y).save(tmp_path / "model.mercer")
    model = mercer.load(tmp_path / "model.mercer")
    names = {"X": X, "y": Y}
    exec(code(Subject(model)), names)
    assert np.allclose(names["model"].predict(X), model.predict(X), atol=1e-6)


def test_weights_are_in_the_recipe(small):
    X, y = small
    weights = np.linspace(0.5, 2, len(y))
    model = KernelRegressor(features=30).fit(X, y, sample_weight=weights)
    names = {"X": X, "y": y, "weights": weights}
    exec(code(Subject(model)), names)
    assert np.allclose(names["model"].predict(X), model.predict(X), rtol=1e-6, atol=1e-6)
    assert "weighted" in mercer.report(model, X, y, sample_weight=weights)


def table(path, X, y, names=("a", "b"), target="y"):
    lines = [",".join([*names, target])] + [",".join(map(str, [*row, value])) for row, value in zip(X.tolist(), y, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


FITS = {
    "mean": ["--map", "fourier:40"],
    "plain": ["--map", "fourier:40", "--no-standardize", "--no-intercept", "--seed", "5"],
    "approximate": ["--map", "fourier:40", "--solver", "cg", "--penalty", "0.001"],
    "robust": ["--map", "nystrom:40", "--loss", "huber:1.345"],
    "quantiles": ["--quantiles", "0.1,0.5,0.9", "--non-crossing"],
    "expectiles": ["--loss", "expectile:0.1,0.5,0.9", "--map", "fourier:30"],
    "conformal": ["--map", "fourier:40", "--conformal", "0.8"],
    "gp": ["--gp", "exact", "--steps", "20"],
    "spectral": ["--gp", "spectral_mixture:3", "--steps", "20"],
}


@pytest.mark.parametrize("name", FITS)
def test_scores_equal_those_of_the_command_line(name, small, program, tmp_path):
    X, y = small
    train, test = table(tmp_path / "train.csv", X[:80], y[:80]), table(tmp_path / "test.csv", X[80:], y[80:])
    model = tmp_path / "model.mercer"
    program("fit", train, "--target", "y", *FITS[name], "-o", model)
    theirs = json.loads(program("score", model, test, "--json").stdout)
    subject = Subject(mercer.load(model))
    ours = score(subject, from_file(subject, test))
    if name == "quantiles":
        assert [level.below for level in ours.levels] == pytest.approx(theirs["below"])
        assert ours.crossed == pytest.approx(theirs["crossed_share"])
        assert ours.inside == pytest.approx(theirs["inside"])
        assert [level.loss for level in ours.levels] == pytest.approx(theirs["pinball"])
    elif name != "expectiles":  # of which the command line says no loss
        assert ours.targets[0].rmse == pytest.approx(theirs["rmse"][0])
        assert ours.targets[0].mae == pytest.approx(theirs["mae"][0])
        assert ours.targets[0].r2 == pytest.approx(theirs["r2"], rel=1e-3)  # theirs is against the mean of the training rows
    if name == "conformal":
        assert ours.targets[0].interval_coverage == pytest.approx(theirs["interval_coverage"][0])
        assert ours.targets[0].interval_width == pytest.approx(theirs["interval_width"][0])
    if name == "spectral":
        assert ours.targets[0].log_density == pytest.approx(np.ravel(theirs["log_density"])[0])
        assert ours.targets[0].band_coverage == pytest.approx(np.ravel(theirs["band_coverage"])[0])
    checked(report_file(mercer.load(model), test))


@pytest.mark.parametrize("name", [name for name in FITS if name != "gp"])  # where its search began is not in the file
def test_the_command_gives_the_same_model(name, small, program, tmp_path):
    X, y = small
    train, model, again = table(tmp_path / "train.csv", X, y), tmp_path / "model.mercer", tmp_path / "again.mercer"
    program("fit", train, "--target", "y", *FITS[name], "-o", model)
    words = shlex.split(command(Subject(mercer.load(model)), str(train)).replace("\\\n", ""))
    assert words[0] == "mercer" and words[-2:] == ["-o", "model.mercer"]
    program(*words[1:-1], again)
    expected = mercer.load(model).model_.predict(X)
    assert np.allclose(mercer.load(again).model_.predict(X), expected, rtol=1e-6, atol=1e-6 * np.std(y))


def test_a_table_with_everything(program, tmp_path, rng):
    """Dates among other inputs, categories, classes with odd names, weights, missing cells."""
    n = 150
    days = np.datetime64("2021-03-01") + rng.integers(0, 300, n)
    colour = rng.choice(["red", "<green>"], n)
    x = rng.normal(size=n)
    labels = np.where(x + (colour == "red") > 0.5, "yes & <b>", "no")
    rows = ["day,colour,x,w,answer"] + [f"{days[i]},{colour[i]},{x[i]},{1 + i % 3},{labels[i]}" for i in range(n)]
    train, model = tmp_path / "train.csv", tmp_path / "model.mercer"
    train.write_text("\n".join(rows) + "\n")
    program(
        "fit",
        train,
        "--target",
        "answer",
        "--one-hot",
        "--weights",
        "w",
        "--loss",
        "logistic",
        "--map",
        "fourier:30",
        "-o",
        model,
    )
    rows[4] = rows[4].replace(f"{x[3]}", "NA")
    test = tmp_path / "test.csv"
    test.write_text("\n".join(rows) + "\n")
    loaded = mercer.load(model)
    subject = Subject(loaded)
    data = from_file(subject, test)
    assert np.array_equal(data.X[:, 0], days.astype(float))
    assert data.weights is not None and data.weights[1] == 2
    text = report_file(loaded, test)
    page = checked(text)
    assert "1 row has a missing cell" in text and "2021-" in text and not page.all("b")
    theirs = json.loads(program("score", model, test, "--missing", "drop", "--json").stdout)
    assert score(subject, data.complete()).accuracy == pytest.approx(theirs["accuracy"])
    words = shlex.split(command(subject, str(train)).replace("\\\n", ""))
    program(*words[1:-1], tmp_path / "again.mercer")
    again = mercer.load(tmp_path / "again.mercer")
    X = data.complete().X
    assert np.allclose(again.model_.predict(X), loaded.model_.predict(X), atol=1e-6)


@pytest.mark.parametrize(
    ("times", "shown", "after"),
    [
        ([f"{1960 + k // 12}-{1 + k % 12:02d}" for k in range(60)], "1964-12", np.datetime64("1965-01-01")),
        ([f"{1960 + k / 12:.6f}" for k in range(60)], "1964.917", 1965.0),
        ([str(np.datetime64("2020-01-01") + k).replace("-", "") for k in range(60)], "2020-02-29", np.datetime64("2020-03-01")),
    ],
    ids=["months", "decimal years", "compact"],
)
def test_times_of_series_from_files(times, shown, after, program, tmp_path):
    y = np.sin(np.arange(60) / 3)
    path, model = tmp_path / "series.csv", tmp_path / "model.mercer"
    path.write_text("\n".join(["time,level"] + [f"{t},{v}" for t, v in zip(times, y, strict=True)]) + "\n")
    program("fit", path, "--target", "level", "--gp", "spectral_mixture:2", "--steps", "10", "--map", "fourier:20", "-o", model)
    text = report_file(mercer.load(model), path)
    checked(text)
    assert shown in text and "no picture" not in text
    following = mercer.load(model).forecast(1)[0][0]
    assert following == (pytest.approx(after, abs=0.01) if isinstance(after, float) else after)


def test_from_a_shell(wave, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(mercer.__file__).parents[1]))
    X, y = wave
    model = tmp_path / "model.mercer"
    KernelRegressor(features=30).fit(X, y).save(model)
    data = table(tmp_path / "test.csv", X, y, ["x0", "x1"], "y0")
    page = tmp_path / "report.html"
    words = [sys.executable, "-m", "mercer", "report", model, data, "-o", page, "--title", "A wave"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout == f"wrote {page}\n" and done.stderr == ""
    text = page.read_text(encoding="utf-8")
    checked(text)
    assert "<h1>A wave</h1>" in text and "300 rows of test.csv" in text


def test_what_the_shell_says(wave, tmp_path, capsys):
    """A lesson without arguments; one line for what goes wrong."""
    assert main([]) == 0
    assert "python -m mercer report" in capsys.readouterr().out
    X, y = wave
    model = tmp_path / "model.mercer"
    KernelRegressor(features=30).fit(X, y).save(model)
    data = table(tmp_path / "test.csv", X, y, ["x0", "x1"], "y0")
    for arguments, message in (
        ((tmp_path / "none.mercer", data), "none.mercer: cannot open"),
        ((model, tmp_path / "none.csv"), "none.csv"),
        ((model, table(tmp_path / "other.csv", X, y, ["x0", "z"], "y0")), "'x1'"),
        ((model, table(tmp_path / "untold.csv", X, y, ["x0", "x1"], "z")), "'y0'"),
        ((model, data, "-o", tmp_path / "no" / "such" / "folder.html"), "folder.html"),
    ):
        assert main(["report", *map(str, arguments)]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and said.startswith("mercer: ") and message in said
