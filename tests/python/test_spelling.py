"""Sentences of the core name options as Python spells them, wherever they cross: errors, notes, warnings."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer import ConformalRegressor, ExactGP, KernelClassifier, KernelQuantileRegressor, KernelRegressor, SpectralMixtureGP
from mercer._core import in_python

ROOT = Path(__file__).resolve().parents[2]
ESTIMATORS = [ConformalRegressor, ExactGP, KernelClassifier, KernelQuantileRegressor, KernelRegressor, SpectralMixtureGP]
OPTIONS = re.findall(r'\{"(--[a-z-]+)"', (ROOT / "cli/options.cpp").read_text())
KEYWORDS = {name for estimator in ESTIMATORS for name in inspect.signature(estimator).parameters}
METHODS = {"sample_y", "forecast", "sample_weight", "return_std", "latent", "length_factors"}


def quoted_sentences():
    """Every text of the core that names an option."""
    for path in sorted((ROOT / "src").rglob("*.cpp")):
        for line in path.read_text().splitlines():
            for text in re.findall(r'"((?:[^"\\]|\\.)*)"', line.split("//")[0]):
                if re.search(r"--[a-z]", text):
                    yield pytest.param(text, id=f"{path.name}: {text}")


def check(spelled):
    for match in re.finditer(r"--[a-z][a-z-]*", spelled):
        assert spelled[: match.start()].endswith("the command line's "), spelled
    for keyword in re.findall(r"(?<![\w.])([a-z_]+)=", spelled):
        assert keyword in KEYWORDS | METHODS, spelled


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_has_a_spelling(option):
    spelled = in_python(f"give {option} or something else")
    assert spelled != f"give {option} or something else"
    assert spelled.startswith("give ") and spelled.endswith(" or something else")
    check(spelled)


@pytest.mark.parametrize("sentence", list(quoted_sentences()))
def test_every_sentence_is_spelled(sentence):
    assert set(re.findall(r"--[a-z][a-z-]*", sentence)) <= set(OPTIONS), "the command line has no such option"
    check(in_python(sentence))


@pytest.mark.parametrize(
    ("sentence", "spelled"),
    [
        ("use --solver cholesky, or --uncertainty none", 'use solver="cholesky", or uncertainty="none"'),
        ("use a larger --penalty, or --precision float64", 'use a larger penalty, or precision="float64"'),
        ("--penalty 1e-3 is", "penalty=1e-3 is"),
        ("fit again with --uncertainty full or samples", 'fit again with uncertainty="full" or "samples"'),
        ("need --map fourier:D (or exact)", 'need map="fourier:D" (or exact)'),
        ("apart with --map p-sr:200,p=0.01; use --map fourier:D", 'apart with map="p-sr:200,p=0.01"; use map="fourier:D"'),
        ("--outputs 'foo' is neither", "outputs='foo' is neither"),
        ("--non-crossing needs --quantiles 0.1,0.9", "non_crossing=True needs KernelQuantileRegressor([0.1,0.9])"),
        ("calibrate with --conformal 0.9 --split time", "calibrate with ConformalRegressor(level=0.9, time_order=True)"),
        ("use --gp spectral_mixture or --gp vfe", "use SpectralMixtureGP or ExactGP(inducing=300)"),
        ("use --missing drop", "use the command line's --missing drop"),
        ("no 'column--map' here - or --there", "no 'column--map' here - or --there"),
    ],
)
def test_examples(sentence, spelled):
    assert in_python(sentence) == spelled


def test_errors_cross_spelled(wave):
    X, y = wave
    with pytest.raises(ValueError, match=r'solver="cg" is for the square loss'):
        KernelRegressor(loss="huber", solver="cg").fit(X, y)
    with pytest.raises(ValueError, match=r"fit it with ConformalRegressor\(level=0\.9\)"):
        KernelRegressor(features=10).fit(X, y).predict_interval(X)


def test_notes_and_warnings_cross_spelled(wave):
    X, y = wave
    with pytest.warns(match='solver="admm" says how far'):
        model = KernelRegressor(features=10, solver="adam").fit(X, y)
    assert any('solver="admm"' in note for note in model.notes_)


def test_notes_of_files_are_spelled(wave, program, tmp_path):
    X, y = wave
    np.savetxt(tmp_path / "rows.csv", np.column_stack([X, y]), delimiter=",", header="a,b,y", comments="")
    program("fit", tmp_path / "rows.csv", "--target", "y", "--map", "fourier:10", "--solver", "adam", "-o", tmp_path / "m.mercer")
    assert any('solver="admm"' in note for note in mercer.load(tmp_path / "m.mercer").notes_)


def test_memory_can_be_set(wave):
    X, y = wave
    before = mercer.memory()
    try:
        mercer.set_memory(1e6)
        assert mercer.memory() == 1_000_000
        with pytest.raises(ValueError, match=r"raise mercer\.set_memory"):
            KernelRegressor(map="exact").fit(np.repeat(X, 4, axis=0), np.repeat(y, 4))
    finally:
        mercer.set_memory(before)
    KernelRegressor(map="exact").fit(X, y)
    with pytest.raises(ValueError, match="at least 1e6"):
        mercer.set_memory(0)
