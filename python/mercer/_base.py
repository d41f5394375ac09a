"""What every estimator shares: options for the core, validated arrays, progress, files, pickles."""

from __future__ import annotations

import json
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import _core
from ._columns import fault_of_inputs, fault_of_targets
from ._progress import progress_bar
from ._times import days_of, named
from .kernels import Kernel, parse, text_of

Self = TypeVar("Self", bound="CoreEstimator")
Floats = NDArray[np.float64]

_DTYPES = (np.float64, np.float32)


def seed_of(random_state: Any) -> int:
    """A whole number, as it is; from a generator, or numpy's own for None, the next draw."""
    if isinstance(random_state, (int, np.integer)):
        if random_state < 0:
            raise ValueError(f"random_state must be at least 0, got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def whole(name: str, value: Any) -> None:
    """Refuses what is not a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")


def flag(name: str, value: Any) -> bool:
    """Refuses what is neither True nor False: texts such as "no" would be True."""
    if not isinstance(value, (bool, int, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def some_number(name: str, value: Any) -> float | None:
    """Refuses what is neither a number nor None."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float, np.number))):
        raise ValueError(f"{name} must be a number, or None to have it chosen; got {value!r}")
    return None if value is None else float(value)


def map_text(map: str, features: int | None) -> str:
    """``map`` and ``features`` as the command line writes them: "fourier:500", "p-sr:200,p=0.01", "exact"."""
    if features is None:
        return map
    whole("features", features)
    if ":" in map or map == "exact":
        raise ValueError(f"map={map!r} says already how many features there are; leave features out")
    name, comma, rest = map.partition(",")
    return f"{'fourier' if name == 'auto' else name}:{features}{comma}{rest}"


def target_names(y: Any) -> list[str] | None:
    """Names of the targets of a pandas or polars frame or series."""
    columns = getattr(y, "columns", None)
    if columns is not None:
        return [str(name) for name in columns]
    name = getattr(y, "name", None)
    return [name] if isinstance(name, str) and name else None


def as_columns(y: NDArray[Any]) -> NDArray[Any]:
    """Targets as rows × p in C order, float64 unless they are float32."""
    if y.dtype not in _DTYPES:
        try:
            y = y.astype(np.float64)
        except ValueError as error:
            raise ValueError(fault_of_targets(y)) from error
    return np.ascontiguousarray(y.reshape(len(y), -1))


def _outside() -> int:
    """The stacklevel, for who calls this, of the first caller outside this package: a warning is about their line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    return level


def summary_of(model: _core.Model) -> dict[str, Any]:
    """What happened in the fit of a model."""
    return json.loads(model.summary_json())


class CoreEstimator(BaseEstimator, ABC):
    """An estimator whose ``fit`` is done by the core, and leaves a core model in ``model_``."""

    # Parameters every estimator has.
    kernel: Kernel | str
    random_state: Any
    verbose: int | bool

    _least_rows = 1
    _dates: str | None = None  # how files write the one input, where it is dates

    @abstractmethod
    def _options(self) -> dict[str, Any]:
        """Keywords for the core; None means the core's default."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep`` those of the kernel too, as ``kernel__length_scale``, also of one given as text."""
        params: dict[str, Any] = super().get_params(deep)
        if deep and isinstance(params.get("kernel"), str):
            with suppress(ValueError):  # what is no kernel has no parameters; fit says what is wrong with it
                params.update({f"kernel__{name}": value for name, value in parse(params["kernel"]).get_params().items()})
        return params

    def set_params(self: Self, **params: Any) -> Self:
        """Sets parameters by name and returns the estimator."""
        if any(name.startswith("kernel__") for name in params):
            kernel = params.get("kernel", getattr(self, "kernel", None))
            if isinstance(kernel, str):
                params["kernel"] = parse(kernel)
        return super().set_params(**params)

    def _checked(self, X: Any, *y: Any, reset: bool = True, **checks: Any) -> Any:
        """scikit-learn's checks of X, or of X and y; dates as days, and what is no number said with its column."""
        days, dates = self._days(X, reset)
        is_vector = days is not X and not hasattr(X, "columns")
        if reset:
            self._dates = dates
            days = named(X, days) if is_vector else days
        elif dates and not self._dates:
            raise ValueError("X holds dates, and the model was fitted to numbers")
        elif self._dates and not dates:
            raise ValueError("the model was fitted to dates; give dates, not numbers")
        try:
            if is_vector and not reset and self.n_features_in_ == 1:  # whatever it is called
                return check_array(days, dtype=_DTYPES, order="C")
            return validate_data(self, days, *y, dtype=_DTYPES, order="C", reset=reset, **checks)
        except (TypeError, ValueError) as error:
            fault = fault_of_inputs(X)
            if fault is None and y and checks.get("y_numeric"):
                fault = fault_of_targets(y[0])
            if fault is None:
                raise
            raise ValueError(fault) from error

    def _days(self, X: Any, reset: bool) -> tuple[Any, str | None]:
        """X with dates as days, and which dates they were."""
        return days_of(X)

    def _validated(self, X: ArrayLike, y: Any, sample_weight: Any, **checks: Any) -> tuple[Any, Any, Any]:
        """X, y and weights as numpy arrays that the core can read where they lie."""
        checks = {"y_numeric": True, "multi_output": True, "ensure_min_samples": self._least_rows, **checks}
        rows, targets = self._checked(X, y, **checks)
        return rows, targets, self._weights(sample_weight, rows)

    def _weights(self, sample_weight: Any, X: NDArray[Any]) -> Floats | None:
        if sample_weight is None:
            return None
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("all sample weights are 0: there is nothing to fit")
        return np.ascontiguousarray(weights)

    def _named_options(self, y: Any = None, **more: Any) -> dict[str, Any]:
        """The options, with the names of the columns for files to know them by."""
        options = {**self._options(), **getattr(self, "_extra_options", {}), **more}
        if hasattr(self, "feature_names_in_"):
            options["input_names"] = [str(name) for name in self.feature_names_in_]
        names = target_names(y)
        if names is not None:
            options["target_names"] = names
        options["dates"] = self._dates
        return {key: value for key, value in options.items() if value is not None}

    def _run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Calls into the core, with a progress bar as ``verbose`` says."""
        with progress_bar(type(self).__name__, enabled=bool(self.verbose)) as progress:
            return work(*arguments, progress)

    def _take(self: Self, model: _core.Model) -> Self:
        """Makes a core model this estimator's, and says what should be known of it."""
        self.model_ = model
        self.summary_ = summary_of(model)
        if self.summary_["status"] != "ok":
            warnings.warn("; ".join(self.summary_["notes"]) or self.summary_["status"], ConvergenceWarning, stacklevel=_outside())
        return self

    def _rows(self, X: Any) -> Any:
        """X checked for prediction. An array that is plainly what the core takes is not looked at twice: the checks of
        scikit-learn take longer than the prediction of a row, and the core answers NaN for what they would refuse."""
        if self._is_plain(X):
            return X
        return self._checked(X, reset=False)

    def _is_plain(self, X: Any) -> bool:
        return (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in _DTYPES
            and X.flags.c_contiguous
            and X.shape[0] > 0
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
            and not self._dates
        )

    def _ask(self, X: Any, question: Callable[[Any], Any]) -> Any:
        """question(rows) of the model, where an answer that is not finite means that X deserves the full check."""
        check_is_fitted(self)
        rows = self._rows(X)
        answer = question(rows)
        first = answer[0] if isinstance(answer, tuple) else answer
        if rows is X and not np.isfinite(first.sum()):
            self._checked(X, reset=False)
        return answer

    @property
    def kernel_(self) -> str:
        """The kernel as fitted, with its numbers."""
        check_is_fitted(self)
        return str(self.summary_["kernel"])

    @property
    def notes_(self) -> list[str]:
        """What the fit has to say, in sentences."""
        check_is_fitted(self)
        return list(self.summary_["notes"])

    def save(self, path: Any) -> None:
        """Writes a ``.mercer`` file, which the command line, C++ and :func:`mercer.load` read."""
        check_is_fitted(self)
        self.model_.save(str(path))

    def to_onnx(self, path: Any = None, *, dtype: str = "float32", arithmetic: str = "auto") -> Any:
        """The fitted model as an ONNX graph, which runtimes evaluate without Mercer. Needs the ``onnx`` package.

        The input is ``X`` (N × d) in your units, days since 1970-01-01 for a series of dates. Regressors and processes have one
        output, ``prediction``, shaped as :meth:`predict` gives it; classifiers have ``label`` and ``probabilities``, or
        ``scores``. The file also tells version, kernel and the names of the columns.

        Parameters
        ----------
        path : path, optional
            Where to write a file.
        dtype : str
            Of inputs and outputs: "float32" or "float64".
        arithmetic : str
            What is computed in. "auto": "float32" where its rounding stays below 1e-5 of the targets' scale, else "float64".

        Returns
        -------
        onnx.ModelProto

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRegressor
        >>> x = np.linspace(0, 6, 200)[:, None]
        >>> graph = KernelRegressor(features=50).fit(x, np.sin(x[:, 0])).to_onnx()
        >>> [output.name for output in graph.graph.output]
        ['prediction']
        """
        check_is_fitted(self)
        from ._onnx import convert

        return convert(self, path, dtype, arithmetic, intervals=False)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def kernel_options(estimator: Any) -> dict[str, Any]:
    """Options of the estimators that take a kernel and a map."""
    return {
        "kernel": text_of(estimator.kernel),
        "map": map_text(estimator.map, estimator.features),
        "standardize": flag("standardize", estimator.standardize),
        "precision": estimator.precision,
        "seed": seed_of(estimator.random_state),
    }


def squeeze(values: NDArray[Any], flat: bool) -> NDArray[Any]:
    """One column as a vector where y was one."""
    return values[:, 0] if flat else values
