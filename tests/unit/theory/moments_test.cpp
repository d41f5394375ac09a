#include "theory/moments.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "helpers.hpp"
#include "theory/orlicz.hpp"
#include "theory/small_matrix.hpp"

namespace mercer::test {
namespace {

/// E f(‖g‖), g ~ N(0, I_d): ∫ f(r) r^d e^{-r²/2} du with r = e^u, by the trapezoidal rule (no end points: double exponential
/// decay).
double chi_mean(int d, const std::function<double(double)>& f) {
  double top = 0;
  double bottom = 0;
  for (double u = -40; u < 5; u += 0.01) {
    const double r = std::exp(u);
    const double density = std::exp(d * u - r * r / 2);
    if (density == 0) continue;
    top += f(r) * density;
    bottom += density;
  }
  return top / bottom;
}

void expect_multiple_of_identity(const Matrix<double>& m, double factor) {
  for (Index i = 0; i < m.rows(); ++i) {
    for (Index j = 0; j < m.cols(); ++j) EXPECT_NEAR(m(i, j), i == j ? factor : 0, 1e-12 * factor) << i << j;
  }
}

TEST(Moments, gaussianClosedForms) {
  const double s = 0.7;
  for (Index d : {1, 2, 3, 4, 7}) {
    const RandomPart c = only_part(curl(gaussian({s})), d);
    const RandomPart v = only_part(divergence(gaussian({s})), d);
    const auto n = static_cast<double>(d);
    expect_multiple_of_identity(mean_operator(c, d), std::pow(s, -2));
    expect_multiple_of_identity(variance_operator(c, d), (n + 1) * std::pow(s, -4));
    expect_multiple_of_identity(mean_square_operator(c, d), (n + 2) * std::pow(s, -4));
    expect_multiple_of_identity(mean_operator(v, d), (n - 1) * std::pow(s, -2));
    expect_multiple_of_identity(variance_operator(v, d), 3 * (n - 1) * std::pow(s, -4));
    expect_multiple_of_identity(mean_square_operator(v, d), (n - 1) * (n + 2) * std::pow(s, -4));
    const double sixth = n * (n + 2) * (n + 4) * std::pow(s, -6);
    EXPECT_NEAR(lipschitz_moment(c, d) / sixth, 1, 1e-13);
    EXPECT_NEAR(lipschitz_moment(v, d), d == 1 ? 0 : sixth, 1e-12 * sixth);
    EXPECT_NEAR(sixth * std::pow(s, 6) / chi_mean(static_cast<int>(d), [](double r) { return std::pow(r, 6); }), 1, 1e-9);
  }
}

TEST(Moments, weightsScaleThem) {
  const RandomPart part = only_part(helmholtz(gaussian({1}), 0.25, 3), 3);
  // A = 3(¼ωωᵀ + ¾(‖ω‖²I - ωωᵀ)); E A = 3(¼ + ¾·2)I, E A² = 9(5/16 + 9/16·10)I.
  expect_multiple_of_identity(mean_operator(part, 3), 3 * 1.75);
  expect_multiple_of_identity(mean_square_operator(part, 3), 9 * (5.0 / 16 + 90.0 / 16));
  EXPECT_NEAR(lipschitz_moment(part, 3), 9 * 9.0 / 16 * 105, 1e-9);
}

TEST(Moments, decomposable) {
  const RandomPart part = only_part(decomposable(matern(1.5, {0.5, 2}), {{2, 1}, {1, 2}}, 0.5), 2);
  EXPECT_NEAR(operator_norm_factor(part), 1.5, 1e-14);
  // E‖ω‖² = ν/(ν-1) Σ ℓ⁻² = 3·4.25.
  EXPECT_NEAR(lipschitz_moment(part, 2), 2.25 * 3 * 4.25, 1e-12);
  EXPECT_EQ(symmetric_norm(variance_operator(part, 2)), 0);
}

/// Moments E ω^{2k}, k = 0…3, of one coordinate.
using Even = std::array<double, 4>;
Even normal(double s2) {
  return {1, s2, 3 * s2 * s2, 15 * s2 * s2 * s2};
}
Even laplace(double b) {
  return {1, 2 * b * b, 24 * std::pow(b, 4), 720 * std::pow(b, 6)};
}
Even shifted_normal(double m, double s2) {
  return {1, m * m + s2, std::pow(m, 4) + 6 * m * m * s2 + 3 * s2 * s2,
          std::pow(m, 6) + 15 * std::pow(m, 4) * s2 + 45 * m * m * s2 * s2 + 15 * s2 * s2 * s2};
}
Even add(const Even& a, const Even& b) {
  return {1, a[1] + b[1], a[2] + 6 * a[1] * b[1] + b[2], a[3] + 15 * a[2] * b[1] + 15 * a[1] * b[2] + b[3]};
}
/// E(Σ_i ω_i²)³ of independent coordinates, term by term.
double sixth_of(const std::vector<Even>& coordinates) {
  double sum = 0;
  for (std::size_t i = 0; i < coordinates.size(); ++i) {
    for (std::size_t j = 0; j < coordinates.size(); ++j) {
      for (std::size_t k = 0; k < coordinates.size(); ++k) {
        std::vector<std::size_t> power(coordinates.size(), 0);
        for (std::size_t index : {i, j, k}) ++power[index];
        double product = 1;
        for (std::size_t c = 0; c < power.size(); ++c) product *= coordinates[c][power[c]];
        sum += product;
      }
    }
  }
  return sum;
}

TEST(Moments, sixthOfIndependentCoordinates) {
  EXPECT_NEAR(sixth_moment({gaussian({0.5, 2, 1})}, 3), sixth_of({normal(4), normal(0.25), normal(1)}), 1e-10);
  EXPECT_NEAR(sixth_moment({cauchy({0.5, 2})}, 2), sixth_of({laplace(2), laplace(0.5)}), 1e-8);
  EXPECT_NEAR(sixth_moment({cauchy({0.5, 2}), gaussian({1, 0.8})}, 2),
              sixth_of({add(laplace(2), normal(1)), add(laplace(0.5), normal(1.5625))}), 1e-8);
  EXPECT_NEAR(sixth_moment({cauchy({0.5, 2}), gaussian({1, 0.8}), cauchy({1})}, 2),
              sixth_of({add(add(laplace(2), normal(1)), laplace(1)), add(add(laplace(0.5), normal(1.5625)), laplace(1))}),
              1e-8);
}

TEST(Moments, sixthOfMixtures) {
  const double w = 2 * std::numbers::pi;
  const Kernel k = mixture({1, 3}, {{0.1, -0.2}, {0, 0.3}}, {{0.2, 0.1}, {0.1, 0}});
  const auto even = [&](double m, double s) { return shifted_normal(w * m, w * w * s * s); };
  EXPECT_NEAR(sixth_moment({k}, 2),
              0.25 * sixth_of({even(0.1, 0.2), even(-0.2, 0.1)}) + 0.75 * sixth_of({even(0, 0.1), even(0.3, 0)}), 1e-9);
  EXPECT_NEAR(second_moment({k}, 2), w * w * (0.25 * (0.01 + 0.04 + 0.04 + 0.01) + 0.75 * (0.01 + 0.09)), 1e-12);
  // Mixture times Gaussian: the Gaussian widens each component.
  const auto wide = [&](double m, double s) { return shifted_normal(w * m, w * w * s * s + 1 / 0.49); };
  EXPECT_NEAR(sixth_moment({k, gaussian({0.7})}, 2),
              0.25 * sixth_of({wide(0.1, 0.2), wide(-0.2, 0.1)}) + 0.75 * sixth_of({wide(0, 0.1), wide(0.3, 0)}), 1e-8);
}

TEST(Moments, sixthOfScaleMixtures) {
  // ω | τ ~ N(0, τ): E τ, E τ², E τ³ against numerical integration over τ (rational quadratic) and 1/τ (Matérn).
  const auto gamma_mean = [](double shape, const std::function<double(double)>& f) {
    double top = 0;
    double bottom = 0;
    for (int i = 1; i < 200000; ++i) {
      const double g = i * 2e-4;
      const double density = std::pow(g, shape - 1) * std::exp(-shape * g);
      top += f(g) * density;
      bottom += density;
    }
    return top / bottom;
  };
  const double rq = gamma_mean(3, [](double tau) { return sixth_of({normal(tau / 0.25), normal(tau)}); });
  EXPECT_NEAR(sixth_moment({rational(3, {0.5, 1})}, 2) / rq, 1, 1e-6);
  const double student = gamma_mean(5.5, [](double g) { return sixth_of({normal(1 / g / 0.25), normal(1 / g)}); });
  EXPECT_NEAR(sixth_moment({matern(5.5, {0.5, 1})}, 2) / student, 1, 1e-6);
}

TEST(Moments, infiniteOnes) {
  EXPECT_TRUE(std::isinf(second_moment({laplacian({1})}, 2)));
  EXPECT_TRUE(std::isinf(second_moment({matern(1, {1})}, 2)));
  EXPECT_FALSE(std::isinf(second_moment({matern(1.1, {1})}, 2)));
  EXPECT_TRUE(std::isinf(sixth_moment({matern(3, {1})}, 2)));
  EXPECT_TRUE(std::isinf(sixth_moment({gaussian({1}), laplacian({1})}, 2)));
  const RandomPart part = only_part(curl(matern(1.5, {1})), 2);
  expect_multiple_of_identity(mean_operator(part, 2), 3);
  EXPECT_TRUE(std::isinf(symmetric_norm(variance_operator(part, 2))));
  EXPECT_TRUE(std::isinf(lipschitz_moment(part, 2)));
}

TEST(Orlicz, gaussianClosedFormAndDefinition) {
  for (int d : {1, 2, 3, 4, 9}) {
    const double s = 0.6;
    const double norm = *orlicz_norm(only_part(curl(gaussian({s})), d), d);
    EXPECT_NEAR(norm, 2 * std::pow(s, -2) / (1 - std::exp2(-2.0 / d)), 1e-13 * norm);
    // The definition: E exp(‖ω‖²/C) = 2.
    EXPECT_NEAR(chi_mean(d, [&](double r) { return std::exp(r * r / (s * s) / norm); }), 2, 1e-11);
  }
  EXPECT_NEAR(*orlicz_norm(only_part(helmholtz(gaussian({1}), 0.3, 2), 3), 3), 1.4 * 2 / (1 - std::exp2(-2.0 / 3)), 1e-12);
}

TEST(Orlicz, mixtureSolvesItsDefinition) {
  const double w = 2 * std::numbers::pi;
  const RandomPart part = only_part(curl(mixture({0.25, 0.75}, {{0.3}, {0.8}}, {{0.2}, {0.05}})), 1);
  const double norm = *orlicz_norm(part, 1);
  double sum = 0;
  for (int i = -40000; i <= 40000; ++i) {
    const double x = i * 2.5e-4;  // in standard deviations
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi) * 2.5e-4;
    sum += density * 0.25 * std::exp(std::pow(w * (0.3 + 0.2 * x), 2) / norm);
    sum += density * 0.75 * std::exp(std::pow(w * (0.8 + 0.05 * x), 2) / norm);
  }
  EXPECT_NEAR(sum, 2, 1e-9);
}

TEST(Orlicz, productOfMixturesUsesBothSigns) {
  // ω = ±a ± b: ‖ω‖² is (a+b)² or (a-b)², half each.
  const double w = 2 * std::numbers::pi;
  const RandomPart part = only_part(curl(times({mixture({1}, {{0.3}}, {{0}}), mixture({1}, {{0.1}}, {{0}})})), 1);
  const double norm = *orlicz_norm(part, 1);
  EXPECT_NEAR(0.5 * std::exp(std::pow(0.4 * w, 2) / norm) + 0.5 * std::exp(std::pow(0.2 * w, 2) / norm), 2, 1e-12);
}

TEST(Orlicz, boundedAndHeavy) {
  EXPECT_NEAR(*orlicz_norm(only_part(decomposable(laplacian({1}), {{2, 0}, {0, 1}}), 3), 3), 2 / std::numbers::ln2, 1e-14);
  for (const auto& kernel : {matern(4, {1}), rational(2, {1}), cauchy({1}), times({gaussian({1}), cauchy({1})})}) {
    std::string why;
    EXPECT_FALSE(orlicz_norm(only_part(curl(kernel), 2), 2, &why));
    EXPECT_NE(why.find("exponential moments"), std::string::npos);
  }
  const std::vector<double> ones(80, 1.0);
  const std::vector<std::vector<double>> rows(80, {1.0});
  std::string why;
  EXPECT_FALSE(orlicz_norm(only_part(curl(times({mixture(ones, rows, rows), mixture(ones, rows, rows)})), 1), 1, &why));
  EXPECT_NE(why.find("components"), std::string::npos);
}

}  // namespace
}  // namespace mercer::test
