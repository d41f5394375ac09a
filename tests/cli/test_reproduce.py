"""`mercer reproduce --quick`: every experiment runs, and writes what docs/reproduction says it writes."""

import json
import os
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from conftest import MERCER, ROOT, read_csv

DATA = Path(os.environ.get("MERCER_DATA", ROOT.parent / "shared/data"))

# name: columns of the CSV, files of pictures, does it read real data
EXPERIMENTS = {
    "orff-fig1": (
        "kernel sampling frequencies largest_error largest_deviation rms_error rms_deviation repeats pairs slope",
        ["orff-fig1.svg", "orff-fig1-sampling.svg"],
        False,
    ),
    "orff-fig2": ("method n fit_seconds predict_seconds error_percent", ["orff-fig2.svg"], True),
    "orff-fig3": (
        "method n frequencies error_percent deviation repeats penalty fit_seconds",
        ["orff-fig3.svg"],
        True,
    ),
    "orff-fig4": (
        "method frequencies coefficients mse deviation repeats n",
        ["orff-fig4.svg", "orff-fig4-field.svg"],
        False,
    ),
    "orff-fig5": ("method n fit_seconds", ["orff-fig5.svg"], False),
    "orff-fig6": (
        "kernel frequencies measured measured_orthogonal exact bound repeats",
        ["orff-fig6.svg"],
        False,
    ),
    "orff-table3": ("n method noise rmse deviation runs frequencies", ["orff-table3.svg"], False),
    "fields": (
        "survey n kernel rmse deviation rmse_first_two_outputs folds folds_better_than_independent",
        ["fields.svg"],
        True,
    ),
    **{
        f"psketch-fig{k}": (
            "loss method s relative_mse deviation relative_mse_all_rows fit_seconds repeats n",
            [f"psketch-fig{k}.svg", *(["psketch-fig1-outliers.svg"] if k == 1 else [])],
            False,
        )
        for k in (1, 2, 3, 4)
    },
    "psketch-table1": (
        "method pinball pinball_deviation paper_pinball crossing crossing_deviation paper_crossing fit_seconds "
        "length_scale penalty splits",
        ["psketch-table1.svg"],
        True,
    ),
    "psketch-table2": (
        "dataset method arrmse deviation paper_arrmse fit_seconds repeats penalty",
        ["psketch-table2.svg"],
        True,
    ),
    "psketch-table6": (
        "dataset target method rrmse deviation repeats paper_p_sr",
        ["psketch-table6.svg"],
        True,
    ),
    "conformal": (
        "dataset model n calibration_rows test_rows coverage deviation expected expected_deviation width splits",
        ["conformal.svg"],
        True,
    ),
    "sm-fig1": (
        "set points rule iteration error deviation ratio_to_naive ratio_deviation seeds draws n",
        ["sm-fig1.svg"],
        False,
    ),
    "sm-fig2": (
        "start method rate iteration seconds cpu_seconds nlml rmse mnll",
        ["sm-fig2.svg", "sm-fig2-iterations.svg", "sm-fig2-blurred.svg", "sm-fig2-blurred-iterations.svg"],
        False,
    ),
    "sm-series": (
        "series method seed train test rmse mnll covered period fit_seconds",
        ["sm-series.svg"],
        True,
    ),
}


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """reproduced(name): the folder and the JSON of one experiment, run once."""
    folder = tmp_path_factory.mktemp("reproduction")
    done = {}

    def call(name):
        if EXPERIMENTS[name][2] and not DATA.is_dir():
            pytest.skip(f"no folder of real data at {DATA}: set MERCER_DATA")
        if name not in done:
            command = [MERCER, "reproduce", name, "--quick", "-o", str(folder), "--data", str(DATA), "--json"]
            result = subprocess.run(command, cwd=folder, capture_output=True, timeout=60)
            assert result.returncode == 0, result.stderr.decode()
            done[name] = json.loads(result.stdout)["experiments"][0]
        return folder, done[name]

    return call


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_writes_table_and_pictures(reproduced, name):
    columns, pictures, _ = EXPERIMENTS[name]
    folder, summary = reproduced(name)
    assert summary["name"] == name and summary["quick"]
    header, rows = read_csv(folder / f"{name}.csv")
    assert header == columns.split()
    assert len(rows) > 1
    assert sorted(summary["files"]) == sorted(str(folder / f) for f in [f"{name}.csv", f"{name}.md", *pictures])
    lines = (folder / f"{name}.md").read_text().splitlines()
    assert len(lines) > 2 and set(lines[1]) == set("| -") and len({line.count("|") for line in lines}) == 1
    for picture in pictures:
        root = ElementTree.parse(folder / picture).getroot()
        assert root.tag.endswith("svg")
        assert len(list(root.iter())) > 30  # axes, ticks and at least one series


def column(folder, name, key):
    header, rows = read_csv(folder / f"{name}.csv")
    return rows[:, header.index(key)]


def test_kernel_error_falls_with_frequencies(reproduced):
    folder, summary = reproduced("orff-fig1")
    slopes = [value for key, value in summary["headline"].items() if key.startswith("slope")]
    assert len(slopes) == 3
    assert all(-0.8 < slope < -0.2 for slope in slopes)  # -½ in the full experiment; three maps here
    assert all(float(s) < 0 for s in column(folder, "orff-fig1", "slope"))


def test_variance_is_the_exact_one_and_below_its_bound(reproduced):
    folder, _ = reproduced("orff-fig6")
    measured, exact, bound = (column(folder, "orff-fig6", key).astype(float) for key in ("measured", "exact", "bound"))
    assert ((measured / exact > 0.4) & (measured / exact < 2.5)).all()  # 50 maps: a standard deviation is about 0.2
    assert (exact <= bound * (1 + 1e-9)).all()


def test_more_rows_help_and_exact_is_best_without_noise(reproduced):
    folder, _ = reproduced("orff-table3")
    header, rows = read_csv(folder / "orff-table3.csv")
    error = {(r[0], r[1], r[2]): float(r[3]) for r in rows}
    for method in ("orff", "exact"):
        assert error["300", method, "no"] < error["100", method, "no"]
    assert error["300", "exact", "no"] < error["300", "orff", "no"]


def test_robust_losses_beat_square_when_outputs_have_outliers(reproduced):
    _, summary = reproduced("psketch-fig1")
    error = {loss: summary["headline"][f"{loss} with 10% outliers"] for loss in ("square", "huber", "epsilon")}
    assert error["huber"] < 0.7 * error["square"]  # a third of it here
    assert error["epsilon"] < 0.7 * error["square"]


def test_ordered_quantiles_cross_less_at_the_same_loss(reproduced):
    _, summary = reproduced("psketch-table1")
    headline = summary["headline"]
    assert headline["crossing exact non-crossing"] <= headline["crossing exact"]
    assert headline["pinball exact non-crossing"] == pytest.approx(headline["pinball exact"], rel=0.02)
    assert all(value < 100 for key, value in headline.items() if key.startswith("pinball"))  # a constant: about 140


def test_mean_of_table6_is_table2(reproduced):
    folder, _ = reproduced("psketch-table2")
    reproduced("psketch-table6")
    _, means = read_csv(folder / "psketch-table2.csv")
    _, targets = read_csv(folder / "psketch-table6.csv")
    for row in means:
        errors = [float(t[3]) for t in targets if t[0] == row[0] and t[2] == row[1]]
        assert len(errors) == (8 if row[0].startswith("rf") else 16)
        assert float(row[2]) == pytest.approx(sum(errors) / len(errors), rel=1e-5)


def test_weights_decide_where_points_are_needed(reproduced):
    _, summary = reproduced("sm-fig1")
    ratio = {key: value for key, value in summary["headline"].items() if key.startswith(("half", "rarely"))}
    assert len(ratio) == 4 and all(value < 1.1 for value in ratio.values())  # 0.5 to 0.7 in the full experiment


def test_training_lowers_the_likelihood(reproduced):
    folder, _ = reproduced("sm-fig2")
    _, rows = read_csv(folder / "sm-fig2.csv")
    for method in ("exact-lbfgs", "vfe-lbfgs"):
        nlml = [float(r[6]) for r in rows if r[0] == "blurred" and r[1] == method]
        assert len(nlml) > 1 and nlml == sorted(nlml, reverse=True)


def test_same_seed_same_numbers(run, tmp_path):
    for folder in ("a", "b"):
        run("reproduce", "orff-fig6", "--quick", "-o", folder, "--seed", 3, "--threads", 1 if folder == "a" else 2)
    assert (tmp_path / "a/orff-fig6.csv").read_text() == (tmp_path / "b/orff-fig6.csv").read_text()


def test_unknown_experiment_and_missing_data(run, tmp_path):
    result = run("reproduce", "orff-fig9", ok=False)
    assert result.code == 2 and "there is no experiment 'orff-fig9'" in result.err and "orff-fig1" in result.err
    result = run("reproduce", "fields", "--data", tmp_path / "nowhere", "-o", tmp_path / "out", ok=False)
    assert result.code == 2 and "give --data FOLDER" in result.err
