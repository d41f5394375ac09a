"""What people bring: frames with dates and text, wrong columns, missing fits. Right, or refused in a sentence that helps."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import mercer
from mercer import ConformalRegressor, ExactGP, KernelClassifier, KernelQuantileRegressor, KernelRegressor, SpectralMixtureGP
from mercer.kernels import CurlFree, Gaussian
from mercer.streams import ParquetBlocks

DAYS = pd.date_range("2020-01-01", periods=60)
VALUES = np.sin(np.arange(60) / 4)


def process():
    return SpectralMixtureGP(2, points=30, steps=10)


@pytest.mark.parametrize(
    "times",
    [
        DAYS,
        pd.Series(DAYS),
        pd.DataFrame({"day": DAYS}),
        DAYS.to_period("D"),
        pd.Series(DAYS.to_period("D")),
        DAYS.strftime("%Y-%m-%d"),
        list(DAYS.strftime("%Y-%m-%d")),
        [[text] for text in DAYS.strftime("%Y-%m-%d")],
        list(DAYS.to_pydatetime()),
        [day.date() for day in DAYS],
        list(DAYS.to_numpy()),
        pl.Series("day", DAYS.to_numpy()),
        pl.DataFrame({"day": [day.date() for day in DAYS]}),
    ],
    ids=lambda times: type(times).__name__,
)
def test_dates_of_every_kind(times):
    model = process().fit(times, VALUES)
    days, mean, _ = model.forecast(2)
    assert [str(day)[:10] for day in days] == ["2020-03-01", "2020-03-02"]
    np.testing.assert_array_equal(mean, process().fit(DAYS.to_numpy(), VALUES).forecast(2)[1])
    np.testing.assert_array_equal(model.predict(times[:5]), model.predict(DAYS[:5]))


@pytest.mark.parametrize(
    ("times", "says"),
    [
        (DAYS.tz_localize("UTC"), "take the time zone off"),
        (DAYS.insert(0, pd.NaT)[:60], "a date is missing"),
        (["2020-01-01", "soon", *DAYS[2:].strftime("%Y-%m-%d")], "not every time is a date"),
        (pd.DataFrame({"from": DAYS, "to": DAYS}), "column 'from' of X holds dates"),
    ],
)
def test_dates_that_are_not_understood(times, says):
    for model in (process(), KernelRegressor(features=10)):
        with pytest.raises(ValueError, match=says):
            model.fit(times, VALUES)


def test_dates_and_numbers_are_not_mixed():
    dated, plain = process().fit(DAYS, VALUES), process().fit(np.arange(60.0), VALUES)
    with pytest.raises(ValueError, match="fitted to dates; give dates"):
        dated.predict([3.0])
    with pytest.raises(ValueError, match="X holds dates, and the model was fitted to numbers"):
        plain.predict(DAYS[:3])


def test_dates_for_every_estimator(tmp_path, program):
    """Days in Python are those of the command line, not nanoseconds."""
    frame = pd.DataFrame({"day": DAYS, "y": VALUES})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    how = ("--target", "y", "--map", "fourier:30", "--kernel", "gaussian(0.2)")
    program("fit", tmp_path / "rows.csv", *how, "-o", tmp_path / "m.mercer")
    theirs = mercer.load(tmp_path / "m.mercer").predict(frame[["day"]])
    ours = KernelRegressor("gaussian(0.2)", features=30).fit(frame[["day"]], VALUES)
    np.testing.assert_allclose(ours.predict(frame[["day"]]), theirs, atol=1e-12)
    assert np.corrcoef(theirs, VALUES)[0, 1] > 0.99
    ours.save(tmp_path / "ours.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "ours.mercer").predict(DAYS), ours.predict(DAYS))
    classifier = KernelClassifier(features=10).fit(frame[["day"]], VALUES > 0)
    assert classifier.predict(pd.DataFrame({"day": [datetime.date(2020, 1, 5)]})).shape == (1,)
    mercer.plot.fan(ours, frame[["day"]], VALUES)


@pytest.mark.filterwarnings("error")
def test_a_series_has_a_name(tmp_path):
    series = pd.Series(DAYS, name="day")
    model = process().fit(series, pd.Series(VALUES, name="wave"))
    assert list(model.feature_names_in_) == ["day"]
    model.predict(pd.Series(DAYS[:3], name="whatever"))
    model.predict(DAYS[:3])
    model.save(tmp_path / "m.mercer")
    assert mercer.load(tmp_path / "m.mercer").model_.columns()["inputs"] == ["day"]


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        ("x", "column 'extra' of X holds 'x', which is no number"),
        (pd.Categorical(["a", "b"] * 30), "column 'extra' of X holds 'a', which is no number"),
        (DAYS, "column 'extra' of X holds dates"),
        (DAYS.tz_localize("UTC"), "column 'extra' of X holds dates"),
    ],
)
def test_columns_that_are_no_numbers_are_named(extra, says, rng):
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"]).assign(extra=extra)
    for model in (KernelRegressor(), KernelClassifier(), ExactGP(), mercer.RandomFourierFeatures()):
        with pytest.raises(ValueError, match=says):
            model.fit(frame, VALUES > 0)


def test_targets_and_tables_that_are_no_numbers(rng):
    X = rng.normal(size=(60, 2))
    for labels in (np.where(VALUES > 0, "hot", "cold"), pd.Series(np.where(VALUES > 0, "hot", "cold"), dtype=object)):
        with pytest.raises(ValueError, match="y holds '(hot|cold)', which is no number; KernelClassifier learns classes"):
            KernelRegressor().fit(X, labels)
    with pytest.raises(ValueError, match="collect"):
        KernelRegressor().fit(pl.DataFrame(X).lazy(), VALUES)


def test_blocks_of_frames_have_names(rng, tmp_path):
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    model = KernelRegressor(features=10)
    blocks = [(frame[:30], VALUES[:30]), (frame[30:], VALUES[30:])]
    for source in (blocks, iter(blocks)):
        assert list(model.fit_blocks(source).feature_names_in_) == ["a", "b"]
        with pytest.raises(ValueError, match="same order"):
            model.predict(frame[["b", "a"]])
    with pytest.raises(ValueError, match="a block of rows has the columns"):
        model.fit_blocks([blocks[0], (frame[30:][["b", "a"]], VALUES[30:])])
    with pytest.raises(ValueError, match="X holds dates"):
        model.fit_blocks([(pd.DataFrame({"day": DAYS}), VALUES)])
    frame.assign(y=VALUES, group="x", day=DAYS).to_parquet(tmp_path / "rows.parquet")
    assert list(model.fit_blocks(ParquetBlocks(tmp_path / "rows.parquet", "y", ["a", "b"])).feature_names_in_) == ["a", "b"]
    for name in ("group", "day"):
        with pytest.raises(ValueError, match=f"column '{name}' of .* holds no numbers"):
            ParquetBlocks(tmp_path / "rows.parquet", "y", ["a", name])
    model.fit_blocks([(frame.to_numpy(), VALUES)])
    assert not hasattr(model, "feature_names_in_")


def test_labels_come_back_as_they_were(rng, tmp_path):
    X = rng.normal(size=(60, 2))
    for labels in (VALUES > 0, (VALUES > 0).astype(int), np.where(VALUES > 0, 1.0, 2.0), np.where(VALUES > 0, "yes", "no")):
        model = KernelClassifier(features=10).fit(X, labels)
        model.save(tmp_path / "m.mercer")
        again = mercer.load(tmp_path / "m.mercer")
        assert again.classes_.dtype.kind == labels.dtype.kind
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_small_mistakes(tmp_path, wave):
    with pytest.raises(NotFittedError):
        SpectralMixtureGP().forecast(3)
    model = process().fit(DAYS, VALUES)
    for horizon in (0, "a", 2.5):
        with pytest.raises(ValueError, match="horizon must be a whole number of at least 1"):
            model.forecast(horizon)
    with pytest.raises(FileNotFoundError, match="No such file"):
        mercer.load(tmp_path / "none.mercer")
    with pytest.raises(ValueError, match="with huber:1.345 take KernelQuantileRegressor"):
        KernelRegressor(loss="huber", features=10).fit(*wave).predict(wave[0], return_std=True)
    with pytest.raises(ValueError, match="a Gaussian process learns a scalar kernel"):
        ExactGP(CurlFree(Gaussian(1.0))).fit(wave[0], wave[0])


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (KernelRegressor(standardize="no"), "standardize must be True or False, got 'no'"),
        (KernelRegressor(intercept=None), "intercept must be True or False"),
        (KernelRegressor(penalty="auto"), "penalty must be a number, or None to have it chosen; got 'auto'"),
        (KernelClassifier(tolerance="low"), "tolerance must be a number"),
        (KernelRegressor(random_state=-1), "random_state must be at least 0"),
        (KernelQuantileRegressor(["a"]), "quantiles must be numbers between 0 and 1"),
        (KernelQuantileRegressor(None), "quantiles must be numbers between 0 and 1"),
        (KernelQuantileRegressor([0, 1]), "quantiles must be numbers between 0 and 1"),
        (KernelQuantileRegressor([]), "quantiles must be numbers between 0 and 1"),
        (KernelQuantileRegressor([0.1, 0.1]), "quantiles must differ"),
        (ConformalRegressor(0.9), "goes around Mercer's regressors, not float"),
    ],
    ids=str,
)
def test_parameters_are_refused_by_name(model, says, wave):
    X, y = wave
    with pytest.raises(ValueError, match=says):
        model.fit(X, y > 0 if isinstance(model, KernelClassifier) else y)


@pytest.mark.parametrize(
    "model", [KernelRegressor(solver="adam"), KernelQuantileRegressor([0.1, 0.9], penalty=1e-9, tolerance=1e-15)], ids=str
)
def test_warnings_point_at_the_callers_line(model, wave):
    X, y = wave
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("loss", ["logistic", "square", "hinge"])
def test_class_weights_are_row_weights(loss, rng):
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=300) > 1.2, "rare", "common")
    rows = rng.uniform(0.5, 1.5, 300)
    share = np.where(y == "rare", 1 / (2 * np.mean(y == "rare")), 1 / (2 * np.mean(y == "common")))

    def classifier(class_weight=None):
        return KernelClassifier(features=20, loss=loss, penalty=1e-2, class_weight=class_weight)

    balanced = classifier("balanced").fit(X, y, rows).decision_function(X)
    np.testing.assert_array_equal(balanced, classifier().fit(X, y, rows * share).decision_function(X))
    given = classifier({"rare": 5, "common": 1}).fit(X, y)
    np.testing.assert_array_equal(
        given.decision_function(X), classifier().fit(X, y, np.where(y == "rare", 5.0, 1.0)).decision_function(X)
    )
    assert np.mean(given.predict(X) == "rare") > np.mean(classifier().fit(X, y).predict(X) == "rare")


def test_refused_numbers_have_the_names_of_the_frame(wave):
    X, y = wave
    frame = pd.DataFrame(X, columns=["width", "height"])
    frame.loc[7, "height"] = 1e200
    with pytest.raises(ValueError, match="column 'height' in row 7 has size 1e\\+200, too large to be squared"):
        KernelRegressor().fit(frame, y)
    with pytest.raises(ValueError, match="input 1 in row 7 has size"):
        KernelRegressor().fit(frame.to_numpy(), y)
    with pytest.raises(ValueError, match="target 'force' in row 3 has size"):
        KernelRegressor().fit(X, pd.Series(np.where(np.arange(len(y)) == 3, 1e200, y), name="force"))
