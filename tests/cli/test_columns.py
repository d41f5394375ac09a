"""Missing cells, categories, ways to name columns, classes, and rows held out."""

import numpy as np
import pytest
from conftest import read_csv, write_csv
from oracles import bordered, close, gaussian, predicted
from sklearn.metrics import confusion_matrix


# --- missing cells, categories, columns -------------------------------------------------------------------------------


def with_holes(tmp_path, train):
    lines = (tmp_path / "train.csv").read_text().splitlines()
    for row, text in [(3, ""), (10, "?"), (50, "NA"), (77, "NaN")]:
        cells = lines[1 + row].split(",")
        cells[1] = text
        lines[1 + row] = ",".join(cells)
    (tmp_path / "holes.csv").write_text("\n".join(lines) + "\n")
    return np.array([3, 10, 50, 77])


def test_missing_mean(run, smooth, tmp_path):
    train, _ = smooth
    holes = with_holes(tmp_path, train)
    x = train.x.copy()
    x[holes, 1] = np.delete(x[:, 1], holes).mean()
    write_csv(tmp_path / "filled.csv", ["a", "b", "c", "y"], [*x.T, train.y])
    how = ["--target", "y", "--map", "fourier:30", "--penalty", "1e-4"]
    one = run("fit", "holes.csv", *how, "--missing", "mean", "-o", "1.mercer", "--json")
    assert one.json["cells_filled"] == 4 and one.json["rows_dropped"] == 0
    assert "4 missing cells filled" in one.err
    run("fit", "filled.csv", *how, "-o", "2.mercer")
    assert close(predicted(run, "1.mercer", "test.csv"), predicted(run, "2.mercer", "test.csv"), 1e-10)
    # and predict fills with the mean of the training column, whatever the new file holds
    assert close(predicted(run, "1.mercer", "holes.csv", "--missing", "mean"), predicted(run, "2.mercer", "filled.csv"), 1e-10)


def test_missing_drop(run, smooth, tmp_path):
    train, _ = smooth
    holes = with_holes(tmp_path, train)
    write_csv(tmp_path / "rest.csv", ["a", "b", "c", "y"], [*np.delete(train.x, holes, 0).T, np.delete(train.y, holes)])
    how = ["--target", "y", "--map", "fourier:30", "--penalty", "1e-4"]
    one = run("fit", "holes.csv", *how, "--missing", "drop", "-o", "1.mercer", "--json").json
    assert (one["n"], one["rows_dropped"], one["cells_filled"]) == (116, 4, 0)
    run("fit", "rest.csv", *how, "-o", "2.mercer")
    assert run("predict", "1.mercer", "test.csv").out == run("predict", "2.mercer", "test.csv").out
    lines = run("predict", "1.mercer", "holes.csv", "--std", "--missing", "drop").out.splitlines()
    assert len(lines) == 121 and [i for i, line in enumerate(lines[1:]) if line == ","] == list(holes), "rows keep their places"
    assert run("score", "1.mercer", "holes.csv", "--missing", "drop", "--json").json["n"] == 116


def test_one_hot_is_indicator_columns(run, tmp_path):
    random = np.random.default_rng(4)
    colour = random.choice(["red", "green", "blue"], size=60)
    x = random.normal(size=60)
    y = x + (colour == "red") + 0.1 * random.normal(size=60)
    write_csv(tmp_path / "text.csv", ["colour", "x", "y"], [colour, x, y])
    names = ["blue", "green", "red"]
    write_csv(tmp_path / "numbers.csv", [*names, "x", "y"], [*(1.0 * (colour == n) for n in names), x, y])
    how = ["--target", "y", "--map", "fourier:30", "--penalty", "1e-4"]
    assert run("fit", "text.csv", *how, "--one-hot", "-o", "1.mercer", "--json").json["inputs"] == 4
    run("fit", "numbers.csv", *how, "-o", "2.mercer")
    assert run("predict", "1.mercer", "text.csv").out == run("predict", "2.mercer", "numbers.csv").out
    assert run("info", "1.mercer", "--json").json["input_names"] == ["colour=blue", "colour=green", "colour=red", "x"]


@pytest.mark.parametrize("target", ["y", "3", "last:1", "3-3"])
def test_ways_to_name_a_column(run, smooth, target):
    how = ["--map", "fourier:10", "--penalty", "1e-3"]
    run("fit", "train.csv", "--target", "y", *how, "-o", "1.mercer")
    run("fit", "train.csv", "--target", target, *how, "-o", "2.mercer")
    assert run("predict", "1.mercer", "test.csv").out == run("predict", "2.mercer", "test.csv").out


@pytest.mark.parametrize("inputs", ["a,b", "0,1", "a-b", "first:2"])
def test_ways_to_choose_inputs(run, smooth, inputs):
    j = run("fit", "train.csv", "--target", "y", "--inputs", inputs, "--map", "fourier:10", "-o", "m.mercer", "--json").json
    assert j["inputs"] == 2
    assert run("info", "m.mercer", "--json").json["input_names"] == ["a", "b"]


def test_new_files_may_look_different(run, smooth, tmp_path):
    """Columns in another order, more of them, without targets, or without names in the model's order."""
    _, test = smooth
    run("fit", "train.csv", "--target", "y", "--map", "fourier:10", "-o", "m.mercer")
    expected = run("predict", "m.mercer", "test.csv").out
    write_csv(tmp_path / "shuffled.csv", ["c", "new", "a", "b"], [test.x[:, 2], test.y, test.x[:, 0], test.x[:, 1]])
    write_csv(tmp_path / "nameless.csv", None, test.x.T)
    np.save(tmp_path / "array.npy", test.x)
    for name in ["shuffled.csv", "nameless.csv", "array.npy"]:
        assert run("predict", "m.mercer", name).out == expected, name


def test_several_files_are_one(run, smooth, tmp_path):
    train, _ = smooth
    write_csv(tmp_path / "1.csv", ["a", "b", "c", "y"], [*train.x[:50].T, train.y[:50]])
    write_csv(tmp_path / "2.csv", ["y", "c", "b", "a"], [train.y[50:], *train.x[50:].T[::-1]])
    how = ["--target", "y", "--map", "fourier:10"]
    run("fit", "train.csv", *how, "-o", "1.mercer")
    run("fit", "1.csv", "2.csv", *how, "-o", "2.mercer")
    assert run("predict", "1.mercer", "test.csv").out == run("predict", "2.mercer", "test.csv").out


def test_like_takes_the_recipe_of_another_model(run, smooth):
    run("fit", "train.csv", "--target", "y", "--map", "fourier:10", "--seed", "4", "-o", "1.mercer")
    run("fit", "test.csv", "--like", "1.mercer", "-o", "2.mercer")
    one, two = (run("info", m, "--json").json for m in ["1.mercer", "2.mercer"])
    assert (two["kernel"], two["seed"], two["map"], two["n"]) == (one["kernel"], 4, one["map"], 30)


# --- classes ----------------------------------------------------------------------------------------------------------


def test_classes_with_text_labels(run, species):
    run("fit", "species.csv", "--target", "kind", "--map", "fourier:30", "-o", "m.mercer")
    header, rows = read_csv(run("predict", "m.mercer", "species.csv").out)
    assert header == ["kind", "score_birch", "score_elm", "score_oak"]
    labels, scores = rows[:, 0], rows[:, 1:].astype(float)
    assert (labels == np.array(["birch", "elm", "oak"])[scores.argmax(1)]).all()
    j = run("score", "m.mercer", "species.csv", "--json").json
    assert j["classes"] == ["birch", "elm", "oak"] and j["n"] == 150
    assert j["accuracy"] == pytest.approx((labels == species.y).mean()) and j["accuracy"] > 0.8
    assert j["error_percent"] == pytest.approx(100 * (labels != species.y).mean())
    assert j["confusion"] == confusion_matrix(species.y, labels, labels=j["classes"]).tolist()
    text = run("score", "m.mercer", "species.csv").out
    assert "accuracy" in text and "truth" in text and "birch" in text


def test_class_scores_are_least_squares_on_indicators(run, species):
    """Simplex codes with one kernel: score_k = (K g_k - 1)/(K - 1) where g_k is kernel ridge on the indicator of class k."""
    run("fit", "species.csv", "--target", "kind", "--kernel", "gaussian(1)", "--map", "exact", "--penalty", "1e-2", "--no-standardize",
        "-o", "m.mercer")
    scores = read_csv(run("predict", "m.mercer", "species.csv").out)[1][:, 1:].astype(float)
    k = gaussian(species.x, species.x)
    for c, name in enumerate(["birch", "elm", "oak"]):
        a, b = bordered(k, 1.0 * (species.y == name), 150e-2)
        np.testing.assert_allclose(scores[:, c], (3 * (k @ a + b) - 1) / 2, atol=1e-9)


def test_numbers_as_classes(run, species, tmp_path):
    digits = np.unique(species.y, return_inverse=True)[1] + 10
    lines = (tmp_path / "species.csv").read_text().splitlines()
    text = ["p,q,kind"] + [line.rsplit(",", 1)[0] + f",{d}" for line, d in zip(lines[1:], digits)]
    (tmp_path / "digits.csv").write_text("\n".join(text) + "\n")
    run("fit", "digits.csv", "--target", "kind", "--classify", "--map", "fourier:30", "-o", "d.mercer")
    run("fit", "species.csv", "--target", "kind", "--map", "fourier:30", "-o", "s.mercer")
    assert run("info", "d.mercer", "--json").json["classes"] == ["10", "11", "12"]
    one, two = (run("score", m, d, "--json").json for m, d in [("d.mercer", "digits.csv"), ("s.mercer", "species.csv")])
    assert one["confusion"] == two["confusion"]


# --- holding out ------------------------------------------------------------------------------------------------------


def test_holdout_in_time_is_the_last_rows(run, smooth, tmp_path):
    train, _ = smooth
    write_csv(tmp_path / "head.csv", ["a", "b", "c", "y"], [*train.x[:90].T, train.y[:90]])
    write_csv(tmp_path / "tail.csv", ["a", "b", "c", "y"], [*train.x[90:].T, train.y[90:]])
    j = run("fit", "train.csv", "--target", "y", "--map", "fourier:20", "--holdout", "0.25", "--split", "time", "--json").json
    assert j["n"] == 90
    run("fit", "head.csv", "--target", "y", "--map", "fourier:20", "-o", "m.mercer")
    expected = run("score", "m.mercer", "tail.csv", "--json").json
    expected.pop("seconds")
    assert j["holdout"] == expected


def test_holdout_at_random(run, smooth):
    fit = ["fit", "train.csv", "--target", "y", "--map", "fourier:20", "--holdout", "0.3", "--json"]
    one, same, other = (run(*fit, "--seed", s).json for s in [1, 1, 2])
    assert one["n"] == 84 and one["holdout"]["n"] == 36
    assert one["holdout"] == same["holdout"] and one["holdout"]["rmse"] != other["holdout"]["rmse"]
    assert "held-out rows" in run(*fit[:-1]).out


def test_holdout_rows_do_not_leak(run, smooth, tmp_path):
    """Targets of the rows held out, multiplied by 1000, change nothing but the score."""
    train, _ = smooth
    y = train.y.copy()
    y[90:] *= 1000
    write_csv(tmp_path / "odd.csv", ["a", "b", "c", "y"], [*train.x.T, y])
    for name in ["train", "odd"]:
        run("fit", f"{name}.csv", "--target", "y", "--map", "fourier:20", "--holdout", "0.25", "--split", "time", "-o", f"{name}.mercer")
    assert run("predict", "train.mercer", "test.csv").out == run("predict", "odd.mercer", "test.csv").out
