"""predict(return_cov=True): the joint covariance of predictions."""

import numpy as np
import pytest

from mercer import ExactGP, KernelRegressor, SpectralMixtureGP

MODELS = [
    KernelRegressor(features=40),
    KernelRegressor(map="p-sr:30"),
    KernelRegressor(map="exact"),
    KernelRegressor(features=40, uncertainty="samples", penalty=1e-3),
    ExactGP("gaussian(1)", steps=5),
    ExactGP("gaussian(1)", steps=5, inducing=10),
    SpectralMixtureGP(components=2, points=20, steps=5),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("latent", [False, True])
def test_diagonal_is_the_variance(model, latent, wave):
    X, y = wave
    model.fit(X[:100], y[:100])
    mean, deviation = model.predict(X[:30], return_std=True, latent=latent)
    same, covariance = model.predict(X[:30], return_cov=True, latent=latent)
    np.testing.assert_array_equal(same, mean)
    assert covariance.shape == (30, 30)
    np.testing.assert_allclose(np.diag(covariance), deviation**2, rtol=1e-6, atol=1e-9 * covariance.max())
    np.testing.assert_allclose(covariance, covariance.T, atol=1e-10 * covariance.max())
    assert np.linalg.eigvalsh(covariance).min() > -1e-8 * covariance.max()


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_several_targets(model, wave):
    X, y = wave
    Y = np.column_stack([y, -2 * y + X[:, 0]])
    model.fit(X[:80], Y[:80])
    mean, covariance = model.predict(X[:9], return_cov=True)
    assert mean.shape == (9, 2)
    assert covariance.shape == (9, 9, 2)
    _, deviation = model.predict(X[:9], return_std=True)
    for a in range(2):
        np.testing.assert_allclose(np.diag(covariance[:, :, a]), deviation[:, a] ** 2, rtol=1e-6)


def test_exact_process_against_its_formula(rng):
    """A ridge of nλ = σ² with the exact kernel is a Gaussian process with a known posterior."""
    X = rng.uniform(-1, 1, (30, 1))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=30)
    ridge = 0.3
    model = KernelRegressor("gaussian(0.5)", map="exact", penalty=ridge / 30, standardize=False, intercept=False).fit(X, y)
    Z = np.linspace(-1, 1, 7)[:, None]

    def kernel(a, b):
        return np.exp(-0.5 * (a - b.T) ** 2 / 0.5**2)

    posterior = kernel(Z, Z) - kernel(Z, X) @ np.linalg.solve(kernel(X, X) + ridge * np.eye(30), kernel(X, Z))
    _, covariance = model.predict(Z, return_cov=True, latent=True)
    np.testing.assert_allclose(covariance, posterior * model.model_.noise[0] / ridge, rtol=1e-8, atol=1e-12)


def test_choosing_where_to_look_next(rng):
    """Thompson sampling with the joint covariance finds the top of a function in 15 looks."""

    def f(x):
        return np.sin(5 * x) * (1 - x) + x

    grid = np.linspace(0, 1, 101)[:, None]
    X = np.array([[0.05], [0.5], [0.95]])
    for _ in range(15):
        model = KernelRegressor("gaussian(0.2)", map="exact", penalty=1e-4, standardize=False).fit(X, f(X[:, 0]))
        mean, covariance = model.predict(grid, return_cov=True, latent=True)
        draw = rng.multivariate_normal(mean, covariance, method="eigh")
        X = np.vstack([X, grid[[np.argmax(draw)]]])
    assert f(X[:, 0]).max() > f(grid[:, 0]).max() - 1e-2


def test_what_cannot_be_asked(wave):
    X, y = wave
    model = KernelRegressor(features=20, uncertainty="none").fit(X, y)
    with pytest.raises(ValueError, match="uncertainty"):
        model.predict(X[:3], return_cov=True)
    with pytest.raises(ValueError, match="not both"):
        model.predict(X[:3], return_std=True, return_cov=True)
    with pytest.raises(ValueError):
        model.predict(np.full((3, 2), np.nan), return_cov=True)
