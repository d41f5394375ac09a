"""Model files: open to other tools, and whole whatever happens to the process that writes them."""

import json
import os
import signal
import time

import numpy as np
import pytest
from conftest import start, write_csv
from oracles import SUMMARY
from safetensors import safe_open
from safetensors.numpy import load_file


@pytest.fixture
def model(run, smooth):
    run("fit", "train.csv", "--target", "y", "--map", "fourier:20", "--seed", "9007199254740991", "-o", "m.mercer")


def metadata_of(path):
    with safe_open(path, framework="numpy") as file:
        return file.metadata()


def test_safetensors_opens_it(model, tmp_path):
    tensors = load_file(tmp_path / "m.mercer")
    assert tensors["weights"].shape == (40, 1) and tensors["intercept"].shape == (1,)
    train = np.loadtxt(tmp_path / "train.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(tensors["scaling.input_shift"], train[:, :3].mean(0), rtol=1e-12)
    np.testing.assert_allclose(tensors["scaling.input_scale"], train[:, :3].std(0), rtol=1e-12)
    np.testing.assert_allclose(tensors["scaling.target_shift"], train[:, 3:].mean(0), rtol=1e-12)
    assert all(np.isfinite(t).all() for t in tensors.values() if t.dtype.kind == "f")


def test_metadata_are_strings(model, tmp_path):
    metadata = metadata_of(tmp_path / "m.mercer")
    assert {"mercer.kind", "mercer.format", "mercer.model", "mercer.summary", "mercer.checksum"} <= set(metadata)
    assert all(isinstance(v, str) for v in metadata.values())
    assert metadata["mercer.kind"] == "model" and metadata["mercer.format"].isdigit()
    assert len(metadata["mercer.checksum"]) == 32
    recipe, summary = json.loads(metadata["mercer.model"]), json.loads(metadata["mercer.summary"])
    assert recipe["kernel"].startswith("gaussian(") and recipe["map"].startswith("fourier:20")
    assert recipe["seed"] == "9007199254740991" and recipe["targets"] == ["y"]
    assert [column["name"] for column in recipe["inputs"]] == ["a", "b", "c"]
    assert summary["n"] == 120 and summary["status"] == "ok"


def test_statistics_are_safetensors_too(run, smooth, tmp_path):
    run("accumulate", "train.csv", "--target", "y", "--map", "fourier:5", "-o", "s.stats")
    assert metadata_of(tmp_path / "s.stats")["mercer.kind"] == "statistics"
    assert load_file(tmp_path / "s.stats")["moments"].shape == (12 * 13 // 2,)


def test_info_in_words(run, model, species):
    words = run("info", "m.mercer").out
    for part in ["3 inputs: a, b, c", "1 output: y", "kernel", "gaussian(", "fourier:20", "40 features", "seed 9007199254740991",
                 "120 rows", "penalty", "leave-one-out", "noise", "spread"]:
        assert part in words
    run("fit", "species.csv", "--target", "kind", "--map", "exact", "-o", "k.mercer")
    words = run("info", "k.mercer").out
    assert "3 classes: birch, elm, oak" in words and "150 anchor rows" in words


def test_info_as_json(run, model):
    j = run("info", "m.mercer", "--json").json
    assert set(j) == SUMMARY | {"seed", "input_names", "targets", "classes", "uncertainty", "diagnosis"}
    assert (j["seed"], j["input_names"], j["targets"], j["classes"]) == (9007199254740991, ["a", "b", "c"], ["y"], [])


def test_info_of_the_system(run):
    j = run("info", "--system", "--json").json
    assert set(j) == {"version", "cpu", "threads", "memory_bytes", "blas", "simd", "warning"}
    assert set(j["blas"]) == {"library", "kernels", "note", "config"} and j["threads"] >= 1 and j["memory_bytes"] > 1e8
    assert "BLAS" in run("info", "--system").out


def test_info_says_who_asked_for_slower_kernels(run, monkeypatch):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    ours = run("info", "--system", "--json").json["blas"]
    assert ours["note"] == ""
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    theirs = run("info", "--system", "--json").json["blas"]
    halved = ours["kernels"] == "SkylakeX" and theirs["kernels"] == "Haswell"
    assert ("OPENBLAS_CORETYPE=Haswell" in theirs["note"]) == halved
    assert (theirs["note"] in run("info", "--system").out) and run("info", "--system").out.count("Mercer takes SkylakeX") == halved


@pytest.mark.parametrize("how", [["--map", "exact"], ["--map", "fourier:20,qmc", "--precision", "float32"],
                                 ["--map", "fourier:20", "--uncertainty", "samples"], ["--map", "exact", "--kernel", "gaussian([1, 2, 3])"],
                                 ["--map", "fourier:20", "--kernel", "0.5*matern(1, nu=2.5) + linear()"]])
def test_every_kind_of_model_is_read_back(run, smooth, how):
    run("fit", "train.csv", "--target", "y", *how, "-o", "m.mercer")
    assert "function of 3 inputs" in run("info", "m.mercer").out
    assert len(run("predict", "m.mercer", "test.csv", "--std").out.splitlines()) == 31


def test_graph_models_need_the_graph_no_more(run, field, tmp_path):
    (tmp_path / "edges.csv").write_text("u,v,2\n")
    kernel = 'decomposable(gaussian(1), graph("edges.csv", mix=0.5))'
    run("fit", "field.csv", "--target", "u,v", "--kernel", kernel, "--map", "fourier:20", "-o", "m.mercer")
    (tmp_path / "edges.csv").unlink()
    run("predict", "m.mercer", "field.csv")


def test_an_existing_model_keeps_its_permissions_and_links(run, smooth, tmp_path):
    fit = ["fit", "train.csv", "--target", "y", "--map", "fourier:5", "-o", "link.mercer"]
    (tmp_path / "link.mercer").symlink_to("real.mercer")
    run(*fit)
    (tmp_path / "real.mercer").chmod(0o640)
    run(*fit, "--seed", "1")
    assert (tmp_path / "link.mercer").is_symlink() and (tmp_path / "real.mercer").stat().st_mode & 0o777 == 0o640
    assert run("info", "real.mercer", "--json").json["seed"] == 1


# --- killed -----------------------------------------------------------------------------------------------------------


def test_killed_at_any_moment_the_file_is_the_old_or_the_new(run, smooth, tmp_path):
    """kill -9 at 50 random moments of a fit that replaces a model. Only the timings in the summary may differ between two
    runs of the same fit, so 'new' is: the tensors of the reference, byte for byte, under a valid checksum."""
    fit = ["fit", "train.csv", "--target", "y", "--map", "fourier:150", "--penalty", "1e-4", "--quiet", "-o"]
    run(*fit, "old.mercer", "--seed", "1")
    began = time.monotonic()
    run(*fit, "new.mercer", "--seed", "2")
    duration = time.monotonic() - began
    old, new = ((tmp_path / f"{name}.mercer").read_bytes() for name in ["old", "new"])
    new_tensors = load_file(tmp_path / "new.mercer")
    target = tmp_path / "m.mercer"
    random = np.random.default_rng(12)
    seen = {"old": 0, "new": 0}
    for _ in range(50):
        target.write_bytes(old)
        process = start(*fit, "m.mercer", "--seed", "2", cwd=tmp_path)
        time.sleep(duration * random.choice([random.uniform(0, 1.1), random.uniform(0.7, 1.1)]))
        process.kill()
        process.communicate()
        if target.read_bytes() == old:
            seen["old"] += 1
            continue
        seen["new"] += 1
        tensors = load_file(target)
        assert all((tensors[name] == new_tensors[name]).all() for name in new_tensors) and target.stat().st_size > 0.9 * len(new)
        assert run("info", "m.mercer", "--json").json["seed"] == 2
    assert seen["old"] > 0
    target.write_bytes(old)
    run(*fit, "m.mercer", "--seed", "2")  # what a killed run left does not hinder the next


@pytest.mark.parametrize("delay", [0.0, 0.3, 1.2])
@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_asked_to_stop(tmp_path, number, code, delay):
    """A fit of minutes stops within 2 s (here with as much again for a busy machine), says so in one line, leaves no file."""
    random = np.random.default_rng(13)
    x = random.normal(size=(200_000, 8))
    np.save(tmp_path / "big.npy", np.column_stack([x, x[:, 0]]))
    process = start("fit", "big.npy", "--target", "8", "--map", "fourier:3000", "-o", "m.mercer", cwd=tmp_path)
    time.sleep(0.2 + delay)  # past the start of the program
    began = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    took = time.monotonic() - began
    assert process.returncode == code
    assert out == b"" and err.startswith(b"mercer: stopped") and err.count(b"\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["big.npy"]
    assert took < 2 * max(1, os.getloadavg()[0] / os.cpu_count())


def test_asked_twice_it_stops_at_once(tmp_path):
    np.save(tmp_path / "big.npy", np.random.default_rng(15).normal(size=(100_000, 9)))
    process = start("fit", "big.npy", "--target", "8", "--map", "fourier:3000", "-o", "m.mercer", cwd=tmp_path)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and err.startswith(b"mercer: stopped") and err.count(b"\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["big.npy"]


@pytest.mark.parametrize("how", [["--map", "fourier:800", "--solver", "eigen"], ["--map", "exact"],
                                 ["--map", "fourier:3000", "--solver", "cholesky"], ["--map", "fourier:3000", "--solver", "cg"],
                                 ["--map", "fourier:1000", "--solver", "sgd", "--passes", "100000"]])
def test_stops_in_the_middle_of_any_solver(tmp_path, how):
    """One call of LAPACK's eigendecomposition cannot be interrupted: here it is kept to 1600 unknowns."""
    random = np.random.default_rng(14)
    x = random.normal(size=(3000, 4))
    write_csv(tmp_path / "t.csv", ["a", "b", "c", "d", "y"], [*x.T, np.sin(x).sum(1)])
    process = start("fit", "t.csv", "--target", "y", *how, "-o", "m.mercer", cwd=tmp_path)
    time.sleep(1.5)
    if process.poll() is not None:
        process.communicate()
        pytest.skip("was done already")
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    took = time.monotonic() - began
    assert process.returncode == 130 and err.count(b"\n") == 1, err
    assert sorted(os.listdir(tmp_path)) == ["t.csv"]
    assert took < 2 * max(1, os.getloadavg()[0] / os.cpu_count()), f"{took:.1f} s"
