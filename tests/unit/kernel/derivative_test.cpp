#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <cmath>
#include <set>

#include "kernel/evaluate.hpp"
#include "unit/kernel/kernel_reference.hpp"
#include "unit/kernel/kernel_samples.hpp"

namespace mercer {
namespace {

using reference::Real;

constexpr Real step = 5e-3L;

struct Pair {
  std::vector<double> x;
  std::vector<double> z;
};

/// Pairs whose differences stay at least 0.2 from 0 in every input, where all kernels are smooth.
std::vector<Pair> pairs(std::uint64_t seed, int count) {
  std::mt19937_64 engine(seed);
  std::vector<Pair> result;
  while (static_cast<int>(result.size()) < count) {
    Pair pair{samples::normals(engine, 3), samples::normals(engine, 3)};
    bool far = true;
    for (std::size_t i = 0; i < 3; ++i) far = far && std::abs(pair.x[i] - pair.z[i]) > 0.2;
    if (far) result.push_back(pair);
  }
  return result;
}

/// Scale of what is differentiated, for tolerances: 1, or the size of an unbounded kernel.
double magnitude(const Kernel& kernel, const Pair& pair) {
  return std::max(1.0, std::abs(value(kernel, pair.x, pair.z)));
}

TEST(KernelDerivative, InputGradientMatchesDifferences) {
  for (const std::string& text : samples::scalar_texts()) {
    const Kernel kernel = samples::scalar(text);
    for (const Pair& pair : pairs(5, 5)) {
      std::vector<double> gradient(3, 99);
      input_gradient(kernel, pair.x, pair.z, gradient);
      for (std::size_t i = 0; i < 3; ++i) {
        const auto along = [&](Real t) {
          auto x = reference::widen(pair.x);
          x[i] += t;
          return reference::value(kernel, x, reference::widen(pair.z));
        };
        const auto expected = static_cast<double>(reference::derivative(along, step));
        EXPECT_NEAR(gradient[i], expected, 1e-11 * magnitude(kernel, pair)) << text << " input " << i;
      }
    }
  }
}

TEST(KernelDerivative, HessianMatchesDifferences) {
  for (const std::string& text : samples::scalar_texts()) {
    const Kernel kernel = samples::scalar(text);
    if (!is_shift_invariant(kernel)) continue;
    for (const Pair& pair : pairs(6, 2)) {
      Matrix<double> hessian(3, 3);
      shift_hessian(kernel, pair.x, pair.z, hessian);
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
          const auto along = [&](Real t) {
            return reference::derivative(
                [&](Real u) {
                  auto x = reference::widen(pair.x);
                  x[i] += t;
                  x[j] += u;
                  return reference::value(kernel, x, reference::widen(pair.z));
                },
                step);
          };
          const auto expected = static_cast<double>(reference::derivative(along, step));
          EXPECT_NEAR(hessian(i, j), expected, 1e-9 * magnitude(kernel, pair)) << text << " " << i << j;
          EXPECT_NEAR(hessian(i, j), hessian(j, i), 1e-14 * std::abs(hessian(i, j))) << text;
        }
      }
    }
  }
}

TEST(KernelDerivative, GaussianHessianHasItsClosedForm) {
  // THEORY section 2: -∇∇ᵀk = σ⁻²(I - δδᵀ/σ²) k.
  const double sigma = 0.8;
  const Kernel kernel{Gaussian{{{sigma}}}};
  for (const Pair& pair : pairs(7, 10)) {
    Matrix<double> hessian(3, 3);
    shift_hessian(kernel, pair.x, pair.z, hessian);
    const double k = value(kernel, pair.x, pair.z);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        const double outer = (pair.x[i] - pair.z[i]) * (pair.x[j] - pair.z[j]) / (sigma * sigma);
        EXPECT_NEAR(-hessian(i, j), (static_cast<double>(i == j) - outer) * k / (sigma * sigma), 1e-13);
      }
    }
  }
}

/// -k''(0) is the second moment of the frequencies: E ωωᵀ.
TEST(KernelDerivative, HessianAtZeroIsTheSecondMoment) {
  const std::vector<double> x = {1, 2};
  const auto diagonal = [&](const std::string& text) {
    Matrix<double> hessian(2, 2);
    shift_hessian(samples::scalar(text), x, x, hessian);
    EXPECT_EQ(hessian(0, 1), 0) << text;
    return std::pair(-hessian(0, 0), -hessian(1, 1));
  };
  const auto expect = [&](const std::string& text, double first, double second) {
    const auto [a, b] = diagonal(text);
    EXPECT_NEAR(a, first, 1e-13 * first) << text;
    EXPECT_NEAR(b, second, 1e-13 * second) << text;
  };
  expect("gaussian([0.5, 2])", 4, 0.25);
  for (const double nu : {1.01, 1.2, 1.5, 2.0, 2.5, 3.7, 10.0, 60.0}) {  // Student: ν/(ν-1) per direction
    expect("matern([0.5, 2], nu=" + std::to_string(nu) + ")", 4 * nu / (nu - 1), 0.25 * nu / (nu - 1));
  }
  expect("rational_quadratic([0.5, 2], alpha=0.3)", 4, 0.25);   // E τ = 1
  expect("cauchy([0.5, 2])", 8, 0.5);                           // Laplace: 2/ℓ²
  expect("gaussian([0.5, 2])*cauchy([0.5, 2])", 12, 0.75);      // independent frequencies add
  const double turn = 4 * std::numbers::pi * std::numbers::pi;  // 4π²(μ² + σ²)
  expect("3*spectral_mixture([0.5], [[0, 0.2]], [[0.3, 0.1]])", 3 * 0.5 * turn * 0.09, 3 * 0.5 * turn * 0.05);
}

TEST(KernelDerivative, HessianIsContinuousAtZero) {
  for (const double nu : {1.2, 1.5, 2.0, 2.5, 30.0, 60.0}) {
    const Kernel kernel{Matern{{{0.7}}, nu}};
    const std::vector<double> zero = {0, 0};
    Matrix<double> at_zero(2, 2);
    shift_hessian(kernel, zero, zero, at_zero);
    for (const double r : {1e-60, 1e-100, 1e-150, 1e-170, 1e-300}) {
      Matrix<double> near(2, 2);
      shift_hessian(kernel, std::vector{r, -r / 2}, zero, near);
      for (Index i = 0; i < 4; ++i) EXPECT_NEAR(near.values()[i], at_zero.values()[i], 1e-10) << nu << " " << r;
    }
  }
}

TEST(KernelDerivative, RefusesHessiansThatDoNotExist) {
  const std::vector<double> x = {0.5, -1};
  const std::vector<double> z = {0.5, 2};
  Matrix<double> hessian(2, 2);
  for (const char* text : {"linear()", "polynomial()", "gaussian(1)*linear()", "gaussian(1) + 2*linear()", "laplacian(1)"}) {
    EXPECT_THROW(shift_hessian(samples::scalar(text), x, z, hessian), Error) << text;
  }
  EXPECT_THROW(shift_hessian(samples::scalar("matern(1, nu=1)"), x, x, hessian), Error);
  EXPECT_NO_THROW(shift_hessian(samples::scalar("matern(1, nu=1)"), x, z, hessian));
}

TEST(KernelDerivative, GradientAtZeroIsZero) {
  const std::vector<double> x = {0.5, -1, 3};
  for (const std::string& text : samples::scalar_texts()) {
    const Kernel kernel = samples::scalar(text);
    if (!is_shift_invariant(kernel)) continue;
    std::vector<double> gradient(3, 99);
    input_gradient(kernel, x, x, gradient);
    for (const double g : gradient) EXPECT_EQ(g, 0) << text;
  }
}

TEST(KernelParameters, GradientMatchesDifferences) {
  for (const std::string& text : samples::scalar_texts()) {
    const Kernel kernel = samples::scalar(text);
    const std::vector<double> start = parameters(kernel);
    for (const Pair& pair : pairs(8, 3)) {
      std::vector<double> gradient(start.size(), 99);
      parameter_gradient(kernel, pair.x, pair.z, gradient);
      for (std::size_t i = 0; i < start.size(); ++i) {
        const Real h = step * std::max(1e-2, std::abs(start[i]));
        const auto along = [&](Real t) {
          std::vector<double> moved = start;
          moved[i] = static_cast<double>(start[i] + t);
          return reference::value(with_parameters(kernel, moved), reference::widen(pair.x), reference::widen(pair.z));
        };
        const auto expected = static_cast<double>(reference::derivative(along, h));
        EXPECT_NEAR(gradient[i], expected, 1e-9 * magnitude(kernel, pair)) << text << " " << parameter_names(kernel)[i];
      }
    }
  }
}

TEST(KernelParameters, AreInPrintedOrderAndNamed) {
  const Kernel kernel = samples::scalar(
      "2*gaussian([3, 4]) + rational_quadratic(5, alpha=6)*polynomial(degree=3, offset=7)"
      " + spectral_mixture([8], [[9, 10]], [[11, 12]]) + matern(13, nu=0.5) + linear()");
  std::vector<double> expected;
  for (int i = 2; i <= 13; ++i) expected.push_back(i);
  EXPECT_EQ(parameters(kernel), expected);
  const std::vector<std::string> names = parameter_names(kernel);
  const std::vector<std::string> known = {"terms[0].factor",
                                          "terms[0].gaussian.length_scale[0]",
                                          "terms[0].gaussian.length_scale[1]",
                                          "terms[1].factors[0].rational_quadratic.length_scale",
                                          "terms[1].factors[0].rational_quadratic.alpha",
                                          "terms[1].factors[1].polynomial.offset",
                                          "terms[2].spectral_mixture.weights[0]",
                                          "terms[2].spectral_mixture.means[0][0]",
                                          "terms[2].spectral_mixture.means[0][1]",
                                          "terms[2].spectral_mixture.scales[0][0]",
                                          "terms[2].spectral_mixture.scales[0][1]",
                                          "terms[3].matern.length_scale"};
  EXPECT_EQ(names, known);
  EXPECT_EQ(with_parameters(kernel, expected), kernel);
  std::vector<double> other = expected;
  for (double& p : other) p += 0.5;
  EXPECT_EQ(parameters(with_parameters(kernel, other)), other);
  EXPECT_THROW(with_parameters(kernel, std::vector<double>(3)), Error);
  for (const std::string& text : samples::scalar_texts()) {
    const Kernel sample = samples::scalar(text);
    const auto all = parameter_names(sample);
    EXPECT_EQ(all.size(), parameters(sample).size());
    EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size()) << text;
  }
}

TEST(KernelParameters, ProductsWithAZeroFactorHaveAGradient) {
  const Kernel kernel = samples::scalar("linear()*(3*gaussian(1))*polynomial(degree=1, offset=2)");
  const std::vector<double> x = {1, 0};
  const std::vector<double> z = {-2, 5};  // the polynomial is 0 here
  std::vector<double> gradient(3);
  parameter_gradient(kernel, x, z, gradient);
  EXPECT_EQ(gradient[0], 0);
  EXPECT_EQ(gradient[1], 0);
  EXPECT_NEAR(gradient[2], -2 * 3 * std::exp(-17.0), 1e-20);
}

TEST(KernelParameters, AlphaGradientKeepsItsDigitsNearZero) {
  // ∂/∂α (1 + u)^-α = g(u/(1+u) - log(1+u)), u = s/2α; -5.0000000e-17·(1 - …) for u = 1e-8: -u²/2 + 2u³/3 (times g ≈ 1 -
  // 1e-8).
  const Kernel kernel{RationalQuadratic{{{1}}, 1}};
  const double x = std::sqrt(2e-8);
  const double zero = 0;
  std::vector<double> gradient(2);
  parameter_gradient(kernel, {&x, 1}, {&zero, 1}, gradient);
  EXPECT_NEAR(gradient[1], (1 - 1e-8) * (-0.5e-16 + 2e-24 / 3), 1e-28);
}

}  // namespace
}  // namespace mercer
