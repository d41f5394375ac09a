"""How well a model does on rows whose targets are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from .._base import Floats
from .data import Data
from .subject import Subject

BAND = 0.9  # nominal level of the bands that are checked


def _mean(values: Any, weights: Floats | None) -> float:
    return float(np.average(values, weights=weights))


@dataclass(frozen=True)
class TargetScore:
    """One target of a regression."""

    name: str
    r2: float
    rmse: float
    mae: float
    log_density: float | None = None  # mean over rows of log N(y; mean, std²)
    band_coverage: float | None = None  # share of rows within the 90 % band of the standard deviation
    interval_coverage: float | None = None  # of conformal intervals
    interval_width: float | None = None


@dataclass(frozen=True)
class LevelScore:
    """One quantile."""

    level: float
    loss: float  # pinball, or that of expectiles
    below: float  # share of targets not above; τ when calibrated


@dataclass(frozen=True)
class Scores:
    """Of any model: the part that suits it is filled."""

    targets: list[TargetScore] = field(default_factory=list)
    levels: list[LevelScore] = field(default_factory=list)
    crossed: float | None = None  # share of pairs of neighbours, over rows, where a quantile is above the next
    inside: float | None = None  # share between the outermost quantiles
    accuracy: float | None = None
    majority: float | None = None  # accuracy of the most frequent class
    log_loss: float | None = None
    confusion: Floats | None = None  # rows: truth; weights of rows
    interval_coverage: float | None = None
    interval_width: float | None = None


def r2(y: Floats, mean: Floats, weights: Floats | None) -> float:
    """1 - Σ(y - f)²/Σ(y - ȳ)²; NaN for a constant target."""
    spread = _mean((y - _mean(y, weights)) ** 2, weights)
    return 1 - _mean((y - mean) ** 2, weights) / spread if spread > 0 else np.nan


def pinball(y: Floats, quantile: Floats, level: float, weights: Floats | None = None) -> float:
    """Mean of max(τr, (τ - 1)r), r = y - q."""
    residual = y - quantile
    return _mean(np.maximum(level * residual, (level - 1) * residual), weights)


def expectile(y: Floats, value: Floats, level: float, weights: Floats | None = None) -> float:
    """Mean of |τ - 1(r < 0)| r², r = y - e."""
    residual = y - value
    return _mean(np.where(residual < 0, 1 - level, level) * residual**2, weights)


def log_density(y: Floats, mean: Floats, deviation: Floats, weights: Floats | None = None) -> float:
    """Mean of log N(y; mean, deviation²)."""
    z = (y - mean) / deviation
    return _mean(-0.5 * (z**2 + np.log(2 * np.pi)) - np.log(deviation), weights)


def _regression(subject: Subject, data: Data) -> Scores:
    mean, deviation, intervals = subject.predict(data.X), subject.deviations(data.X), subject.intervals(data.X)
    w = data.weights
    half = NormalDist().inv_cdf(0.5 + BAND / 2)
    scored = []
    for a, name in enumerate(subject.targets):
        y, f = data.y[:, a], mean[:, a]
        residual = y - f
        s = None if deviation is None else deviation[:, a]
        bounds = None if intervals is None else (intervals[0][:, a], intervals[1][:, a])
        scored.append(
            TargetScore(
                name=name,
                r2=r2(y, f, w),
                rmse=_mean(residual**2, w) ** 0.5,
                mae=_mean(np.abs(residual), w),
                log_density=None if s is None else log_density(y, f, s, w),
                band_coverage=None if s is None else _mean(np.abs(residual) <= half * s, w),
                interval_coverage=None if bounds is None else _mean((bounds[0] <= y) & (y <= bounds[1]), w),
                interval_width=None if bounds is None else _mean(bounds[1] - bounds[0], w),
            )
        )
    return Scores(targets=scored)


def _quantiles(subject: Subject, data: Data) -> Scores:
    bands, y, w = subject.predict(data.X), data.y[:, 0], data.weights
    intervals = subject.intervals(data.X)
    loss = expectile if subject.loss == "expectile" else pinball
    levels = [
        LevelScore(float(level), loss(y, bands[:, k], level, w), _mean(y <= bands[:, k], w))
        for k, level in enumerate(subject.levels)
    ]
    several = len(levels) > 1
    return Scores(
        levels=levels,
        crossed=_mean((np.diff(bands) < 0).mean(axis=1), w) if several else None,
        inside=_mean((bands[:, 0] <= y) & (y <= bands[:, -1]), w) if several else None,
        interval_coverage=None if intervals is None else _mean((intervals[0][:, 0] <= y) & (y <= intervals[1][:, 0]), w),
        interval_width=None if intervals is None else _mean(intervals[1][:, 0] - intervals[0][:, 0], w),
    )


def _classes(subject: Subject, data: Data) -> Scores:
    given = subject.predict(data.X)
    truth, guess = data.y[:, 0].astype(int), np.argmax(given, axis=1)
    count = len(subject.classes)
    w = np.ones(len(truth)) if data.weights is None else data.weights
    confusion = np.zeros((count, count))
    np.add.at(confusion, (truth, guess), w)
    surprise = -np.log(np.clip(given[np.arange(len(truth)), truth], 1e-15, 1)) if subject.gives_probabilities else None
    return Scores(
        accuracy=_mean(truth == guess, w),
        majority=float(confusion.sum(axis=1).max() / confusion.sum()),
        log_loss=None if surprise is None else _mean(surprise, w),
        confusion=confusion,
    )


def score(subject: Subject, data: Data) -> Scores:
    """Scores on complete rows."""
    if subject.kind == "classes":
        return _classes(subject, data)
    return _quantiles(subject, data) if subject.kind == "quantiles" else _regression(subject, data)
