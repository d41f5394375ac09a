"""Threads, forks, Ctrl-C, copies and import time."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed

import mercer
from mercer import KernelRegressor

PACKAGE = Path(mercer.__file__).resolve().parents[1]


def python(code, **options):
    """Runs code in a fresh interpreter."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True, **options)


def test_two_fits_at_once_are_both_right(rng):
    sets = [(rng.normal(size=(2000, 4)), rng.normal(size=2000)) for _ in range(2)]
    alone = [KernelRegressor(features=100).fit(X, y).predict(X) for X, y in sets]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda s: KernelRegressor(features=100).fit(*s).predict(s[0]), sets))
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a, b)


def test_other_threads_run_during_a_fit(rng):
    """The GIL is free: a thread counts while the main thread fits."""
    X, y = rng.normal(size=(20000, 5)), rng.normal(size=20000)
    ticks, stop = [], threading.Event()

    def count():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.002)

    thread = threading.Thread(target=count)
    thread.start()
    started = time.monotonic()
    KernelRegressor(features=300, penalty=1e-3).fit(X, y)
    ended = time.monotonic()
    stop.set()
    thread.join()
    assert sum(started < t < ended for t in ticks) >= 3


def test_fork_after_fit(wave):
    X, y = wave
    model = KernelRegressor(features=50).fit(X, y)
    expected = model.predict(X)
    for backend in ("multiprocessing", "loky"):
        answers = Parallel(n_jobs=2, backend=backend)(delayed(model.predict)(X) for _ in range(3))
        for answer in answers:
            np.testing.assert_array_equal(answer, expected)
        fits = Parallel(n_jobs=2, backend=backend)(delayed(KernelRegressor(features=50).fit)(X, y) for _ in range(2))
        np.testing.assert_array_equal(fits[0].predict(X), expected)


@pytest.mark.parametrize("features", [1000, 3000])
def test_ctrl_c_stops_soon_and_the_next_fit_works(features):
    """3000 features: the signal arrives in a factorisation that cannot be stopped, and is left to itself."""
    code = f"""
        import signal, threading, time, os
        import numpy as np
        from mercer import KernelRegressor
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(20000, 5)), rng.normal(size=20000)
        sent = []
        def interrupt():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        timer = threading.Timer(1.5, interrupt)
        timer.start()
        try:
            while True:
                KernelRegressor(features={features}).fit(X, y)
        except KeyboardInterrupt:
            late = time.monotonic() - sent[0]
            print("stopped", late, flush=True)
        model = KernelRegressor(features=20).fit(X[:200], y[:200])
        print("fitted", model.summary_["n"])
    """
    result = python(code, timeout=300)
    assert result.returncode == 0, result.stderr
    stopped, fitted = result.stdout.splitlines()
    assert fitted == "fitted 200"
    assert stopped.startswith("stopped ")


def test_an_error_in_a_progress_bar_stops_the_fit(rng, monkeypatch):
    from mercer import _core

    def broken(stage, fraction):
        raise ZeroDivisionError("no bar today")

    X, y = rng.normal(size=(20000, 5)), rng.normal(size=(20000, 1))
    with pytest.raises(ZeroDivisionError, match="no bar today"):
        _core.fit(X, y, None, {"map": "fourier:500"}, broken)
    assert _core.fit(X[:50], y[:50], None, {"map": "fourier:5"}, None).inputs == 5


def test_import_is_light():
    """Neither scikit-learn nor matplotlib nor scipy comes along."""
    code = """
        import sys
        import mercer
        heavy = [m for m in ("sklearn", "scipy", "matplotlib", "pandas") if m in sys.modules]
        assert not heavy, heavy
        assert "KernelRegressor" in dir(mercer)
    """
    result = python(code)
    assert result.returncode == 0, result.stderr


def test_what_is_not_installed_is_named():
    code = """
        import sys
        sys.modules["sklearn"] = None
        try:
            from mercer import KernelRegressor
        except ImportError as error:
            print(error)
        from mercer.__main__ import main
        print(main(["report", "a.mercer", "b.csv"]))
    """
    result = python(code)
    says = "needs scikit-learn: pip install 'mercer[sklearn]'"
    assert result.stdout == f"mercer.KernelRegressor {says}\n2\n", result.stdout
    assert says in result.stderr


def test_a_fit_makes_no_copy_of_the_rows():
    """Peak memory of the process grows by much less than X (here 400 MB)."""
    code = """
        import resource
        import numpy as np
        from mercer import KernelRegressor
        X, y = np.random.default_rng(0).normal(size=(500_000, 100)), np.zeros(500_000)
        KernelRegressor(features=10, penalty=1e-3).fit(X[:1000], y[:1000])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        KernelRegressor(features=10, penalty=1e-3).fit(X, y)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(grown)
        assert grown < 120, grown
    """
    result = python(code, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr


def test_threads_can_be_set():
    before = mercer.threads()
    mercer.set_threads(1)
    assert mercer.threads() == 1
    mercer.set_threads(0)
    assert mercer.threads() == before


def test_signals_reach_python_handlers(rng):
    seen = []
    previous = signal.signal(signal.SIGUSR1, lambda *_: seen.append(time.monotonic()))
    try:
        X, y = rng.normal(size=(20000, 5)), rng.normal(size=20000)
        timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGUSR1))
        timer.start()
        KernelRegressor(features=500, penalty=1e-3).fit(X, y)
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert seen
