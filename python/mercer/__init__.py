"""Mercer: scalar- and vector-valued functions learned with kernels, at scale.

Estimators follow scikit-learn's conventions; models are the ``.mercer`` files of the command line.

>>> import numpy as np
>>> from mercer import KernelRegressor
>>> x = np.linspace(0, 6, 200)[:, None]
>>> model = KernelRegressor().fit(x, np.sin(x[:, 0]))
>>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 1e-3)
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import kernels as kernels
from ._core import memory as memory
from ._core import set_memory as set_memory
from ._core import set_threads as set_threads
from ._core import threads as threads
from ._core import version

if TYPE_CHECKING:  # names twice: exported, for those who check types strictly
    from . import plot as plot
    from . import streams as streams
    from ._classification import KernelClassifier as KernelClassifier
    from ._conformal import ConformalRegressor as ConformalRegressor
    from ._files import load as load
    from ._process import ExactGP as ExactGP
    from ._process import SpectralMixtureGP as SpectralMixtureGP
    from ._quantile import KernelQuantileRegressor as KernelQuantileRegressor
    from ._regression import KernelRegressor as KernelRegressor
    from ._regression import KernelRegressorCV as KernelRegressorCV
    from ._report import report as report
    from ._transformers import OperatorFeatures as OperatorFeatures
    from ._transformers import RandomFourierFeatures as RandomFourierFeatures
    from ._transformers import SketchedFeatures as SketchedFeatures

# Estimators bring scikit-learn and pictures matplotlib, which take longer to import than Mercer itself: both wait until asked for.
_homes = {
    "KernelRegressor": "_regression",
    "KernelRegressorCV": "_regression",
    "KernelClassifier": "_classification",
    "KernelQuantileRegressor": "_quantile",
    "SpectralMixtureGP": "_process",
    "ExactGP": "_process",
    "ConformalRegressor": "_conformal",
    "RandomFourierFeatures": "_transformers",
    "SketchedFeatures": "_transformers",
    "OperatorFeatures": "_transformers",
    "load": "_files",
    "report": "_report",
}
_modules = ("plot", "streams")

__version__ = version()

__all__ = [*_homes, *_modules, "__version__", "kernels", "memory", "set_memory", "set_threads", "threads"]


def __getattr__(name: str) -> Any:
    if name not in _homes and name not in _modules:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    try:
        home = importlib.import_module(f".{_homes.get(name, name)}", __name__)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "sklearn":
            raise
        raise ModuleNotFoundError(f"mercer.{name} needs scikit-learn: pip install 'mercer[sklearn]'", name=error.name) from error
    return getattr(home, name) if name in _homes else home


def __dir__() -> list[str]:
    return sorted(__all__)
