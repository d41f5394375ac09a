#include "theory/uniform_bound.hpp"

#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <cstdio>

#include "helpers.hpp"
#include "kernel/evaluate.hpp"
#include "theory/bounds.hpp"
#include "theory/moments.hpp"
#include "theory/small_matrix.hpp"

namespace mercer::test {
namespace {

const Kernel wave2 = mixture({1, 1}, {{0.2, 0.1}, {0.1, 0}}, {{0.1, 0.1}, {0.05, 0.15}});

/// The largest ‖K~ - K‖ over a square grid of the ball of radius l in one or two inputs (half of it: the error is even).
double largest_error(const OperatorKernel& kernel, Index d, double l, Index frequencies_count, std::uint64_t seed) {
  const RandomPart part = only_part(kernel, d);
  const Index p = part.field ? d : part.outputs.rows();
  const Matrix<double> omega = frequencies(part, d, frequencies_count, seed);
  std::vector<Matrix<double>> operators;
  for (Index j = 0; j < frequencies_count; ++j) operators.push_back(operator_of(part, omega.row(j)));
  const int half = d == 1 ? 100 : 8;
  double largest = 0;
  for (int a = 0; a <= half; ++a) {
    for (int b = d == 1 ? 0 : -half; b <= (d == 1 ? 0 : half); ++b) {
      std::vector<double> delta{l * a / half, l * b / half};
      if (std::hypot(delta[0], delta[1]) > l) continue;
      delta.resize(static_cast<std::size_t>(d));
      Matrix<double> f(p, p);
      value(kernel, delta, std::vector<double>(delta.size(), 0.0), f);
      for (double& x : f.values()) x = -x;
      for (Index j = 0; j < frequencies_count; ++j) {
        double phase = 0;
        for (Index i = 0; i < d; ++i) phase += omega(j, i) * delta[i];
        add_scaled(f, std::cos(phase) / static_cast<double>(frequencies_count), operators[j]);
      }
      largest = std::max(largest, symmetric_norm(f));
    }
  }
  return largest;
}

struct Case {
  const char* name;
  OperatorKernel kernel;
  Index inputs;
  double relative;  ///< ε / ‖K(0)‖
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"gaussian", scalar(gaussian({1})), 1, 0.2},
      {"gaussian", scalar(gaussian({1})), 2, 0.25},
      {"matern nu=2.5", decomposable(matern(2.5, {1}), {{1, 0.5}, {0.5, 1}}), 2, 0.25},
      {"spectral mixture", scalar(wave2), 2, 0.25},
      {"curl-free gaussian", curl(gaussian({1})), 1, 0.5},
      {"curl-free gaussian", curl(gaussian({1})), 2, 0.5},
      {"divergence-free gaussian", divergence(gaussian({1})), 2, 0.5},
      {"helmholtz gaussian", helmholtz(gaussian({1}), 0.5), 2, 0.5},
      {"curl-free mixture", curl(wave2), 2, 0.5},
  };
  return all;
}

/// Each of the 27 maps may fail with probability 0.01 if the bound were sharp; it is far from it (see the table below).
TEST(UniformBound, largestErrorStaysBelow) {
  std::uint64_t seed = 100;
  for (const Case& c : cases()) {
    const double unit = symmetric_norm(mean_operator(only_part(c.kernel, c.inputs), c.inputs));
    const Index p = implied_outputs(c.kernel, c.inputs);
    const auto frequencies_count = features_for(c.kernel, c.inputs, p, 2, c.relative * unit, 0.01);
    ASSERT_TRUE(frequencies_count);
    ASSERT_LT(*frequencies_count, 20000) << c.name;
    for (int repeat = 0; repeat < 3; ++repeat) {
      EXPECT_LT(largest_error(c.kernel, c.inputs, 2, *frequencies_count, ++seed), c.relative * unit) << c.name;
    }
  }
}

/// The table of docs/theory.md: test_theory --gtest_filter=UniformBound.loosenessTable
TEST(UniformBound, loosenessTable) {
  std::printf(
      "| kernel | d | ε/‖K(0)‖ | D, theorem 3.1 | D, best bound | largest error of 20 maps of that D, / ε | D over what was "
      "needed |\n");
  std::uint64_t seed = 500;
  for (const Case& c : cases()) {
    const RandomPart part = only_part(c.kernel, c.inputs);
    const double unit = symmetric_norm(mean_operator(part, c.inputs));
    const double epsilon = c.relative * unit;
    const Index p = implied_outputs(c.kernel, c.inputs);
    const auto best = features_for(c.kernel, c.inputs, p, 2, epsilon, 0.05);
    ASSERT_TRUE(best);
    UniformBound paper = *uniform_bound(part, c.inputs);
    std::erase_if(paper.rates, [](const Rate& rate) { return std::string(rate.name) != "theorem 3.1"; });
    double theorem = 1;
    while (paper.log_failure(paper.rates[0], 0.5, theorem, 2, epsilon) > std::log(0.05))
      theorem = std::ceil(theorem * 1.001);
    double seen = 0;
    for (int map = 0; map < 20; ++map) seen = std::max(seen, largest_error(c.kernel, c.inputs, 2, *best, ++seed) / epsilon);
    // The error falls as D^-½: about D·seen² frequencies would have done (the largest of 20 is about the 95% quantile).
    std::printf("| %s | %td | %g | %.2g | %td | %.2f | %.0f |\n", c.name, c.inputs, c.relative, theorem, *best, seen,
                1 / (seen * seen));
    EXPECT_LT(static_cast<double>(*best), theorem);
    EXPECT_LT(seen, 1);
    EXPECT_GT(seen, 0.1);
  }
}

TEST(UniformBound, isTheMinimumOverTheNet) {
  // κ₁r^-d + κ₂r² minimised by hand over r in (0, 2l], for one η.
  const UniformBound bound = *uniform_bound(only_part(curl(gaussian({1})), 2), 2);
  for (const Rate& rate : bound.rates) {
    for (double frequencies_count : {10.0, 1e3, 1e4, 1e5}) {
      for (double epsilon : {0.1, 1.0, 5.0, 300.0}) {
        const double l = 1.5;
        const double k1 = 2 * 2 * 36 * std::exp(-frequencies_count * rate(0.6 * epsilon));
        const double k2 = 4 * 48 / std::pow(0.4 * epsilon, 2);
        double least = 1e300;
        for (double r = 2 * l; r > 1e-9; r *= 0.999) least = std::min(least, k1 / (r * r) + k2 * r * r);
        if (k1 < 1e-15) continue;
        EXPECT_NEAR(bound.log_failure(rate, 0.6, frequencies_count, l, epsilon), std::log(least), 1e-5);
      }
    }
  }
}

TEST(UniformBound, halfSplitHasTheConstantOfTheTheorem) {
  // η = ½:  2^{(8d+2)/(d+2)} N^{2/(d+2)} ((d/2)^{-d/(d+2)} + (d/2)^{2/(d+2)}) (σ_p l/ε)^{2d/(d+2)} exp(-2D I(ε/2)/(d+2)).
  for (int d : {1, 2, 3, 5}) {
    const UniformBound bound = *uniform_bound(only_part(curl(gaussian({1})), d), d);
    const double n = d;
    const double sigma = std::sqrt(n * (n + 2) * (n + 4));
    for (const Rate& rate : bound.rates) {
      const double direct = std::log(std::pow(2, (8 * n + 2) / (n + 2)) * std::pow(n, 2 / (n + 2)) *
                                     (std::pow(n / 2, -n / (n + 2)) + std::pow(n / 2, 2 / (n + 2))) *
                                     std::pow(sigma * 2 / 0.3, 2 * n / (n + 2))) -
                            2 * 1e5 * rate(0.15) / (n + 2);
      EXPECT_NEAR(bound.log_failure(rate, 0.5, 1e5, 2, 0.3), direct, 1e-9 * std::abs(direct));
    }
  }
}

TEST(UniformBound, isMonotone) {
  for (const auto& kernel :
       {scalar(gaussian({1})), curl(gaussian({1})), sum(curl(gaussian({1})), scalar(rational(1, {1}), 0.3))}) {
    const auto p = [&](double l, double epsilon, Index count) {
      return *failure_probability_for(kernel, 2, 2, l, epsilon, count);
    };
    for (double epsilon : {0.05, 0.5, 2.0}) {
      for (Index count = 2; count < 1'000'000; count *= 3) {
        EXPECT_LE(p(1, epsilon, count + 1), p(1, epsilon, count) * (1 + 1e-6));
        EXPECT_LE(p(1, epsilon * 1.1, count), p(1, epsilon, count) * (1 + 1e-6));
        EXPECT_GE(p(1.1, epsilon, count) * (1 + 1e-6), p(1, epsilon, count));
      }
    }
  }
}

TEST(UniformBound, smallestDIsSmallest) {
  const auto single = curl(gaussian({1}));
  const auto both = sum(single, scalar(gaussian({0.5}), 0.5));
  for (const auto& kernel : {single, both}) {
    const Index count = *features_for(kernel, 2, 2, 1, 0.7, 0.05);
    EXPECT_LE(*failure_probability_for(kernel, 2, 2, 1, 0.7, count), 0.05 * (1 + 1e-6));
    // One part less by one frequency; in a sum D may have to fall by up to one per part before a share changes.
    EXPECT_GT(*failure_probability_for(kernel, 2, 2, 1, 0.7, count - 1), 0.05 * (1 - 1e-6));
    EXPECT_LE(*error_for(kernel, 2, 2, 1, 0.05, count), 0.7 * (1 + 1e-9));
    EXPECT_GT(*error_for(kernel, 2, 2, 1, 0.05, count - 1), 0.7 * (1 - 1e-9));
  }
}

TEST(UniformBound, sumIsTheTriangleInequality) {
  const auto a = curl(gaussian({1}), 3);
  const auto b = scalar(gaussian({0.5}), 1);
  // 4002 frequencies: 1 + ⌊4000·¾⌋ and 1 + ⌊4000·¼⌋.
  const double together = *error_for(sum(a, b), 2, 2, 1, 0.1, 4002);
  EXPECT_NEAR(together, *error_for(a, 2, 2, 1, 0.05, 3001) + *error_for(b, 2, 2, 1, 0.05, 1001), 1e-10);
}

TEST(UniformBound, scalesWithUnits) {
  // Inputs in other units (σ and l together), outputs in other units (weight and ε together): the same D.
  const auto count = *features_for(curl(gaussian({1})), 3, 3, 2, 0.5, 0.1);
  EXPECT_EQ(*features_for(curl(gaussian({4})), 3, 3, 8, 0.5 / 16, 0.1), count);
  EXPECT_NEAR(static_cast<double>(*features_for(curl(gaussian({1}), 7), 3, 3, 2, 3.5, 0.1)), static_cast<double>(count), 1);
}

TEST(UniformBound, betterThanRahimiAndRecht) {
  // Theorem A.1 as printed: 2⁸(dσ l/ε)² exp(-ε²D/(4(d+2))) with E‖ω‖² = σ²… for a Gaussian of scale 1, l = 2, ε = 0.1, d
  // = 2.
  const auto count = *features_for(scalar(gaussian({1})), 2, 1, 2, 0.1, 0.01);
  const double printed = 16 / 0.01 * std::log(256 * 2 * 4 / 0.01 / 0.01);
  EXPECT_LT(static_cast<double>(count), printed);
}

TEST(UniformBound, explicitKernelsNeedNoFrequencies) {
  EXPECT_EQ(*features_for(scalar(Kernel{Linear{}}), 2, 1, 1, 0.1, 0.1), 0);
  EXPECT_EQ(*failure_probability_for(scalar(Kernel{Linear{}}), 2, 1, 1, 0.1, 1), 0);
  EXPECT_EQ(*error_for(scalar(Kernel{Linear{}}), 2, 1, 1, 0.1, 1), 0);
  EXPECT_EQ(*features_for(sum(scalar(Kernel{Linear{}}), scalar(gaussian({1}))), 2, 1, 1, 0.1, 0.1),
            *features_for(scalar(gaussian({1})), 2, 1, 1, 0.1, 0.1));
}

TEST(UniformBound, saysWhyThereIsNone) {
  const auto reason = [](const OperatorKernel& kernel) {
    std::string why;
    EXPECT_FALSE(features_for(kernel, 2, 2, 1, 0.1, 0.1, &why)) << to_string(kernel);
    EXPECT_EQ(why.find('\n'), std::string::npos);
    return why;
  };
  EXPECT_NE(reason(scalar(laplacian({1}))).find("two moments"), std::string::npos);
  EXPECT_NE(reason(scalar(matern(1, {1}))).find("two moments"), std::string::npos);
  EXPECT_NE(reason(curl(matern(3, {1}))).find("six moments"), std::string::npos);
  EXPECT_NE(reason(curl(matern(3.5, {1}))).find("exponential moments"), std::string::npos);
  EXPECT_NE(reason(curl(cauchy({1}))).find("exponential moments"), std::string::npos);
  EXPECT_NE(reason(scalar(times({gaussian({1}), Kernel{Linear{}}}))).find("shift-invariant"), std::string::npos);
  EXPECT_NE(reason(sum(scalar(gaussian({1})), scalar(laplacian({1})))).find("two moments"), std::string::npos);
}

TEST(UniformBound, extremeArgumentsStayFinite) {
  std::string why;
  EXPECT_FALSE(features_for(scalar(gaussian({1})), 2, 1, 1, 1e-9, 0.1, &why));
  EXPECT_NE(why.find("10^15"), std::string::npos);
  EXPECT_EQ(*features_for(scalar(gaussian({1})), 2, 1, 1e-9, 10, 0.5), 1);
  EXPECT_GT(*features_for(scalar(gaussian({1e-6})), 784, 10, 1e6, 0.1, 1e-12), 1000);
  EXPECT_GT(*features_for(curl(gaussian({1})), 50, 50, 3, 0.5, 0.1), 1000);
  EXPECT_EQ(*failure_probability_for(scalar(gaussian({1})), 2, 1, 1, 1e-6, 1), 1);
}

TEST(UniformBound, refusesNonsense) {
  const auto k = scalar(gaussian({1}));
  EXPECT_THROW(features_for(k, 2, 1, 0, 0.1, 0.1), Error);
  EXPECT_THROW(features_for(k, 2, 1, 1, -0.1, 0.1), Error);
  EXPECT_THROW(features_for(k, 2, 1, 1, std::nan(""), 0.1), Error);
  EXPECT_THROW(features_for(k, 2, 1, 1, 0.1, 1), Error);
  EXPECT_THROW(features_for(k, 2, 1, 1, 0.1, 0), Error);
  EXPECT_THROW(features_for(k, 0, 1, 1, 0.1, 0.5), Error);
  EXPECT_THROW(failure_probability_for(k, 2, 1, 1, 0.1, 0), Error);
  EXPECT_THROW(features_for(curl(gaussian({1})), 2, 3, 1, 0.1, 0.5), Error);
  EXPECT_THROW(features_for(scalar(gaussian({1, 2, 3})), 2, 1, 1, 0.1, 0.5), Error);
  EXPECT_THROW(features_for(scalar(Kernel{Gaussian{LengthScale{{}, true}}}), 2, 1, 1, 0.1, 0.5), Error);
}

}  // namespace
}  // namespace mercer::test
