#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include "base/random.hpp"
#include "helpers.hpp"
#include "kernel/evaluate.hpp"
#include "theory/bounds.hpp"
#include "theory/moments.hpp"
#include "theory/small_matrix.hpp"

namespace mercer::test {
namespace {

/// |b(δ) - ‖mean of X²‖| ≤ ‖difference‖_F, X = cos⟨ω,δ⟩A - K(δ) over `count` draws. Each entry of the mean is within 6.5 of
/// its standard errors except with probability 1e-10 (normal), so a call fails wrongly with probability below 2e-9.
void expect_variance_of_draws(const OperatorKernel& kernel, const std::vector<double>& delta, std::uint64_t seed,
                              Index count = 100000) {
  const auto d = static_cast<Index>(delta.size());
  const RandomPart part = only_part(kernel, d);
  const Index p = part.field ? d : part.outputs.rows();
  const Matrix<double> omega = frequencies(part, d, count, seed);
  Matrix<double> k(p, p);
  value(kernel, delta, std::vector<double>(delta.size(), 0.0), k);
  Matrix<double> sum(p, p);
  Matrix<double> squares(p, p);
  for (Index j = 0; j < count; ++j) {
    double phase = 0;
    for (Index i = 0; i < d; ++i) phase += omega(j, i) * delta[i];
    Matrix<double> x = operator_of(part, omega.row(j));
    for (double& e : x.values()) e *= std::cos(phase);
    add_scaled(x, -1, k);
    const Matrix<double> x2 = product(x, x);
    for (Index i = 0; i < p * p; ++i) {
      sum.data()[i] += x2.data()[i] / static_cast<double>(count);
      squares.data()[i] += x2.data()[i] * x2.data()[i] / static_cast<double>(count);
    }
  }
  double error = 0;
  for (Index i = 0; i < p * p; ++i) {
    error += 6.5 * 6.5 * (squares.data()[i] - sum.data()[i] * sum.data()[i]) / static_cast<double>(count);
  }
  EXPECT_NEAR(pointwise_variance(kernel, delta), symmetric_norm(sum), std::sqrt(error)) << to_string(kernel);
}

const std::vector<std::vector<double>> places{{0.4, -0.3}, {0.7, 0.2, -0.5}, {0.3, -0.2, 0.6, 0.1}};

TEST(Variance, matchesDrawsOfGaussianKernels) {
  std::uint64_t seed = 1;
  for (const auto& delta : places) {
    expect_variance_of_draws(curl(gaussian({0.9})), delta, seed++);
    expect_variance_of_draws(divergence(gaussian({0.9})), delta, seed++);
    expect_variance_of_draws(helmholtz(gaussian({0.9}), 0.3, 2), delta, seed++);
    expect_variance_of_draws(decomposable(gaussian({0.9}), {{2, 0.5}, {0.5, 1}}, 1.5), delta, seed++);
  }
  expect_variance_of_draws(curl(gaussian({0.9, 2})), places[0], seed++);
  expect_variance_of_draws(helmholtz(gaussian({0.9, 2, 1.3}), 0.6), places[1], seed++);
}

TEST(Variance, matchesDrawsOfOtherKernels) {
  const Kernel wave = mixture({1, 2}, {{0.1, 0.2}, {0.05, -0.15}}, {{0.1, 0.2}, {0.15, 0.05}});
  expect_variance_of_draws(curl(rational(2, {1})), places[0], 50);
  expect_variance_of_draws(divergence(cauchy({1.5})), places[1], 51);
  expect_variance_of_draws(helmholtz(matern(9.5, {1, 1.4}), 0.5), places[0], 52);
  expect_variance_of_draws(curl(wave), places[0], 53);
  expect_variance_of_draws(divergence(times({wave, gaussian({1.2})})), places[0], 54);
  expect_variance_of_draws(scalar(laplacian({1})), places[1], 55);
  expect_variance_of_draws(scalar(wave), places[0], 56);
}

TEST(Variance, decomposableClosedForm) {
  const double k = std::exp(-0.5 * 0.25);
  const double k2 = std::exp(-0.5);
  const double exact = 0.5 * 9 * (1 + k2 - 2 * k * k);
  const auto kernel = decomposable(gaussian({1}), {{1.5, 0}, {0, 0.2}}, 2);
  EXPECT_NEAR(pointwise_variance(kernel, std::vector<double>{0.3, 0.4}), exact, 1e-13);
  EXPECT_NEAR(proposition_bound(kernel, std::vector<double>{0.3, 0.4}), exact, 1e-13);
  EXPECT_EQ(pointwise_variance(kernel, std::vector<double>{0, 0}), 0);
}

TEST(Variance, fieldAtZeroIsTheVarianceOfA) {
  const std::vector<double> zero(3, 0.0);
  EXPECT_NEAR(pointwise_variance(curl(gaussian({0.5})), zero), 4 * 16, 1e-11);
  EXPECT_NEAR(pointwise_variance(divergence(gaussian({0.5})), zero), 6 * 16, 1e-11);
}

TEST(Variance, ofASumAddsOverShares) {
  // D·Var with D_t = share_t·D: parts of weights 3 and 1 have shares ¾ and ¼.
  const std::vector<double> delta{0.3, -0.6};
  const auto a = curl(gaussian({1}), 3);
  const auto b = scalar(gaussian({0.5}), 1);
  const double va = pointwise_variance(b, delta);
  Matrix<double> expected(2, 2);
  // Rebuild the matrix of the curl-free part from its two eigenvalues: along δ, and across.
  const double x = 0.45;
  const auto along = [](double y) {
    return std::exp(-y / 2) * (y * y - 7 * y + 4);
  };  // eigenvalue of T along δ, d = 2, y = ‖δ‖²
  const auto across = [](double y) { return std::exp(-y / 2) * (4 - y); };  // and across
  const double k_along = std::exp(-x / 2) * (1 - x);
  const double k_across = std::exp(-x / 2);
  const double v_along = 9 * (0.5 * (along(4 * x) + 4) - k_along * k_along);
  const double v_across = 9 * (0.5 * (across(4 * x) + 4) - k_across * k_across);
  EXPECT_NEAR(pointwise_variance(a, delta), std::max(v_along, v_across), 1e-12);
  EXPECT_NEAR(pointwise_variance(sum(a, b), delta), std::max(v_along, v_across) / 0.75 + va / 0.25, 1e-12);
}

TEST(Variance, explicitPartsAreExact) {
  const std::vector<double> delta{0.3, -0.6};
  const auto g = scalar(gaussian({1}));
  EXPECT_DOUBLE_EQ(pointwise_variance(sum(g, scalar(Kernel{Linear{}})), delta), pointwise_variance(g, delta));
  EXPECT_EQ(pointwise_variance(scalar(Kernel{Polynomial{2, 1}}), delta), 0);
  EXPECT_THROW(pointwise_variance(scalar(times({gaussian({1}), Kernel{Linear{}}})), delta), Error);
}

TEST(Variance, heavyTailsMakeItInfinite) {
  const std::vector<double> delta{0.3, -0.6};
  EXPECT_TRUE(std::isinf(pointwise_variance(curl(matern(1.5, {1})), delta)));
  EXPECT_TRUE(std::isinf(proposition_bound(curl(matern(2, {1})), delta)));
  EXPECT_FALSE(std::isinf(pointwise_variance(curl(matern(2.1, {1})), delta)));
}

/// ½‖(K(2δ)+K(0))E[A] - 2K(δ)²‖ + ‖V[A]‖, the proposition as printed, for one input.
double printed_proposition(const OperatorKernel& kernel, double delta) {
  const RandomPart part = only_part(kernel, 1);
  const auto k = [&](double x) {
    Matrix<double> block(1, 1);
    value(kernel, std::vector<double>{x}, std::vector<double>{0}, block);
    return block(0, 0);
  };
  const double mean = mean_operator(part, 1)(0, 0);
  return 0.5 * std::abs((k(2 * delta) + k(0)) * mean - 2 * k(delta) * k(delta)) + variance_operator(part, 1)(0, 0);
}

TEST(Proposition, isAnUpperBoundEverywhere) {
  const Stream stream(7, "proposition");
  const Kernel wave = mixture({1, 2}, {{0.5, 0.9}, {0.3, -0.4}}, {{0.01, 0.02}, {0.05, 0.05}});
  std::vector<OperatorKernel> kernels{curl(wave), divergence(wave), helmholtz(wave, 0.4)};
  for (const auto& k : {gaussian({0.7}), gaussian({0.7, 1.9}), matern(2.5, {1}), rational(0.5, {1}), cauchy({0.8})}) {
    kernels.push_back(curl(k));
    kernels.push_back(divergence(k));
    kernels.push_back(helmholtz(k, 0.3));
    kernels.push_back(sum(curl(k, 0.4), scalar(k, 2)));
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    for (std::uint64_t j = 0; j < 300; ++j) {
      const double length = 0.01 + 0.02 * static_cast<double>(j);
      const std::vector<double> delta{length * stream.normal(i, 2 * j), length * stream.normal(i, 2 * j + 1)};
      const double exact = pointwise_variance(kernels[i], delta);
      EXPECT_GE(proposition_bound(kernels[i], delta), exact * (1 - 1e-12)) << to_string(kernels[i]) << ' ' << j;
    }
  }
}

TEST(Proposition, asPrintedFailsForANarrowSpectrum) {
  const auto kernel = curl(mixture({1}, {{1}}, {{0.02}}));
  double worst = 0;
  for (int i = 1; i < 2000; ++i) {
    const double delta = i * 0.005;
    const double exact = pointwise_variance(kernel, std::vector<double>{delta});
    worst = std::max(worst, exact / printed_proposition(kernel, delta));
    EXPECT_GE(proposition_bound(kernel, std::vector<double>{delta}), exact * (1 - 1e-12));
  }
  EXPECT_GT(worst, 1.8);
}

}  // namespace
}  // namespace mercer::test
