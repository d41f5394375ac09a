"""mercer gram: every kernel against its formula in numpy, scipy or mpmath, to 1e-12."""

import mpmath as mp
import numpy as np
import pytest
from conftest import write_csv
from scipy.special import gamma, kv

ARD = np.array([0.6, 1.7])
MIXTURE = "spectral_mixture([0.7, 0.3], [[0.2, 0.1], [0.5, -0.4]], [[0.3, 0.2], [0.1, 0.25]])"


def radial(delta, scale):
    return np.sqrt(((delta / scale) ** 2).sum(-1))


def matern(delta, scale, nu):
    r = np.sqrt(2 * nu) * radial(delta, scale)
    safe = np.where(r == 0, 1, r)
    return np.where(r == 0, 1, 2 ** (1 - nu) / gamma(nu) * safe**nu * kv(nu, safe))


def mixture(delta):
    total = 0
    for w, mean, scale in [(0.7, [0.2, 0.1], [0.3, 0.2]), (0.3, [0.5, -0.4], [0.1, 0.25])]:
        total = total + w * np.cos(2 * np.pi * delta @ mean) * np.exp(-2 * np.pi**2 * (delta**2 @ np.square(scale)))
    return total


SHIFT_INVARIANT = {
    "gaussian(0.7)": lambda d: np.exp(-0.5 * radial(d, 0.7) ** 2),
    "gaussian([0.6, 1.7])": lambda d: np.exp(-0.5 * radial(d, ARD) ** 2),
    "matern(0.8, nu=0.5)": lambda d: np.exp(-radial(d, 0.8)),
    "matern(0.8)": lambda d: (1 + np.sqrt(3) * radial(d, 0.8)) * np.exp(-np.sqrt(3) * radial(d, 0.8)),
    "matern([0.6, 1.7], nu=2.5)": lambda d: matern(d, ARD, 2.5),
    "matern(1.1, nu=0.8)": lambda d: matern(d, 1.1, 0.8),
    "matern(1.1, nu=3.7)": lambda d: matern(d, 1.1, 3.7),
    "laplacian(0.9)": lambda d: np.exp(-np.abs(d).sum(-1) / 0.9),
    "laplacian([0.6, 1.7])": lambda d: np.exp(-(np.abs(d) / ARD).sum(-1)),
    "cauchy([0.6, 1.7])": lambda d: (1 / (1 + (d / ARD) ** 2)).prod(-1),
    "rational_quadratic(0.9)": lambda d: 1 / (1 + radial(d, 0.9) ** 2 / 2),
    "rational_quadratic([0.6, 1.7], alpha=2.3)": lambda d: (1 + radial(d, ARD) ** 2 / 4.6) ** -2.3,
    MIXTURE: mixture,
    "0.5*gaussian(1) + 2*laplacian(2)": lambda d: 0.5 * np.exp(-0.5 * radial(d, 1) ** 2) + 2 * np.exp(-np.abs(d).sum(-1) / 2),
    "gaussian(1)*cauchy(2)": lambda d: np.exp(-0.5 * radial(d, 1) ** 2) * (1 / (1 + (d / 2) ** 2)).prod(-1),
}
OF_BOTH = {
    "linear()": lambda x, z: x @ z.T,
    "polynomial(2)": lambda x, z: (x @ z.T + 1) ** 2,
    "polynomial(degree=3, offset=0.5)": lambda x, z: (x @ z.T + 0.5) ** 3,
    "gaussian(1)*linear() + 0.1*polynomial(2)": lambda x, z: np.exp(-0.5 * radial(differences(x, z), 1) ** 2) * (x @ z.T)
    + 0.1 * (x @ z.T + 1) ** 2,
}
OPERATORS = ["decomposable(gaussian(0.7), [[2, 0.5], [0.5, 1]])", "curl_free(gaussian(0.7))", "divergence_free(matern(1, nu=2.5))",
             "helmholtz(rational_quadratic(1), 0.3)", "curl_free(gaussian(1)) + decomposable(laplacian(1), [[1, 0], [0, 2]])"]


def differences(x, z):
    return x[:, None, :] - z[None, :, :]


@pytest.fixture
def points(tmp_path):
    """12 and 9 points in the plane; one of them in both."""
    random = np.random.default_rng(10)
    x, z = random.normal(size=(12, 2)), random.normal(size=(9, 2))
    z[4] = x[7]
    write_csv(tmp_path / "x.csv", ["p", "q"], x.T)
    write_csv(tmp_path / "z.csv", ["p", "q"], z.T)
    return x, z


@pytest.fixture
def gram(run, tmp_path):
    def call(kernel, *options, files=("x.csv", "z.csv")):
        j = run("gram", *files, "--kernel", kernel, *options, "-o", "k.npy", "--json").json
        assert set(j) == {"rows", "cols", "kernel", "map", "gram"} and j["gram"] == "k.npy"
        k = np.load(tmp_path / "k.npy")
        assert k.shape == (j["rows"], j["cols"]) and k.dtype == np.float64
        return k

    return call


def near(actual, expected, tolerance=1e-12):
    assert np.abs(actual - expected).max() <= tolerance * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("kernel", SHIFT_INVARIANT)
def test_shift_invariant(gram, points, kernel):
    x, z = points
    near(gram(kernel), SHIFT_INVARIANT[kernel](differences(x, z)))
    near(gram(kernel, files=["x.csv"]), SHIFT_INVARIANT[kernel](differences(x, x)))


@pytest.mark.parametrize("kernel", OF_BOTH)
def test_not_shift_invariant(gram, points, kernel):
    near(gram(kernel), OF_BOTH[kernel](*points))


def test_median_is_the_median_distance(run, points, tmp_path):
    x, _ = points
    distances = np.sqrt((differences(x, x) ** 2).sum(-1))[np.triu_indices(12, 1)]
    kernel = run("gram", "x.csv", "-o", "k.npy", "--json").json["kernel"]
    scale = float(kernel.removeprefix("gaussian(").removesuffix(")"))
    below, above = np.sort(distances)[32:34]  # of 66: either of the two in the middle
    assert below * (1 - 1e-12) <= scale <= above * (1 + 1e-12)


# --- operator-valued kernels ------------------------------------------------------------------------------------------


def layout(blocks):
    """(n, m, p, p) to (n·p) × (m·p)."""
    n, m, p, _ = blocks.shape
    return blocks.transpose(0, 2, 1, 3).reshape(n * p, m * p)


def test_layout_of_decomposable(gram, points):
    x, z = points
    a = np.array([[2, 0.5, 0], [0.5, 1, -0.3], [0, -0.3, 1]])
    k = gram("decomposable(laplacian(0.9), [[2, 0.5, 0], [0.5, 1, -0.3], [0, -0.3, 1]])")
    assert k.shape == (36, 27)
    near(k, np.kron(np.exp(-np.abs(differences(x, z)).sum(-1) / 0.9), a))


def test_quantile_outputs(gram, points):
    x, z = points
    tau = np.array([0.1, 0.5, 0.9])
    k = gram("decomposable(gaussian(1), quantile([0.1, 0.5, 0.9], gamma=2))")
    near(k, np.kron(np.exp(-0.5 * radial(differences(x, z), 1) ** 2), np.exp(-2 * (tau[:, None] - tau) ** 2)))


def closed_gaussian(x, z, s):
    d = differences(x, z)
    outer = d[..., :, None] * d[..., None, :]
    k = np.exp(-0.5 * radial(d, s) ** 2)[..., None, None]
    curl = (np.eye(2) - outer / s**2) / s**2 * k
    divergence = (outer / s**4 + (1 / s**2 - (d**2).sum(-1)[..., None, None] / s**4) * np.eye(2)) * k
    return layout(curl), layout(divergence)


def test_fields_of_a_gaussian(gram, points):
    """The closed forms of THEORY 2."""
    curl, divergence = closed_gaussian(*points, 0.7)
    near(gram("curl_free(gaussian(0.7))"), curl)
    near(gram("divergence_free(gaussian(0.7))"), divergence)
    near(gram("helmholtz(gaussian(0.7), 0.3)"), 0.3 * curl + 0.7 * divergence)
    near(gram("helmholtz(gaussian(0.7))"), 0.5 * (curl + divergence))
    near(gram("2*curl_free(gaussian(0.7)) + 0.5*divergence_free(gaussian(0.7))"), 2 * curl + 0.5 * divergence)


def scaled_square(a, b, scale):
    return (a / mp.mpf(scale[0])) ** 2 + (b / mp.mpf(scale[1])) ** 2


def mp_matern(a, b, nu):
    r = mp.sqrt(2 * nu * scaled_square(a, b, ("0.6", "1.7")))
    return 2 ** (1 - nu) / mp.gamma(nu) * r**nu * mp.besselk(nu, r)


def mp_mixture(a, b):
    total = mp.mpf(0)
    for w, mean, scale in [("0.7", ("0.2", "0.1"), ("0.3", "0.2")), ("0.3", ("0.5", "-0.4"), ("0.1", "0.25"))]:
        m, s = [mp.mpf(v) for v in mean], [mp.mpf(v) for v in scale]
        total += mp.mpf(w) * mp.cos(2 * mp.pi * (a * m[0] + b * m[1])) * mp.exp(-2 * mp.pi**2 * ((a * s[0]) ** 2 + (b * s[1]) ** 2))
    return total


MP_KERNELS = {
    "gaussian([0.6, 1.7])": lambda a, b: mp.exp(-scaled_square(a, b, ("0.6", "1.7")) / 2),
    "matern([0.6, 1.7], nu=2.5)": lambda a, b: mp_matern(a, b, mp.mpf("2.5")),
    "matern([0.6, 1.7], nu=1.3)": lambda a, b: mp_matern(a, b, mp.mpf("1.3")),
    "cauchy([0.6, 1.7])": lambda a, b: 1 / (1 + (a / mp.mpf("0.6")) ** 2) / (1 + (b / mp.mpf("1.7")) ** 2),
    "rational_quadratic([0.6, 1.7], alpha=2.3)": lambda a, b: (1 + scaled_square(a, b, ("0.6", "1.7")) / mp.mpf("4.6")) ** mp.mpf("-2.3"),
    MIXTURE: mp_mixture,
    "gaussian(1)*rational_quadratic(2)": lambda a, b: mp.exp(-(a**2 + b**2) / 2) / (1 + (a**2 + b**2) / 8),
}


@pytest.mark.parametrize("kernel", MP_KERNELS)
def test_fields_are_second_derivatives(gram, tmp_path, kernel):
    """curl_free = -∇∇ᵀk, divergence_free = ∇∇ᵀk - IΔk, differentiated numerically with 40 digits."""
    random = np.random.default_rng(11)
    x, z = random.normal(size=(3, 2)), random.normal(size=(2, 2))
    write_csv(tmp_path / "x.csv", ["p", "q"], x.T)
    write_csv(tmp_path / "z.csv", ["p", "q"], z.T)
    hessian = np.empty((3, 2, 2, 2))
    with mp.workdps(40):
        for i in range(3):
            for j in range(2):
                at = tuple(mp.mpf(float(u)) - mp.mpf(float(v)) for u, v in zip(x[i], z[j]))
                for order, (a, b) in {(2, 0): (0, 0), (1, 1): (0, 1), (0, 2): (1, 1)}.items():
                    hessian[i, j, a, b] = hessian[i, j, b, a] = float(mp.diff(MP_KERNELS[kernel], at, order))
    laplace = np.trace(hessian, axis1=2, axis2=3)[..., None, None] * np.eye(2)
    near(gram(f"curl_free({kernel})"), layout(-hessian))
    near(gram(f"divergence_free({kernel})"), layout(hessian - laplace))


@pytest.mark.parametrize("nu", [1.5, 2.5, 3.2])
def test_matern_field_at_distance_zero(gram, tmp_path, nu):
    """-∇∇ᵀk(0) = ν/(ν-1) ℓ⁻² I."""
    write_csv(tmp_path / "x.csv", ["p", "q"], [[0.3], [0.4]])
    near(gram(f"curl_free(matern(0.7, nu={nu}))", files=["x.csv"]), nu / (nu - 1) / 0.49 * np.eye(2))


@pytest.mark.parametrize("kernel", [*SHIFT_INVARIANT, *OF_BOTH, *OPERATORS])
@pytest.mark.parametrize("feature_map", ["exact", "fourier:7"])
def test_positive_semi_definite(gram, points, kernel, feature_map):
    k = gram(kernel, "--map", feature_map, files=["x.csv"])
    assert np.abs(k - k.T).max() <= 1e-12 * np.abs(k).max()
    values = np.linalg.eigvalsh(k)
    assert values[0] >= -1e-10 * values[-1]


# --- approximate maps -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", ["mc", "orthogonal", "qmc"])
@pytest.mark.parametrize("kernel", ["gaussian(0.7)", "matern(0.8)", "laplacian(0.9)", "cauchy([0.6, 1.7])",
                                    "rational_quadratic(0.9, alpha=2)", MIXTURE])
def test_scalar_features_obey_hoeffding(gram, points, kernel, sampling):
    """|mean of D cosines - k| < √(2 log(2·pairs/1e-9)/D) for all pairs, with probability 1 - 1e-9 at least (bounded by 1)."""
    if sampling == "orthogonal" and kernel.startswith(("laplacian", "cauchy")):
        pytest.skip("refused: turning these frequencies would change their law")
    exact = gram(kernel)
    for d in [100, 10_000]:
        bound = np.sqrt(2 * np.log(2 * exact.size / 1e-9) / d)
        assert np.abs(gram(kernel, "--map", f"fourier:{d},{sampling}") - exact).max() < bound


@pytest.mark.parametrize("kernel", ["gaussian(0.7)", "curl_free(gaussian(0.7))", "divergence_free(gaussian(0.7))",
                                    "helmholtz(gaussian(0.7), 0.3)", "decomposable(gaussian(0.7), [[2, 0.5], [0.5, 1]])",
                                    "gaussian(1) + linear()", "0.5*gaussian(1) + 2*cauchy(2)", "gaussian(1)*cauchy(2)"])
def test_error_falls_with_more_frequencies(gram, points, kernel):
    """Root mean square over seeds at D = 50 against 5000: a hundredth of the variance, so a tenth of the error; half of that gain."""
    exact = gram(kernel)

    def error(d):
        squares = [np.mean((gram(kernel, "--map", f"fourier:{d},mc", "--seed", s) - exact) ** 2) for s in range(3)]
        return np.sqrt(np.mean(squares)) / np.abs(exact).max()

    few, many = error(50), error(5000)
    assert many < few / 5 and many < 0.02


def test_finite_dimensional_kernels_are_exact_under_a_fourier_map(gram, points):
    for kernel in ["linear()", "polynomial(2)", "polynomial(3, offset=0.5)"]:
        near(gram(kernel, "--map", "fourier:3"), gram(kernel), 1e-12)


def test_seed_and_inputs(run, gram, points, tmp_path):
    one, same, other = (gram("gaussian(1)", "--map", "fourier:20", "--seed", s) for s in [1, 1, 2])
    assert (one == same).all() and (one != other).any()
    x, z = points
    near(gram("gaussian(1)", "--inputs", "q"), np.exp(-0.5 * differences(x[:, 1:], z[:, 1:])[..., 0] ** 2))
    assert "12 x 9 values of gaussian(1), exact" in run("gram", "x.csv", "z.csv", "--kernel", "gaussian(1)", "-o", "k.npy").out
