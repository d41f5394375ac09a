"""What Mercer does from a shell with Python alone: ``python -m mercer report MODEL DATA -o report.html``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from . import __version__

_LESSON = """\
Mercer learns scalar- and vector-valued functions with kernels, at scale.

In Python:
  from mercer import KernelRegressor
  model = KernelRegressor().fit(X, y)
  model.predict(new, return_std=True)
  model.save("model.mercer")

From a shell:
  python -m mercer report model.mercer test.csv -o report.html
      one page with the model in words, scores on the rows of test.csv, pictures, and how to fit it again

The model may come from Python or from the command line (mercer fit train.csv --target y -o model.mercer).
python -m mercer report --help tells more."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mercer", description="Mercer from a shell.")
    parser.add_argument("--version", action="version", version=f"mercer {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    report = verbs.add_parser(
        "report",
        help="a page about a model and rows whose targets are known",
        description="Writes one self-contained HTML page: data, model in words, scores, pictures, timings, how to reproduce.",
    )
    report.add_argument("model", metavar="MODEL", help="a .mercer file")
    report.add_argument(
        "data", metavar="DATA", help="a table with the model's columns: CSV with a header, ARFF, NPY, also gzipped"
    )
    report.add_argument(
        "-o", "--output", metavar="FILE", default="report.html", help="where to write the page [default: report.html]"
    )
    report.add_argument("--title", metavar="TEXT", help="heading of the page")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a verb; 0 when it went well, 2 with one line on standard error when it did not."""
    options = _parser().parse_args(arguments)
    if options.verb is None:
        print(_LESSON)
        return 0
    try:
        from mercer import load
        from ._report import report_file

        report_file(load(options.model), options.data, options.output, title=options.title)
    except (ImportError, OSError, ValueError) as error:
        print(f"mercer: {error}", file=sys.stderr)
        return 2
    print(f"wrote {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
