"""The help says everything, and only what is true."""

import re
from pathlib import Path

import pytest
from conftest import ROOT

VERBS = ["fit", "predict", "score", "plot", "gram", "info", "tune", "plan", "accumulate", "merge", "solve", "demo", "bench"]
EVERYWHERE = ["--seed", "--threads", "--memory", "--json", "--quiet"]


def options_of(help_text):
    """Every option of a verb's help, with its whole text."""
    entries = {}
    name = None
    for line in help_text.split("\noptions:\n")[1].splitlines():
        match = re.match(r"  (?:-\w, )?(--[\w-]+)", line)
        if match:
            name = match[1]
            entries[name] = ""
        entries[name] += " " + line.strip()
    return entries


def test_top_help_lists_every_verb(run):
    text = run("--help").out
    listed = re.findall(r"^  (\w+) {2,}\S", text.split("verbs:")[1].split("\n\n")[0], re.M)
    assert set(VERBS) <= set(listed)
    assert "mercer fit train.csv --target y" in text
    assert run("help").out == run("-h").out == text


def test_without_arguments_the_help_and_an_error(run):
    result = run(ok=False)
    assert result.code == 2 and result.out == run("--help").out


def test_every_listed_verb_has_help(run):
    listed = re.findall(r"^  (\w+) {2,}\S", run("--help").out.split("verbs:")[1].split("\n\n")[0], re.M)
    for verb in listed:
        text = run(verb, "--help").out
        assert f"usage: mercer {verb}" in text
        assert run("help", verb).out == run(verb, "-h").out == text


@pytest.mark.parametrize("verb", VERBS)
def test_verb_help_is_complete(run, verb):
    text = run(verb, "--help").out
    options = options_of(text)
    assert set(EVERYWHERE) <= set(options)
    assert "--json prints" in text
    assert f"mercer {verb}" in text.split("usage:")[1].split("\n", 1)[1], "an example"
    for name, words in options.items():
        assert len(words.split()) >= 4, f"{name} is explained"
    for name, default in {"--seed": "0", "--threads": "0", "--memory": "4GB", "--kernel": "gaussian(median)", "--map": "auto",
                          "--penalty": "auto", "--solver": "auto", "--precision": "auto", "--uncertainty": "auto",
                          "--tolerance": "auto", "--passes": "20", "--missing": "error", "--header": "auto", "--split": "random",
                          "--error": "0.1", "--confidence": "0.95"}.items():  # fmt: skip
        if name in options:
            assert f"[default: {default}]" in options[name], name
    assert max(map(len, text.splitlines())) <= 125


@pytest.mark.parametrize("verb", VERBS)
def test_help_needs_nothing_else_to_be_right(run, verb):
    assert run(verb, "no_such_file", "--help").out == run(verb, "--help").out


def test_version(run):
    assert re.fullmatch(r"mercer \d+\.\d+\.\d+\n", run("--version").out)


def test_defaults_in_the_help_are_the_defaults(run, smooth):
    """Spelling every default out changes nothing."""
    options = options_of(run("fit", "--help").out)
    spelled = []
    for name, words in options.items():
        match = re.search(r"\[default: (.+)\]", words)
        if match and "gp:" not in words and name not in ("--split", "--map", "--folds", "--metric", "--length-factors", "--penalties"):
            spelled += [name, match[1]]
    how = ["--target", "y", "--map", "fourier:15"]
    run("fit", "train.csv", *how, "-o", "1.mercer")
    run("fit", "train.csv", *how, *spelled, "-o", "2.mercer")
    assert run("predict", "1.mercer", "test.csv").out == run("predict", "2.mercer", "test.csv").out


def test_markdown_reference(run):
    text = run("help", "--markdown").out
    for verb in VERBS:
        assert f"\n## mercer {verb}\n" in text
    page = Path(ROOT / "docs/cli.md")
    if not page.exists():
        pytest.skip("docs/cli.md is not written yet")
    assert page.read_text() == text, "run make docs"
