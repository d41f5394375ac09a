"""What info tells of the kernel and the sketch of a fitted model, alone and with its training data."""

import numpy as np
import pytest
from conftest import ROOT, write_csv

LAWS = ["p-sr:40", "p-sg:40", "accumulation:40", "nystrom:40", "nystrom:40,leverage", "nystrom:40,rpcholesky", "gaussian-sketch:40",
        "countsketch:40", "srht:40"]


@pytest.fixture
def waves(tmp_path):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 2)) * [1, 20] + [0, 100]
    y = np.sin(2 * x[:, 0]) + 0.05 * rng.normal(size=300)
    write_csv(tmp_path / "train.csv", ["a", "b", "y"], [x[:, 0], x[:, 1], y])
    return (x - x.mean(0)) / x.std(0)


def eigenvalues(z, scale):
    k = np.exp(-0.5 * ((z[:, None] - z[None]) ** 2).sum(-1) / scale**2)
    return np.maximum(np.linalg.eigvalsh(k / len(z))[::-1], 0)


@pytest.mark.parametrize("law", LAWS)
def test_the_models_own_sketch(run, waves, law):
    """The verdict of plan on the sketch that fit will draw is that of info on the one it drew."""
    how = ["train.csv", "--target", "y", "--kernel", "gaussian(1)", "--map", law, "--penalty", "1e-3", "--seed", "3"]
    foretold = run("plan", *how, "--json").json
    run("fit", *how, "-o", "m.mercer")
    told = run("info", "m.mercer", "train.csv", "--json").json["diagnosis"]
    assert told["source"] == "data" and told["n"] == told["sampled"] == 300
    for key in ["mean_error", "largest_error", "isometry", "constant"]:
        assert told["sketch"][key] == pytest.approx(foretold["judged"][key], rel=1e-9), key
    assert told["sketch"]["k_satisfiable"] == foretold["judged"]["k_satisfiable"]
    for key in ["statistical_dimension", "statistical_dimension_at_most", "critical_radius_squared"]:
        assert told[key] == pytest.approx(foretold[key], rel=1e-9), key
    bound = told["sketch"]["risk_bound"]
    assert (bound is None) == (foretold["risk_bound"] is None)
    if bound:
        assert bound == pytest.approx(foretold["risk_bound"], rel=1e-9)
    said = run("info", "m.mercer", "train.csv").out
    assert "of K/n from all 300 rows" in said and "statistical dimension" in said and "mean error" in said
    assert ("pivoted rows" if law.endswith("rpcholesky") else "K-satisfiable") in said
    assert ("in excess at most" in said) == (bound is not None)


@pytest.mark.parametrize("law, source, rows", [("exact", "kept rows", 300), ("countsketch:40", "kept rows", 300), ("nystrom:40", "kept rows", 40),
                                               ("fourier:50", "sample at the fit", 300),
                                               ("nystrom:40,rpcholesky", "sample at the fit", 300)])
def test_the_spectrum_without_data(run, waves, law, source, rows):
    run("fit", "train.csv", "--target", "y", "--kernel", "gaussian(1)", "--map", law, "-o", "m.mercer")
    told = run("info", "m.mercer", "--json").json["diagnosis"]
    assert (told["source"], told["sampled"], told["n"], told["sketch"]) == (source, rows, 300, None)
    assert "statistical dimension" in run("info", "m.mercer").out
    if rows < 300:
        return
    mu = eigenvalues(waves, 1.0)
    got = np.array(told["eigenvalues"])
    missed = told["missed"] * told["trace"]
    assert told["trace"] == pytest.approx(1)  # k(x, x) = 1
    assert (got <= mu[: len(got)] + 1e-12).all() and (mu[: len(got)] <= got + missed + 1e-12).all()
    t = told["critical_radius_squared"]
    assert np.sqrt(np.minimum(t, mu).sum() / 300) == pytest.approx(t, rel=1e-3)
    assert told["statistical_dimension"] <= (mu > t).sum() + 1 <= told["statistical_dimension_at_most"]


def test_rows_that_were_kept_out_of_the_fit(run, waves):
    fit = ["fit", "train.csv", "--target", "y", "--map", "p-sr:40", "--penalty", "1e-3", "--seed", "4", "-o", "m.mercer"]
    info = ["info", "m.mercer", "train.csv"]
    for kept_out in [["--holdout", "0.2"], ["--holdout", "0.3", "--split", "time"]]:
        run(*fit, *kept_out)
        assert run(*info, *kept_out, "--json").json["diagnosis"]["n"] in (210, 240)
        refused = run(*info, ok=False)
        assert refused.code == 2 and refused.err.count("\n") == 1 and "--holdout" in refused.err
    run(*fit, "--conformal", "0.9")  # the model knows of that one
    assert run(*info, "--json").json["diagnosis"]["n"] == 240
    run(*fit, "--conformal", "0.9", "--split", "time")
    assert run(*info, "--split", "time", "--json").json["diagnosis"]["n"] == 240
    assert run(*info, ok=False).code == 2


def test_what_is_refused(run, waves, tmp_path):
    run("fit", "train.csv", "--target", "y", "--map", "p-sr:40", "-o", "m.mercer")
    lines = (tmp_path / "train.csv").read_text().splitlines()
    (tmp_path / "turned.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]))
    for words, message in [(["turned.csv"], "not the rows"),
                           (["train.csv", "--confidence", "1"], "--confidence"), (["--holdout", "0.2"], "name the training data"),
                           (["none.csv"], "none.csv"), (["train.csv", "--holdout", "2"], "--holdout")]:
        refused = run("info", "m.mercer", *words, ok=False)
        assert refused.code in (2, 3) and refused.err.count("\n") == 1 and message in refused.err, words
    write_csv(tmp_path / "field.csv", ["a", "b", "u", "v"], [waves[:, 0], waves[:, 1], waves[:, 1], waves[:, 0]])
    run("fit", "field.csv", "--target", "u,v", "--kernel", "curl_free(gaussian(1))", "--map", "fourier:20", "-o", "f.mercer")
    assert run("info", "f.mercer", "--json").json["diagnosis"] is None
    refused = run("info", "f.mercer", "field.csv", ok=False)
    assert refused.code == 2 and "scalar kernel" in refused.err


def test_files_of_earlier_versions(run):
    for name in ["v1-classes", "v1-helmholtz", "v1-exact"]:  # two of them fields
        assert run("info", ROOT / f"tests/golden/{name}.mercer", "--json").json["diagnosis"] is None


def test_other_losses_and_outputs(run, waves):
    fit = ["fit", "train.csv", "--target", "y", "--kernel", "gaussian(3)", "--map", "p-sr:100", "--penalty", "1e-3", "-o", "m.mercer"]
    run(*fit, "--quantiles", "0.1,0.5,0.9")
    joint = run("info", "m.mercer", "train.csv", "--json").json["diagnosis"]
    run(*fit, "--loss", "huber:1")
    one = run("info", "m.mercer", "train.csv", "--json").json["diagnosis"]
    assert joint["critical_radius_squared"] == one["critical_radius_squared"]
    assert joint["sketch"]["risk_bound"]["complexity"] == pytest.approx(
        np.sqrt(3) * np.sqrt(0.81 + 0.25 + 0.81) * one["sketch"]["risk_bound"]["complexity"])


def test_the_help_names_every_key(run, waves):
    run("fit", "train.csv", "--target", "y", "--kernel", "gaussian(3)", "--map", "p-sr:100", "-o", "m.mercer")
    told = run("info", "m.mercer", "train.csv", "--json").json["diagnosis"]
    words = run("info", "--help").out
    for key in ["diagnosis", *told, *told["sketch"], *told["sketch"]["risk_bound"]]:
        assert key in words, key
