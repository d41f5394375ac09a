"""Gaussian processes that learn their kernel from the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ._base import Floats, seed_of, squeeze, whole
from ._regression import MeanPredictor
from ._times import as_dates, as_times, days_of
from .kernels import Kernel, text_of


class _Process(MeanPredictor):
    """What both kinds of processes do."""

    _least_rows = 2

    def fit(self, X: ArrayLike, y: ArrayLike) -> Any:
        """Fits to rows X (n × d; a vector of times or dates for a series) and targets y (n or n × targets)."""
        self._fit_arrays(X, y, None)
        self.__dict__.pop("series_", None)
        if self.n_features_in_ == 1:  # for pictures: the rows of a series are few
            times = np.asarray(as_times(X)[0], dtype=float)[:, 0]
            self.series_ = (as_dates(times) if self._dates else times, np.array(y, dtype=float))
        return self

    def _days(self, X: Any, reset: bool) -> tuple[Any, str | None]:
        return as_times(X) if reset or self.n_features_in_ == 1 else days_of(X)  # a vector may be a series

    def log_density(self, X: ArrayLike, y: ArrayLike) -> Floats:
        """log p(y) of each row under the predictive distribution, targets summed."""
        mean, deviation = self.predict(X, return_std=True)
        z = (np.asarray(y, dtype=float).reshape(mean.shape) - mean) / deviation
        density = -0.5 * (z**2 + np.log(2 * np.pi)) - np.log(deviation)
        return density if density.ndim == 1 else density.sum(axis=1)

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Any = 0) -> Floats:
        """Functions drawn from the posterior, without the noise of observations: rows × samples, or rows × targets × samples."""
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, got {n_samples}")
        drawn = self._ask(X, lambda rows: self.model_.sample(np.asarray(rows, dtype=float), n_samples, seed_of(random_state)))
        drawn = np.moveaxis(drawn, 0, -1)
        return drawn[:, 0, :] if self._flat else drawn

    def forecast(self, horizon: int) -> tuple[NDArray[Any], Floats, Floats]:
        """The next ``horizon`` steps of a series: times (dates, if it was fitted to dates), mean and standard deviation."""
        check_is_fitted(self)
        whole("horizon", horizon)
        times = self.model_.future(int(horizon))
        mean, deviation = (squeeze(part, self._flat) for part in self.model_.predict_std(times[:, None]))
        return (as_dates(times) if self._dates else times), mean, deviation

    def plot_forecast(self, horizon: int, **options: Any) -> Any:
        """The series' forecast with its bands: :func:`mercer.plot.forecast`. Returns the Axes."""
        from .plot import forecast

        return forecast(self, horizon, **options)


class SpectralMixtureGP(_Process):
    """A Gaussian process whose spectrum is learned by random spectral points: series and tables, with honest uncertainty.

    Parameters
    ----------
    components : int
        Q of the spectral mixture.
    law : str
        Of a component: "gaussian", "student", "laplace".
    points : int
        Spectral points.
    mean : str
        "auto", "none", "constant", "linear".
    optimizer : str
        "auto", "adam" (new points at every step) or "lbfgs" (fixed points).
    steps : int
        Of the optimiser; 0 for its default.
    outputs : str
        Several targets: "independent" spectra, or one "shared" by all, coupled by a learned matrix.
    posterior_draws : int
        Sets of points that predictions average over.
    restarts : int
    random_state : int, RandomState or None
    verbose : int

    Attributes
    ----------
    summary_ : dict
    n_features_in_ : int
    series_ : pair (t, y)
        The training rows of a single input, for pictures; models from files have none.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SpectralMixtureGP
    >>> t = np.arange(120.0)
    >>> y = np.sin(2 * np.pi * t / 12) + 0.05 * np.random.default_rng(0).normal(size=120)
    >>> model = SpectralMixtureGP(components=3, steps=50).fit(t, y)
    >>> times, mean, std = model.forecast(12)
    >>> bool(np.abs(mean - np.sin(2 * np.pi * times / 12)).max() < 0.2)
    True
    """

    def __init__(
        self,
        components: int = 10,
        *,
        law: str = "gaussian",
        points: int = 300,
        mean: str = "auto",
        optimizer: str = "auto",
        steps: int = 0,
        outputs: str = "independent",
        posterior_draws: int = 8,
        restarts: int = 1,
        random_state: Any = 0,
        verbose: int = 0,
    ):
        self.components = components
        self.law = law
        self.points = points
        self.mean = mean
        self.optimizer = optimizer
        self.steps = steps
        self.outputs = outputs
        self.posterior_draws = posterior_draws
        self.restarts = restarts
        self.random_state = random_state
        self.verbose = verbose

    def _options(self) -> dict[str, Any]:
        whole("components", self.components)
        whole("points", self.points)
        law = "" if self.law == "gaussian" else f",{self.law}"
        return {
            "gp": f"spectral_mixture:{self.components}{law}",
            "points": self.points,
            "mean": self.mean,
            "optimizer": self.optimizer,
            "steps": self.steps,
            "outputs": self.outputs,
            "posterior_draws": self.posterior_draws,
            "restarts": self.restarts,
            "seed": seed_of(self.random_state),
        }

    def spectrum(self, output: int = 0) -> list[dict[str, Any]]:
        """The learned components, heaviest first: ``weight`` (variance explained) with its error, ``frequency`` and ``spread`` in
        cycles per unit of input (per day for dates)."""
        return self.model_.spectrum(output)


class ExactGP(_Process):
    """A Gaussian process whose kernel parameters and noise are learned by the exact marginal likelihood, or by Titsias' bound.

    Parameters
    ----------
    kernel : Kernel or str
        Where the search starts; ``"spectral_mixture:Q"`` for a spectrum of Q components.
    inducing : int, optional
        Learn by the bound with so many inducing inputs, O(n·m²); None: exactly, O(n³).
    mean : str
        "auto", "none", "constant", "linear".
    steps : int
        Of L-BFGS; 0 for its default.
    restarts : int
    random_state : int, RandomState or None
    verbose : int

    Attributes
    ----------
    kernel_ : str
        As learned.
    summary_ : dict
    n_features_in_ : int
    series_ : pair (t, y)
        The training rows of a single input, for pictures; models from files have none.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ExactGP
    >>> x = np.linspace(0, 5, 60)[:, None]
    >>> mean, std = ExactGP("matern(1, nu=2.5)").fit(x, np.sin(x[:, 0])).predict([[2.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(2.5)) < 0.01)
    True
    """

    def __init__(
        self,
        kernel: Kernel | str = "gaussian(median)",
        *,
        inducing: int | None = None,
        mean: str = "auto",
        steps: int = 0,
        restarts: int = 1,
        random_state: Any = 0,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.inducing = inducing
        self.mean = mean
        self.steps = steps
        self.restarts = restarts
        self.random_state = random_state
        self.verbose = verbose

    def _options(self) -> dict[str, Any]:
        if self.inducing is not None:
            whole("inducing", self.inducing)
        learned = isinstance(self.kernel, str) and self.kernel.startswith("spectral_mixture:")
        return {
            "gp": "exact" if self.inducing is None else f"vfe:{self.inducing}",
            "kernel": self.kernel if learned else text_of(self.kernel),
            "mean": self.mean,
            "steps": self.steps,
            "restarts": self.restarts,
            "seed": seed_of(self.random_state),
        }
