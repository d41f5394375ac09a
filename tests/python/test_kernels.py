"""Kernels: text form, algebra, parameters, Gram matrices."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.gaussian_process.kernels import Matern as PeerMatern
from sklearn.model_selection import GridSearchCV

from mercer import KernelRegressor, _core, kernels
from mercer.kernels import (
    Cauchy,
    CurlFree,
    Decomposable,
    DivergenceFree,
    Gaussian,
    Graph,
    Helmholtz,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    QuantileCoupling,
    RationalQuadratic,
    SpectralMixture,
    parse,
)

TEXTS = {
    "gaussian(0.3)": Gaussian(0.3),
    "gaussian([1, 2])": Gaussian([1, 2]),
    "gaussian(median)": Gaussian(),
    "laplacian(1)": Laplacian(1),
    "cauchy(2)": Cauchy(2),
    "matern(1, nu=2.5)*gaussian(2)": Matern(1, nu=2.5) * Gaussian(2),
    "rational_quadratic(1, alpha=2)": RationalQuadratic(1, alpha=2),
    "2*(gaussian(1) + linear())": 2 * (Gaussian(1) + Linear()),
    "0.5*gaussian(1) + polynomial(degree=3, offset=2)": Gaussian(1) * 0.5 + Polynomial(3, 2),
    "spectral_mixture(weights=[1, 2], means=[0.1, 0.2], scales=[1, 1])": SpectralMixture([1, 2], [0.1, 0.2], [1, 1]),
    "decomposable(gaussian(1), [[2, 0.5], [0.5, 1]])": Decomposable(Gaussian(1), [[2, 0.5], [0.5, 1]]),
    "decomposable(gaussian(1), covariance)": Decomposable(Gaussian(1), "covariance"),
    "decomposable(gaussian(1), quantile([0.1, 0.9], gamma=2))": Decomposable(Gaussian(1), QuantileCoupling([0.1, 0.9], 2)),
    'decomposable(gaussian(1), graph("a b.csv", 0.5))': Decomposable(Gaussian(1), Graph("a b.csv", 0.5)),
    "helmholtz(gaussian(0.3), 0.5) + 0.1*curl_free(gaussian(1))": Helmholtz(Gaussian(0.3)) + 0.1 * CurlFree(Gaussian(1)),
    "divergence_free(gaussian(1))": DivergenceFree(Gaussian(1)),
}


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_the_command_lines(text):
    kernel = TEXTS[text]
    assert _core.canonical_kernel(str(kernel)) == _core.canonical_kernel(text)
    assert parse(text) == kernel
    assert clone(kernel) == kernel


@pytest.mark.parametrize(
    ("kernel", "peer"),
    [
        (Gaussian(0.7), RBF(0.7)),
        (Gaussian([0.5, 2.0, 1.0]), RBF([0.5, 2.0, 1.0])),
        (Matern(0.8, nu=2.5), PeerMatern(0.8, nu=2.5)),
        (Linear(), DotProduct(sigma_0=0)),
        (2.0 * Gaussian(1) + Linear(), 2.0 * RBF(1) + DotProduct(sigma_0=0)),
        (Gaussian(1) * Matern(2.0, nu=1.5), RBF(1) * PeerMatern(2.0, nu=1.5)),
    ],
    ids=str,
)
def test_gram_equals_scikit_learns(kernel, peer, rng):
    X, Z = rng.normal(size=(20, 3)), rng.normal(size=(15, 3))
    np.testing.assert_allclose(kernel(X, Z), peer(X, Z), atol=1e-12)
    np.testing.assert_allclose(kernel(X), peer(X), atol=1e-12)


def test_curl_free_gram_is_minus_the_hessian(rng):
    X = rng.normal(size=(4, 2))
    gram = CurlFree(Gaussian(1.0))(X).reshape(4, 2, 4, 2)
    step = 1e-4
    kernel = Gaussian(1.0)
    for i, j in [(0, 1), (2, 3), (1, 1)]:
        for a in range(2):
            for b in range(2):
                moved = [kernel(X[i : i + 1] + s * step * np.eye(2)[a], X[j : j + 1] + t * step * np.eye(2)[b])[0, 0]
                         for s in (1, -1) for t in (1, -1)]  # ∂²k/∂x_a∂z_b = -∂²k/∂δ_a∂δ_b
                mixed = (moved[0] - moved[1] - moved[2] + moved[3]) / (4 * step**2)
                assert gram[i, a, j, b] == pytest.approx(mixed, abs=1e-6)


def test_parameters_are_seen_by_a_grid_search(wave):
    X, y = wave
    estimator = KernelRegressor(kernel=0.5 * Gaussian(1.0) + Linear(), features=50)
    names = estimator.get_params()
    assert names["kernel__left__kernel__length_scale"] == 1.0
    search = GridSearchCV(estimator, {"kernel__left__kernel__length_scale": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_["kernel__left__kernel__length_scale"] == 1.0
    assert estimator.kernel.left.kernel.length_scale == 1.0  # clones were changed, not this one


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: parse("gausian(1)"), "did you mean 'gaussian'"),
        (lambda: KernelRegressor(kernel=Gaussian(-1)).fit([[1.0], [2.0]], [1, 2]), "> 0"),
        (lambda: KernelRegressor(kernel=3).fit([[1.0], [2.0]], [1, 2]), "mercer.kernels"),
        (lambda: Gaussian().set_params(width=2), "no parameter 'width'"),
        (lambda: CurlFree(Laplacian(1))([[1.0, 2.0]]), "laplacian"),
    ],
)
def test_mistakes_are_told_in_one_line(make, says):
    with pytest.raises(ValueError, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_adding_a_number_is_a_type_error():
    with pytest.raises(TypeError):
        Gaussian() + 1  # noqa: B018


@pytest.mark.parametrize(
    "text",
    [
        "gaussian(median)",
        "0.5*matern([1, 2], nu=2.5)*linear()*cauchy(3) + polynomial(3)",
        "(gaussian(1) + linear())*gaussian(2)",
        "gaussian(1)*(2*linear())",
        "2*(gaussian(1) + linear())",
        "rational_quadratic(2, alpha=0.5) + laplacian(1e-3)",
        "spectral_mixture(weights=[1, 2], means=[0.1, -0.2], scales=[1e-5, 1])",
        "decomposable(gaussian(1), covariance)",
        "decomposable(gaussian(1), [[1, 0.5], [0.5, 1]])",
        'decomposable(gaussian(1), graph("a \\"b\\".csv", 0.5))',
        "decomposable(gaussian(1), quantile([0.1, 0.9], gamma=2))",
        "2*curl_free(gaussian(1)) + 0.1*divergence_free(matern(1, nu=2.5))",
        "helmholtz(gaussian(median), 0.3)",
    ],
)
def test_text_becomes_objects(text):
    kernel = kernels.parse(text)
    assert type(kernel).__module__ == "mercer.kernels"
    assert _core.canonical_kernel(str(kernel)) == _core.canonical_kernel(text)
    assert eval(repr(kernel), vars(kernels)) == kernel


def test_kernels_sum():
    parts = [kernels.Gaussian(1.0), kernels.Linear(), kernels.Cauchy(2.0)]
    assert sum(parts) == parts[0] + parts[1] + parts[2]
    with pytest.raises(TypeError):
        3 + parts[0]


def test_parameters_of_a_kernel_given_as_text(wave):
    X, y = wave
    model = KernelRegressor(features=30)
    assert model.get_params()["kernel__length_scale"] == "median"
    search = GridSearchCV(model, {"kernel__length_scale": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"kernel__length_scale": 1.0}
    assert search.best_estimator_.kernel_ == "gaussian(1)"
    assert model.kernel == "gaussian(median)"
    both = KernelRegressor().set_params(kernel="matern(1, nu=2.5)", kernel__nu=1.5)
    assert both.kernel == kernels.Matern(1, nu=1.5)
    with pytest.raises(ValueError, match="Linear has no parameter 'length_scale'"):
        KernelRegressor("linear()").set_params(kernel__length_scale=1.0)
    assert "kernel__length_scale" not in KernelRegressor("no such kernel").get_params()
