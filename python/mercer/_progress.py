"""A progress bar: tqdm's where it is installed (in notebooks too), else a line on standard error."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

Progress = Callable[[str, float], None]


class _Line:
    """``KernelRegressor: accumulating 45 %, 3 s left`` written over itself."""

    def __init__(self, title: str):
        self.title = title
        self.stage = ""
        self.started = time.monotonic()
        self.width = 0

    def __call__(self, stage: str, fraction: float) -> None:
        if stage != self.stage:
            self.stage, self.started = stage, time.monotonic()
        spent = time.monotonic() - self.started
        left = f", {spent * (1 - fraction) / fraction:.0f} s left" if fraction > 0.02 else ""
        text = f"{self.title}: {stage} {100 * fraction:.0f} %{left}"
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def close(self) -> None:
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()


class _Tqdm:
    def __init__(self, title: str):
        from tqdm.auto import tqdm

        self.title = title
        self.bar = tqdm(total=100, desc=title, leave=False, bar_format="{desc} {percentage:3.0f} %|{bar}| {elapsed} < {remaining}")

    def __call__(self, stage: str, fraction: float) -> None:
        title = f"{self.title}: {stage}"
        if title != self.bar.desc.rstrip(": "):
            self.bar.reset(total=100)
            self.bar.set_description_str(title, refresh=False)
        self.bar.update(max(0.0, 100 * fraction - self.bar.n))

    def close(self) -> None:
        self.bar.close()


@contextlib.contextmanager
def progress_bar(title: str, *, enabled: bool) -> Iterator[Progress | None]:
    """A callable (stage, fraction), or None when nobody wants to see."""
    if not enabled:
        yield None
        return
    bar: _Tqdm | _Line
    try:
        bar = _Tqdm(title)
    except ImportError:
        bar = _Line(title)
    try:
        yield bar
    finally:
        bar.close()
