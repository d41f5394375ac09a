"""Commands that the project set out to make possible, word for word: a robust fit that tunes itself, quantiles that do not cross,
several outputs with an output kernel, and advice before any of it."""

import shlex

import numpy as np
import pytest
from conftest import write_csv


@pytest.fixture
def tables(tmp_path):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(160, 2))
    f = np.sin(2 * x[:, 0]) + x[:, 1]
    noise = rng.normal(size=160)
    write_csv(tmp_path / "prices.csv", ["a", "b", "y"], [x[:, 0], x[:, 1], f + 0.1 * noise + 20 * (rng.uniform(size=160) < 0.05)])
    write_csv(tmp_path / "growth.csv", ["a", "b", "y"], [x[:, 0], x[:, 1], f + (0.1 + 0.3 * np.abs(x[:, 0])) * noise])
    outputs = np.stack([np.cos(k * x[:, 0] / 3) + 0.2 * x[:, 1] + 0.05 * rng.normal(size=160) for k in range(8)], axis=1)
    lines = ["@relation multi", *(f"@attribute c{k} numeric" for k in range(10)), "@data"]
    lines += [",".join(map(repr, map(float, row))) for row in np.c_[x, outputs]]
    (tmp_path / "multi.arff").write_text("\n".join(lines) + "\n")


def test_the_four_commands(run, tables):
    def mercer(line):
        return run(*shlex.split(line)[1:], "--json").json

    robust = mercer("mercer fit prices.csv --target y --loss huber:1.35 --map p-sr:200 --tune -o robust.mercer")
    assert robust["loss"] == "huber:1.35" and robust["gap"] <= 1e-4 and robust["tuning"]["best"]["map"].startswith("p-sr:200")
    bands = mercer("mercer fit growth.csv --target y --loss pinball --quantiles 0.1,0.3,0.5,0.7,0.9 --non-crossing --map p-sr:300 -o bands.mercer")
    assert bands["outputs"] == 5 and bands["gap"] <= 1e-4
    assert run("score", "bands.mercer", "growth.csv", "--json").json["crossed_share"] == 0
    flow = mercer("mercer fit multi.arff --target 'last:8' --kernel 'decomposable(gaussian(median)+linear(), covariance)' --loss epsilon:0.1 "
                  "--map accumulation:200,m=20 -o flow.mercer")  # fmt: skip
    assert flow["outputs"] == 8 and flow["inputs"] == 2 and flow["gap"] <= 1e-4
    assert run("score", "flow.mercer", "multi.arff", "--json").json["arrmse"] < 0.5
    plan = mercer("mercer plan prices.csv --kernel 'gaussian(median)' --map p-sr")
    assert plan["statistical_dimension"] > 1 and plan["advised_map"].startswith("p-sr:")
    assert plan["advised"]["memory_bytes"] > 0 and plan["advised"]["seconds"] > 0
    for model, data in [("robust", "prices.csv"), ("bands", "growth.csv"), ("flow", "multi.arff")]:
        told = run("info", f"{model}.mercer", data, "--json").json["diagnosis"]
        assert told["sketch"]["mean_error"] < 0.1 and told["statistical_dimension"] > 1
