"""The scripts in examples/python run, say something and draw something."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(path for path in (ROOT / "examples/python").glob("*.py") if path.name != "example_data.py")
RUN = """
import runpy, sys
import matplotlib.pyplot as plt
sys.path.insert(0, sys.argv[1].rpartition("/")[0])
runpy.run_path(sys.argv[1], run_name="__main__")
assert plt.get_fignums(), "no picture"
for number in plt.get_fignums():
    plt.figure(number).savefig(sys.argv[2] + f"/{number}.png")
"""


def run(script, folder, data=None):
    """In a process of its own; with ``data`` as the data folder if given."""
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT / "python")}
    if data is not None:
        environment["MERCER_DATA"] = str(data)
    command = [sys.executable, "-c", RUN, str(script), str(folder)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    return done


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_example(script, tmp_path):
    done = run(script, tmp_path)
    assert "Warning" not in done.stderr


@pytest.mark.parametrize("script", [path for path in SCRIPTS if "example_data" in path.read_text()], ids=lambda path: path.stem)
def test_example_without_the_data_folder(script, tmp_path):
    run(script, tmp_path, data=tmp_path / "absent")


def test_there_are_examples():
    assert len(SCRIPTS) >= 6


def test_cpp_example_predicts_as_python(tmp_path):
    """examples/cpp, built by find_package against an installed library, answers for a model trained here."""
    import numpy as np

    from mercer import KernelRegressor

    build = ROOT / "build/release"
    if not (build / "libmercer.so").exists():
        pytest.skip("the shared library is not built")
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    flow = np.column_stack([-X[:, 1], X[:, 0]]) + 0.01 * rng.normal(size=(300, 2))
    model = KernelRegressor("divergence_free(gaussian(1))", features=200).fit(X, flow)
    model.save(tmp_path / "flow.mercer")
    for command in (
        ["cmake", "--install", build, "--prefix", tmp_path / "prefix"],
        ["cmake", "-S", ROOT / "examples/cpp", "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}"],
        ["cmake", "--build", tmp_path / "build"],
    ):
        subprocess.run(command, check=True, capture_output=True)
    asked = np.array([[0.3, -0.2], [0.5, 0.5]])
    done = subprocess.run(
        [tmp_path / "build/serve", tmp_path / "flow.mercer"],
        input="\n".join(" ".join(map(str, row)) for row in asked.tolist()),
        capture_output=True,
        text=True,
        check=True,
    )
    mean, std = model.predict(asked, return_std=True)
    expected = [", ".join(f"{m:.6f} +- {s:.6f}" for m, s in zip(*row, strict=True)) for row in zip(mean, std, strict=True)]
    assert done.stdout.splitlines() == expected
