#include "theory/sketch_theory.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>

#include "base/random.hpp"

namespace mercer {
namespace {

/// μ_i = scale·u·i^-decay, descending.
std::vector<double> spectrum(Index count, double decay, std::uint64_t seed) {
  const Stream stream(seed, "spectrum");
  std::vector<double> values;
  for (Index i = 0; i < count; ++i)
    values.push_back((0.5 + stream.uniform(i, 0)) * std::pow(static_cast<double>(i + 1), -decay));
  std::ranges::sort(values, std::greater<>());
  return values;
}

/// The definition, by bisection on t ↦ t - ((1/n)Σ min(t, μ_i))^½, which is negative below δ² and positive above.
double radius_by_bisection(const std::vector<double>& values, Index n) {
  double low = 0;
  double high = 1e6;
  for (int k = 0; k < 300; ++k) {
    const double t = (low + high) / 2;
    double sum = 0;
    for (const double v : values) sum += std::min(t, v);
    (std::sqrt(sum / static_cast<double>(n)) <= t ? high : low) = t;
  }
  return high;
}

TEST(CriticalRadius, IsTheLeastRadiusOfTheDefinition) {
  for (const double decay : {0.0, 0.6, 1.5, 4.0, 12.0}) {
    for (const Index n : {1, 2, 7, 60, 400}) {
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const auto values = spectrum(n, decay, seed);
        const double expected = radius_by_bisection(values, n);
        EXPECT_NEAR(critical_radius_squared(values, 0, n), expected, 1e-12 * expected) << decay << " " << n;
      }
    }
  }
  // Closed forms: r equal eigenvalues μ give √(rμ/n) when that is at least μ, else r/n.
  EXPECT_NEAR(critical_radius_squared({0.01, 0.01, 0.01}, 0, 100), std::sqrt(0.03 / 100), 1e-15);
  EXPECT_NEAR(critical_radius_squared({5, 5, 5}, 0, 100), 0.03, 1e-15);
  EXPECT_EQ(critical_radius_squared({}, 0, 10), 0);
  EXPECT_EQ(critical_radius_squared({0, 0}, 0, 2), 0);
}

TEST(CriticalRadius, TakesTheRestAsManySmallEigenvalues) {
  auto values = spectrum(30, 1, 3);
  const double with_rest = critical_radius_squared(values, 0.2, 5000);
  values.insert(values.end(), 4000, 0.2 / 4000);
  EXPECT_NEAR(with_rest, radius_by_bisection(values, 5000), 1e-12);
}

TEST(StatisticalDimension, IsTheFirstEigenvalueNotAboveTheRadius) {
  EXPECT_EQ(statistical_dimension({3, 2, 1}, 2, 10), 2);
  EXPECT_EQ(statistical_dimension({3, 2, 1}, 5, 10), 1);
  EXPECT_EQ(statistical_dimension({3, 2, 1}, 0.5, 10), 4);  // the fourth is 0
  EXPECT_EQ(statistical_dimension({3, 2, 1}, 0.5, 3), 3);   // there is no fourth: n
  for (const double decay : {0.0, 0.3, 1.0, 3.0}) {
    const auto values = spectrum(500, decay, 1);
    const double trace = std::accumulate(values.begin(), values.end(), 0.0);
    const Index d = statistical_dimension(values, critical_radius_squared(values, 0, 500), 500);
    EXPECT_LE(static_cast<double>(d), 1 + std::sqrt(500 * trace));
  }
}

TEST(StatisticalDimension, LargestIsTheBestOverAllSubsets) {
  const Stream stream(4, "subsets");
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    std::vector<double> values;
    for (std::uint64_t i = 0; i < 9; ++i) values.push_back(stream.uniform(trial, i));
    std::ranges::sort(values, std::greater<>());
    const double radius = stream.uniform(trial, 20);
    const double missed = 2 * stream.uniform(trial, 21);
    int best = 0;
    for (unsigned subset = 0; subset < (1U << 9); ++subset) {
      double cost = 0;
      bool below = true;
      for (std::size_t i = 0; i < 9; ++i) {
        if ((subset >> i & 1U) == 0) continue;
        below = below && values[i] <= radius;
        cost += radius - values[i];
      }
      if (below && (subset == 0 || cost < missed)) best = std::max(best, std::popcount(subset));
    }
    const auto above = std::ranges::count_if(values, [&](double v) { return v > radius; });
    EXPECT_EQ(largest_dimension(values, missed, radius, 9), std::min<Index>(9, above + best + 1));
  }
}

TEST(SketchTheorem, ConstantsOfThePaper) {
  EXPECT_NEAR(theorem_constant(1), 5.5372725, 1e-7);  // 2(1 + √ln 5) + 1
  EXPECT_LE(theorem_constant(theorem_density), 9);    // corollary 1 says 9
  EXPECT_EQ(theorem_size(3, 0.001, 1000, 1), 3 * 5120);
  EXPECT_EQ(theorem_size(3, 0.001, 1000, 0.5), 3 * 5120 * 4);
  EXPECT_EQ(theorem_size(1, 0.5, 100000, 1), 50000);
}

TEST(ExpectedAnchors, AreTheMeanOverDraws) {
  struct Case {
    SketchLaw law;
    double density;
    Index terms;
  };
  constexpr Index n = 300;
  for (const Case& c : {Case{SketchLaw::p_sr, 5, 1}, Case{SketchLaw::p_sg, 30, 1}, Case{SketchLaw::accumulation, 1, 7},
                        Case{SketchLaw::nystrom, 1, 1}, Case{SketchLaw::gaussian, 1, 1}, Case{SketchLaw::count, 1, 1},
                        Case{SketchLaw::hadamard, 1, 1}}) {
    SketchRecipe recipe;
    recipe.law = c.law;
    recipe.size = 25;
    recipe.density = c.density;
    recipe.terms = c.terms;
    constexpr int draws = 200;
    double sum = 0;
    for (recipe.seed = 0; recipe.seed < draws; ++recipe.seed) sum += static_cast<double>(draw_sketch(recipe, n).touched());
    // s' has variance at most n/4 (independent or negatively associated columns): six standard deviations, failure 2e-9.
    EXPECT_NEAR(sum / draws, expected_anchors(recipe, n), 6 * std::sqrt(n / 4.0 / draws)) << to_string(c.law);
  }
}

TEST(RiskBound, TermsOfTheoremFour) {
  RiskSetting s;
  s.constant = 2;
  s.lambda = 0.01;
  s.radius_squared = 0.02;
  s.largest_kernel = 4;
  s.output_norm = 3;
  s.output_trace = 5;
  s.rows = 10000;
  s.failure_probability = 0.04;
  s.lipschitz = 1.5;
  const double c = 1 + std::sqrt(6.0) * std::sqrt(5.5);
  RiskBound b = risk_bound(s);
  EXPECT_NEAR(b.approximation, c * c * 0.07, 1e-13);  // (C² + ½)λ + C²‖A‖δ², with ½λ apart
  EXPECT_NEAR(b.penalty, 0.005, 1e-16);
  EXPECT_NEAR(b.complexity, 8 * std::sqrt(5.0) * (4 * std::sqrt(3.0) + 2) / 100, 1e-13);
  EXPECT_NEAR(b.confidence, 2 * std::sqrt(8 * std::log(100.0)) / 100, 1e-14);
  EXPECT_NEAR(b.total(), b.approximation + b.penalty + b.complexity + b.confidence, 1e-15);
  s.square = false;
  b = risk_bound(s);
  EXPECT_NEAR(b.approximation, 1.5 * c * std::sqrt(0.07), 1e-13);
  EXPECT_NEAR(b.complexity, 8 * 1.5 * std::sqrt(20.0) / 100, 1e-13);
}

}  // namespace
}  // namespace mercer
