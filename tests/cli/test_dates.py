"""Series: columns of dates, forecasts without a file, validation at rolling origins."""

import datetime
import math

import numpy as np
import pytest
from conftest import numbers, read_csv

EPOCH = datetime.date(1970, 1, 1)
HOW = ["--target", "co2", "--kernel", "gaussian(0.5)", "--map", "fourier:60", "--penalty", "1e-4"]


def series(n=120, step=7, first=datetime.date(1958, 3, 29)):
    """Weekly values with a trend and a yearly wave, some weeks left out."""
    days = [first + datetime.timedelta(days=step * i) for i in range(n) if i % 17 != 5]
    t = np.array([(d - EPOCH).days for d in days])
    noise = np.random.default_rng(3).normal(size=len(t))
    return days, t, 315 + 0.002 * t + 3 * np.sin(2 * math.pi * t / 365.25) + 0.1 * noise


def write_rows(path, times, values, header="date,co2"):
    path.write_text(header + "\n" + "".join(f"{t},{float(v)!r}\n" for t, v in zip(times, values)))


def compact(days):
    return [d.strftime("%Y%m%d") for d in days]


# --- formats ----------------------------------------------------------------------------------------------------------


def test_every_format_gives_the_same_model(run, tmp_path):
    days, t, y = series()
    write_rows(tmp_path / "compact.csv", compact(days), y)
    write_rows(tmp_path / "iso.csv", [d.isoformat() for d in days], y)
    write_rows(tmp_path / "times.csv", [d.isoformat() + "T00:00:00" for d in days], y)
    write_rows(tmp_path / "number.csv", t, y, "day,co2")
    formats = {"compact": "yyyymmdd", "iso": "iso_date", "times": "iso_datetime"}
    expected = None
    for name in ["number", *formats]:
        fitted = run("fit", f"{name}.csv", *HOW, "-o", f"{name}.mercer", "--json")
        assert fitted.json["dates"] == ({"date": formats[name]} if name in formats else {})
        assert ("column 'date' read as " in fitted.err) == (name in formats)
        values = numbers(run("predict", f"{name}.mercer", f"{name}.csv").out)
        expected = values if expected is None else expected
        assert np.array_equal(values, expected)
        assert run("score", f"{name}.mercer", f"{name}.csv", "--json").json["n"] == len(days)
    assert "column 'date' read as dates (YYYYMMDD)\n" in run("fit", "compact.csv", *HOW).out


def test_new_rows_are_written_as_the_training_rows(run, tmp_path):
    days, _, y = series()
    write_rows(tmp_path / "compact.csv", compact(days), y)
    write_rows(tmp_path / "iso.csv", [d.isoformat() for d in days], y)
    run("fit", "compact.csv", *HOW, "-o", "compact.mercer")
    run("fit", "iso.csv", *HOW, "-o", "iso.mercer")
    wrong = run("predict", "iso.mercer", "compact.csv", ok=False)
    assert wrong.code == 2
    assert wrong.err == "mercer: compact.csv: line 2, column 'date': '19580329' is a number, and the column holds dates (2024-02-29)\n"
    wrong = run("score", "compact.mercer", "iso.csv", ok=False)
    assert (wrong.code, wrong.err.count("\n")) == (2, 1) and "iso.csv: line 2, column 'date': '1958-03-29'" in wrong.err


def test_dates_option(run, tmp_path):
    days, _, y = series()
    write_rows(tmp_path / "t.csv", compact(days), y)
    assert run("fit", "t.csv", *HOW, "--dates", "none", "--json").json["dates"] == {}
    assert run("fit", "t.csv", *HOW, "--dates", "date", "--json").json["dates"] == {"date": "yyyymmdd"}
    assert run("fit", "t.csv", *HOW, "--dates", "co2", ok=False).err == "mercer: dates: column 'co2' is not an input\n"
    assert "--dates when" not in run("fit", "t.csv", *HOW, "--dates", "when", ok=False).out
    run("fit", "t.csv", *HOW, "-o", "m.mercer")
    assert "--dates cannot be given with --like" in run("fit", "t.csv", "--like", "m.mercer", "--dates", "none", ok=False).err
    # and tune hands it on
    assert "--dates none" in run("tune", "t.csv", *HOW, "--dates", "none", "--length-factors", "1", "--json").json["command"]


@pytest.mark.parametrize(
    "cell, where",
    [
        ("2023-02-29", "'2023-02-29' is not a date: February 2023 has 28 days"),
        ("2023-13-01", "'2023-13-01' is not a date: a year has no month 13"),
        ("20230101", "'20230101' is a number, and the column holds dates (2024-02-29)"),
        ("tomorrow", "'tomorrow' is not a date, and the column holds dates (2024-02-29)"),
        ("2023-05", "'2023-05' is written otherwise than the rest of the column, which holds dates (2024-02-29)"),
    ],
)
def test_bad_dates(run, tmp_path, cell, where):
    days, _, y = series(20)
    texts = [d.isoformat() for d in days]
    texts[7] = cell
    write_rows(tmp_path / "bad.csv", texts, y)
    for args in (["--missing", "drop"], ["--one-hot"]):
        result = run("fit", "bad.csv", *HOW, *args, ok=False)
        assert (result.code, result.err) == (2, f"mercer: bad.csv: line 9, column 'date': {where}\n")


def test_a_bad_compact_date(run, tmp_path):
    days, _, y = series(20)
    texts = compact(days)
    texts[4] = "19580431"
    write_rows(tmp_path / "bad.csv", texts, y)
    result = run("fit", "bad.csv", *HOW, ok=False)
    assert result.code == 2
    assert result.err == (
        "mercer: bad.csv: line 6, column 'date': '19580431' is not a date written YYYYMMDD, from 1700 to 2300; "
        "--dates none reads the column as numbers\n"
    )


def test_dates_from_standard_input(run, tmp_path):
    days, _, y = series()
    write_rows(tmp_path / "t.csv", compact(days), y, "when,co2")  # only the whole column shows that it holds dates
    fitted = run("fit", "-", *HOW, "--json", stdin=(tmp_path / "t.csv").read_bytes())
    assert fitted.json["dates"] == {"when": "yyyymmdd"}


# --- the horizon ------------------------------------------------------------------------------------------------------


def test_horizon_is_predicting_a_file_of_the_next_times(run, tmp_path):
    days, _, y = series()
    write_rows(tmp_path / "t.csv", compact(days), y)
    run("fit", "t.csv", *HOW, "-o", "m.mercer")
    run("predict", "m.mercer", "--horizon", "10", "--std", "-o", "forecast.csv")
    header, cells = read_csv(tmp_path / "forecast.csv")
    assert header == ["date", "co2", "co2_std"]
    assert list(cells[:, 0]) == compact(days[-1] + datetime.timedelta(days=7 * k) for k in range(1, 11))
    again = numbers(run("predict", "m.mercer", "forecast.csv", "--std").out)
    assert np.array_equal(again, cells[:, 1:].astype(float))
    told = run("predict", "m.mercer", "--horizon", "3", "-o", "3.csv", "--json").json
    assert (told["n"], told["columns"]) == (3, ["date", "co2"])


def test_info_tells_the_times(run, tmp_path):
    days, _, y = series()
    write_rows(tmp_path / "t.csv", compact(days), y)
    run("fit", "t.csv", *HOW, "-o", "m.mercer")
    assert f"times      19580329 to {compact(days)[-1]}, usually 7 days apart\n" in run("info", "m.mercer").out
    told = run("info", "m.mercer", "--json").json["timeline"]
    assert (told["format"], told["unit"], told["step"], told["first"]) == ("yyyymmdd", "days", 7, "19580329")


def test_missing_targets_at_the_end_are_not_the_last_row(run, tmp_path):
    days, _, y = series()
    write_rows(tmp_path / "t.csv", compact(days), y)
    lines = (tmp_path / "t.csv").read_text().splitlines()
    lines[-1] = lines[-1].split(",")[0] + ","
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    run("fit", "t.csv", *HOW, "--missing", "drop", "-o", "m.mercer")
    assert read_csv(run("predict", "m.mercer", "--horizon", "1").out)[1][0, 0] == compact([days[-2] + datetime.timedelta(days=7)])[0]


def test_monthly_steps_keep_the_day(run, tmp_path):
    months = [(2020 + i // 12, 1 + i % 12) for i in range(36)]
    ends = [(datetime.date(y + m // 12, m % 12 + 1, 1) - datetime.timedelta(days=1)).isoformat() for y, m in months]
    write_rows(tmp_path / "ends.csv", ends, np.sin(np.arange(36)))
    run("fit", "ends.csv", *HOW, "-o", "m.mercer")
    times = read_csv(run("predict", "m.mercer", "--horizon", "14").out)[1][:, 0]
    assert list(times[[0, 1, 2, 13]]) == ["2023-01-31", "2023-02-28", "2023-03-31", "2024-02-29"]
    write_rows(tmp_path / "months.csv", [f"{y}-{m:02}" for y, m in months], np.sin(np.arange(36)))
    run("fit", "months.csv", *HOW, "-o", "m.mercer")
    assert list(read_csv(run("predict", "m.mercer", "--horizon", "2").out)[1][:, 0]) == ["2023-01", "2023-02"]


def test_decimal_years_and_plain_numbers(run, tmp_path):
    years = [f"{1949 + i / 12:.6f}" for i in range(144)]
    write_rows(tmp_path / "years.csv", years, np.sin(np.arange(144)), "year,co2")
    assert run("fit", "years.csv", *HOW, "-o", "m.mercer", "--json").json["dates"] == {"year": "decimal_year"}
    header, cells = read_csv(run("predict", "m.mercer", "--horizon", "24").out)
    assert header == ["year", "co2"]
    assert list(cells[:3, 0]) == ["1961", "1961.083333", "1961.166667"] and cells[23, 0] == "1962.916667"
    write_rows(tmp_path / "x.csv", range(50), np.sin(np.arange(50)), "x,co2")
    run("fit", "x.csv", *HOW, "-o", "m.mercer")
    assert list(read_csv(run("predict", "m.mercer", "--horizon", "2").out)[1][:, 0]) == ["50", "51"]


def test_decreasing_and_repeated_times(run, tmp_path):
    days, _, y = series()
    write_rows(tmp_path / "t.csv", compact(days)[::-1] + compact(days)[:5], [*y[::-1], *y[:5]])
    run("fit", "t.csv", *HOW, "-o", "m.mercer")
    out = run("predict", "m.mercer", "--horizon", "2", "--std").out
    assert list(read_csv(out)[1][:, 0]) == compact(days[-1] + datetime.timedelta(days=7 * k) for k in (1, 2))
    assert np.isfinite(numbers(out)).all()
    refused = run("score", "m.mercer", "t.csv", "--rolling", "3", ok=False)
    assert refused.code == 2 and "rows in order of time" in refused.err


def test_horizon_refusals(run, smooth, tmp_path):
    days, _, y = series()
    write_rows(tmp_path / "t.csv", compact(days), y)
    run("fit", "t.csv", *HOW, "-o", "m.mercer")
    run("fit", "train.csv", "--target", "y", "--map", "fourier:20", "-o", "three.mercer")
    write_rows(tmp_path / "same.csv", ["1999-01-01"] * 9, range(9))
    run("fit", "same.csv", *HOW, "-o", "same.mercer")
    run("accumulate", "t.csv", "--target", "co2", "--map", "fourier:20", "-o", "t.stats")
    run("solve", "t.stats", "-o", "shards.mercer")
    for args, words in [
        (["m.mercer", "t.csv", "--horizon", "3"], "leave out t.csv"),
        (["m.mercer", "--horizon", "0"], "--horizon must be a whole number of at least 1"),
        (["m.mercer", "--horizon", "1e9"], "more than ten million steps"),
        (["m.mercer", "--horizon", "1000000"], "beyond the years 1 to 9999"),
        (["m.mercer"], "--horizon N needs no data"),
        (["three.mercer", "--horizon", "3"], "has 3 inputs"),
        (["same.mercer", "--horizon", "3"], "not at different times"),
        (["shards.mercer", "--horizon", "3"], "made from shards"),
    ]:
        refused = run("predict", *args, ok=False)
        assert (refused.code, refused.err.count("\n")) == (2, 1), args
        assert words in refused.err


# --- rolling origins --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("map_text", ["fourier:40", "exact", "nystrom:30"])
def test_rolling_is_a_loop_of_fit_and_score(run, tmp_path, map_text):
    days, _, y = series()
    texts = [d.isoformat() for d in days]
    write_rows(tmp_path / "all.csv", texts, y)
    run("fit", "all.csv", "--target", "co2", "--map", map_text, "-o", "all.mercer")
    penalty = run("info", "all.mercer", "--json").json["penalty"]
    steps, origins = 6, 4
    rolled = run("score", "all.mercer", "all.csv", "--rolling", f"{steps},{origins}", "--json").json
    expected = [len(y) - steps * (origins - k) for k in range(origins)]
    assert (rolled["origins"], rolled["n"], rolled["steps"]) == (expected, steps * origins, steps)
    errors, inside = [], []
    for origin in expected:
        write_rows(tmp_path / "head.csv", texts[:origin], y[:origin])
        write_rows(tmp_path / "ahead.csv", texts[origin : origin + steps], y[origin : origin + steps])
        run("fit", "head.csv", "--like", "all.mercer", "--penalty", repr(penalty), "-o", "head.mercer")
        mean, std = numbers(run("predict", "head.mercer", "ahead.csv", "--std").out).T
        errors.append(mean - y[origin : origin + steps])
        inside.append(np.abs(errors[-1]) <= 1.6448536269514722 * std)
    errors, inside = np.array(errors), np.array(inside)
    assert np.allclose(rolled["rmse"], np.sqrt((errors**2).mean()), rtol=1e-9)
    assert np.allclose(rolled["mae"], np.abs(errors).mean(), rtol=1e-9)
    assert np.allclose(rolled["rmse_by_step"], [np.sqrt((errors**2).mean(0))], rtol=1e-9)
    assert np.allclose(rolled["mae_by_step"], [np.abs(errors).mean(0)], rtol=1e-9)
    assert np.allclose(rolled["coverage"], inside.mean()) and np.allclose(rolled["coverage_by_step"], [inside.mean(0)])
    assert rolled["band_level"] == 0.9
    text = run("score", "all.mercer", "all.csv", "--rolling", f"{steps},{origins}").out
    assert "steps ahead" in text and "4 origins, fitted to" in text


def test_rolling_with_other_losses_and_several_targets(run, tmp_path):
    days, _, y = series()
    write_rows(tmp_path / "t.csv", compact(days), y)
    run("fit", "t.csv", "--target", "co2", "--map", "nystrom:20", "--loss", "huber:1", "-o", "huber.mercer")
    rolled = run("score", "huber.mercer", "t.csv", "--rolling", "4", "--json").json
    assert len(rolled["origins"]) == 5 and "coverage" not in rolled and np.isfinite(rolled["rmse"]).all()
    (tmp_path / "two.csv").write_text("t,a,b\n" + "".join(f"{i},{math.sin(i / 9)},{math.cos(i / 9)}\n" for i in range(60)))
    run("fit", "two.csv", "--target", "a,b", "--map", "fourier:30", "-o", "two.mercer")
    rolled = run("score", "two.mercer", "two.csv", "--rolling", "5,2", "--json").json
    assert rolled["targets"] == ["a", "b"] and np.shape(rolled["rmse_by_step"]) == (2, 5)


def test_rolling_refusals(run, tmp_path):
    days, _, y = series(30)
    write_rows(tmp_path / "t.csv", compact(days), y)
    run("fit", "t.csv", *HOW, "-o", "m.mercer")
    run("fit", "t.csv", "--target", "co2", "--map", "nystrom:10", "--quantiles", "0.1,0.9", "--penalty", "1e-3", "-o", "q.mercer")
    for model, text, words in [
        ("m", "0", "--rolling is the steps ahead"),
        ("m", "1.5", "--rolling is the steps ahead"),
        ("m", "3,2,1", "--rolling is the steps ahead"),
        ("m", "x", "'x' is not a number"),
        ("m", "20", "needs at least 40 rows"),
        ("q", "2", "gives quantiles"),
    ]:
        refused = run("score", f"{model}.mercer", "t.csv", "--rolling", text, ok=False)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert words in refused.err
    assert len(run("score", "m.mercer", "t.csv", "--rolling", "10,40", "--json").json["origins"]) <= 5
