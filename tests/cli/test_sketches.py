"""--map with a sketch: end to end against numpy, and what is refused."""

import numpy as np
import pytest
from conftest import read_csv, write_csv

LAWS = [
    "p-sr:40",
    "p-sr:40,p=0.05",
    "p-sg:40,p=10/n",
    "nystrom:40",
    "nystrom:40,leverage",
    "nystrom:40,rpcholesky",
    "accumulation:40,m=5",
    "gaussian-sketch:40",
    "countsketch:40",
    "srht:40",
]


@pytest.fixture
def waves(tmp_path):
    """300 training and 60 test rows of a smooth function of two inputs."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(360, 2))
    y = np.sin(2 * x[:, 0]) + np.cos(x[:, 1]) + 0.05 * rng.normal(size=360)
    for name, part in [("train.csv", slice(0, 300)), ("test.csv", slice(300, 360))]:
        write_csv(tmp_path / name, ["a", "b", "y"], [x[part, 0], x[part, 1], y[part]])
    return x, y


@pytest.mark.parametrize("law", LAWS)
def test_fit_predict_score_info(run, waves, tmp_path, law):
    fit = run("fit", "train.csv", "--target", "y", "--map", law, "-o", "m.mercer", "--json").json
    assert 0 < fit["features"] <= 40 and fit["anchors"] > 0 and fit["map"].startswith(law)
    assert run("score", "m.mercer", "test.csv", "--json").json["r2"] > 0.9
    run("predict", "m.mercer", "test.csv", "--std", "-o", "p.csv")
    header, rows = read_csv(tmp_path / "p.csv")
    assert header == ["y", "y_std"] and (rows.astype(float)[:, 1] > 0).all()
    said = run("info", "m.mercer").out
    assert "anchor rows" in said and fit["map"] in said
    # What info prints, --map reads.
    again = run("fit", "train.csv", "--target", "y", "--map", fit["map"], "-o", "n.mercer", "--json").json
    assert again["penalty"] == fit["penalty"]


def test_full_nystrom_is_exact_ridge(run, waves, tmp_path):
    fit = ["fit", "train.csv", "--target", "y", "--kernel", "laplacian(1)", "--penalty", "1e-3", "-o", "m.mercer"]
    values = {}
    for map_text in ["exact", "nystrom:300"]:
        run(*fit, "--map", map_text)
        run("predict", "m.mercer", "test.csv", "-o", "p.csv")
        values[map_text] = read_csv(tmp_path / "p.csv")[1].astype(float)
    assert np.abs(values["exact"] - values["nystrom:300"]).max() < 1e-8


def test_more_rows_than_there_are_is_a_note(run, waves):
    said = run("fit", "train.csv", "--target", "y", "--map", "nystrom:1000", "--penalty", "1e-3").out
    assert "note: the sketch was cut from 1000 to 300: there are only 300 rows" in said


def test_gram_is_the_projection_onto_the_anchors(run, waves, tmp_path):
    x, _ = waves
    write_csv(tmp_path / "x.csv", ["a", "b"], x[:80].T)
    gram = ["gram", "x.csv", "--kernel", "laplacian(1)"]
    run(*gram, "-o", "k.npy")
    run(*gram, "--map", "nystrom:80", "-o", "full.npy")
    run(*gram, "--map", "p-sr:20", "-o", "part.npy")
    k, full, part = (np.load(tmp_path / f"{name}.npy") for name in ["k", "full", "part"])
    assert np.abs(k - full).max() < 1e-10
    # K - K~ is positive semi-definite: a sketch only loses.
    assert np.linalg.matrix_rank(part) == 20 and np.linalg.eigvalsh(k - part).min() > -1e-10


def test_rows_of_weight_zero_are_never_anchors(run, waves, tmp_path):
    x, y = waves
    w = np.where(np.arange(300) % 2 == 0, 0.0, 3.0)
    outlier = np.where(w == 0, 1e3, x[:300, 0])
    write_csv(tmp_path / "w.csv", ["a", "b", "w", "y"], [outlier, x[:300, 1], w, y[:300]])
    fit = ["fit", "w.csv", "--target", "y", "--weights", "w", "--map", "countsketch:30", "--no-standardize", "--kernel", "gaussian(1)"]
    assert run(*fit, "--json").json["anchors"] == 150


def test_same_model_for_any_number_of_threads(run, waves, tmp_path):
    written = []
    for threads in [1, 2, 3]:
        run("fit", "train.csv", "--target", "y", "--map", "p-sr:40", "--threads", threads, "-o", "m.mercer")
        run("predict", "m.mercer", "test.csv", "-o", "p.csv", "--std")
        written.append((tmp_path / "p.csv").read_bytes())
    assert written[0] == written[1] == written[2]


REFUSED = {
    "p-sr:0": "whole number from 1",
    "p-sr:ten": "whole number from 1",
    "p-sr:10,p=2": "at most 1",
    "p-sr:10,p=abc": "positive number",
    "p-sr:10,p=0": "positive number",
    "p-sr:10,q=0.1": "unknown part",
    "nystrom:10,leverag": "did you mean 'leverage'",
    "nystrm:10": "did you mean 'nystrom'",
    "accumulation:10,m=0": "whole number from 1",
    "p-sr:10,p=1e-300": "raise p",
}


@pytest.mark.parametrize("law", REFUSED)
def test_bad_sketches_are_refused(run, waves, tmp_path, law):
    refused = run("fit", "train.csv", "--target", "y", "--map", law, "-o", "m.mercer", ok=False)
    assert refused.code == 2 and refused.out == "" and refused.err.count("\n") == 1
    assert REFUSED[law] in refused.err
    assert not (tmp_path / "m.mercer").exists()


def test_fields_and_shards_point_elsewhere(run, waves, tmp_path):
    x, y = waves
    write_csv(tmp_path / "field.csv", ["a", "b", "u", "v"], [x[:50, 0], x[:50, 1], y[:50], y[:50]])
    curl = ["fit", "field.csv", "--target", "u,v", "--kernel", "curl_free(gaussian(1))", "--map", "p-sr:10"]
    for command in [
        curl,
        ["accumulate", "train.csv", "--target", "y", "--map", "p-sr:10", "-o", "s.stats"],
        ["plan", *curl[1:]],
    ]:
        refused = run(*command, ok=False)
        assert refused.code == 2 and refused.err.count("\n") == 1
        assert "fourier" in refused.err.lower()


def test_memory_budget_is_kept(run, waves):
    refused = run("fit", "train.csv", "--target", "y", "--map", "gaussian-sketch:20000", "--memory", "1GB", ok=False)
    assert refused.code == 2 and "raise --memory" in refused.err


def test_plan_advises_and_judges(run, waves):
    x, _ = waves
    scaled = (x[:300] - x[:300].mean(0)) / x[:300].std(0)
    plan = ["plan", "train.csv", "--target", "y", "--kernel", "gaussian(1)", "--error", "0.02"]
    advice = run(*plan, "--map", "p-sr", "--json").json
    # The definitions, on the dense matrix.
    k = np.exp(-0.5 * ((scaled[:, None] - scaled[None]) ** 2).sum(-1))
    mu = np.maximum(np.linalg.eigvalsh(k / 300)[::-1], 0)
    t = advice["critical_radius_squared"]
    assert np.sqrt(np.minimum(t, mu).sum() / 300) == pytest.approx(t, rel=1e-3)
    assert advice["statistical_dimension"] <= (mu > t).sum() + 1 <= advice["statistical_dimension_at_most"]
    assert advice["n"] == advice["sampled"] == 300 and advice["judged"] is None
    assert advice["advised"]["mean_error"] <= 0.02 and advice["satisfiable"]["k_satisfiable"]
    assert advice["theorem"]["size"] > 5120 and advice["risk_bound"]["total"] > 0
    sizes = [row["size"] for row in advice["table"]]
    assert sizes == [25, 50, 100, 200]
    # Advice is a --map, and its error is the one promised.
    verdict = run(*plan, "--map", advice["advised_map"], "--json").json
    assert verdict["judged"]["mean_error"] == advice["advised"]["mean_error"] and verdict["advised"] is None
    said = run(*plan, "--map", advice["advised_map"]).out
    assert "statistical dimension" in said and "within 0.02" in said
    # The help names every key.
    told = run("plan", "--help").out
    for key in [*advice, *advice["table"][0], *advice["theorem"], *advice["risk_bound"]]:
        assert key in told


def test_plan_of_each_law(run, waves):
    for law in LAWS:
        verdict = run("plan", "train.csv", "--target", "y", "--map", law, "--json").json
        assert verdict["judged"]["size"] == 40 and 0 <= verdict["judged"]["mean_error"] < 0.2, law
    refused = run("plan", "train.csv", "--target", "y", "--map", "p-sr:4000", ok=False)
    assert refused.code == 2 and refused.err.count("\n") == 1 and "leave-one-out" in refused.err
