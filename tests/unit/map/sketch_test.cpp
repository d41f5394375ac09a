// The laws of the sketches. Failure probabilities are for the seeds as if they were drawn; the seeds are fixed.
#include "map/sketch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

#include "unit/map/sketch_samples.hpp"

namespace mercer {
namespace {

using namespace samples;

SketchRecipe recipe_of(SketchLaw law, Index size, std::uint64_t seed, double density = 0.3) {
  SketchRecipe r;
  r.law = law;
  r.size = size;
  r.density = density;
  r.density_over_rows = false;
  r.terms = 4;
  r.seed = seed;
  return r;
}

const std::vector<SketchLaw> blind_laws = {SketchLaw::p_sr,    SketchLaw::p_sg,    SketchLaw::accumulation,
                                           SketchLaw::count,   SketchLaw::nystrom, SketchLaw::gaussian,
                                           SketchLaw::hadamard};

// E SᵀS = I: every entry of the mean over N draws lies within 7 of its standard errors, estimated from the draws; 7 laws ×
// 36 entries × 3e-12 < 1e-9. N = 4000 keeps the estimated error within a few per cent for the bounded laws.
TEST(SketchLaws, SecondMomentIsTheIdentity) {
  constexpr Index n = 6;
  constexpr std::uint64_t draws = 4000;
  for (const SketchLaw law : blind_laws) {
    Dense sum = Dense::Zero(n, n);
    Dense squares = Dense::Zero(n, n);
    for (std::uint64_t seed = 0; seed < draws; ++seed) {
      const Dense s = dense_sketch(draw_sketch(recipe_of(law, 4, seed), n), n);
      const Dense m = s.transpose() * s;
      sum += m;
      squares += m.cwiseProduct(m);
    }
    const Dense mean = sum / draws;
    const Dense error = ((squares / draws - mean.cwiseProduct(mean)).cwiseMax(0) / draws).cwiseSqrt();
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j)
        EXPECT_NEAR(mean(i, j), i == j ? 1 : 0, 7 * error(i, j) + 1e-12) << to_string(law) << i << j;
    }
  }
}

/// Var (SᵀS)_ii and Var (SᵀS)_ij of each law, in closed form, from independent rows of S (or, for the Hadamard lines, from
/// drawing without replacement); `length` is n padded to a power of two.
struct Variances {
  SketchLaw law;
  double diagonal, beside;
};
std::vector<Variances> variances(double n, double s, double p, double m, double length) {
  return {{SketchLaw::p_sr, (1 - p) / (s * p), 1 / s},
          {SketchLaw::p_sg, (3 - p) / (s * p), 1 / s},
          {SketchLaw::accumulation, n / (s * m) + 3 * (m - 1) / (s * m) - 1 / s, (m - 1) / (s * m)},
          {SketchLaw::count, 0, 1 / s},
          {SketchLaw::nystrom, n / s - 1, 0},
          {SketchLaw::gaussian, 2 / s, 1 / s},
          {SketchLaw::hadamard, 0, (length - s) / (s * (length - 1))}};
}

// Mean squares of (SᵀS - I) over the diagonal and beside it, averaged over 4000 draws: within 7 standard errors, estimated
// from the draws; 14 numbers: 1e-10.
TEST(SketchLaws, SecondMomentHasItsVariance) {
  constexpr Index n = 6;
  constexpr double draws = 4000;
  for (const Variances& expected : variances(6, 4, 0.3, 4, 8)) {
    std::array<double, 2> sum{};
    std::array<double, 2> squares{};
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
      const Dense s = dense_sketch(draw_sketch(recipe_of(expected.law, 4, seed), n), n);
      const Dense m = s.transpose() * s - Dense::Identity(n, n);
      const double on = m.diagonal().squaredNorm() / 6;
      const double beside = (m.squaredNorm() - 6 * on) / 30;
      for (const auto& [k, value] : {std::pair(0U, on), std::pair(1U, beside)}) {
        sum[k] += value / draws;
        squares[k] += value * value / draws;
      }
    }
    const auto error = [&](unsigned k) {
      return 7 * std::sqrt(std::max(0.0, squares[k] - sum[k] * sum[k]) / draws) + 1e-12;
    };
    EXPECT_NEAR(sum[0], expected.diagonal, error(0)) << to_string(expected.law);
    EXPECT_NEAR(sum[1], expected.beside, error(1)) << to_string(expected.law);
  }
}

// Fourth moments of the entries: E S_ij⁴ = E R⁴/(s²p) with E R⁴ = 1 (signs) or 3 (normal). Over N = 50·40·60 = 120 000 cells
// with p = 0.3: p-SR: a binomial count, relative standard deviation √(0.7/(0.3 N)) = 0.0044; p-SG: √((105/(9·0.3) - 1)/N) =
// 0.018. Seven of them: 3e-12 each.
TEST(SketchLaws, SparsifiedEntriesHaveTheirFourthMoment) {
  for (const auto& [law, moment, spread] :
       {std::tuple(SketchLaw::p_sr, 1.0, 0.0044), std::tuple(SketchLaw::p_sg, 3.0, 0.018)}) {
    double sum = 0;
    double cross = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const Dense s = dense_sketch(draw_sketch(recipe_of(law, 40, seed), 60), 60);
      sum += s.array().pow(4).sum();
      cross += (s.leftCols(59).array() * s.rightCols(59).array()).sum();
    }
    const double expected = moment / (40.0 * 40.0 * 0.3);
    EXPECT_NEAR(sum / 120000 / expected, 1, 7 * spread) << to_string(law);
    // Neighbours are uncorrelated: Var of a product is 1/s², 118 000 of them.
    EXPECT_LT(std::abs(cross) * 40 / std::sqrt(118000.0), 7) << to_string(law);
  }
}

// s' ~ Binomial(n, 1 - (1-p)^s): mean and variance over 2000 draws; 7 standard errors (that of the variance is
// √(2/2000), s' being nearly normal): 3e-12 for each of the four numbers.
TEST(SketchLaws, NumberOfAnchorsIsBinomial) {
  constexpr Index n = 300;
  constexpr Index s = 20;
  for (const double p : {0.004, 0.2}) {
    const double q = 1 - std::pow(1 - p, s);
    double sum = 0;
    double squares = 0;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      const auto count = static_cast<double>(draw_sketch(recipe_of(SketchLaw::p_sr, s, seed, p), n).touched());
      sum += count;
      squares += count * count;
    }
    const double mean = sum / 2000;
    const double variance = squares / 2000 - mean * mean;
    EXPECT_NEAR(mean, n * q, 7 * std::sqrt(n * q * (1 - q) / 2000)) << p;
    EXPECT_NEAR(variance / (n * q * (1 - q)), 1, 7 * std::sqrt(2.0 / 2000)) << p;
  }
}

TEST(SketchLaws, ShapesAreWhatTheyAreCalled) {
  constexpr Index n = 50;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Sketch count = draw_sketch(recipe_of(SketchLaw::count, 7, seed), n);
    EXPECT_EQ(count.touched(), n);
    const Dense c = dense_sketch(count, n);
    for (Index j = 0; j < n; ++j) EXPECT_DOUBLE_EQ(c.col(j).cwiseAbs().sum(), 1);
    const Sketch nystrom = draw_sketch(recipe_of(SketchLaw::nystrom, 7, seed), n);
    EXPECT_EQ(nystrom.touched(), 7);
    EXPECT_TRUE(std::ranges::is_sorted(nystrom.anchors));
    const Dense h = dense_sketch(draw_sketch(recipe_of(SketchLaw::hadamard, 64, seed), n), n);
    EXPECT_LT((h.transpose() * h - Dense::Identity(n, n)).norm(), 1e-12);  // all 64 lines: orthogonal
    const Dense full = dense_sketch(draw_sketch(recipe_of(SketchLaw::p_sr, 5, seed, 1.0), n), n);
    EXPECT_LT((full.cwiseAbs().array() - 1 / std::sqrt(5.0)).abs().maxCoeff(), 1e-15);
  }
}

// Uniform sets: each of the 10 pairs out of 5 in 10 000 draws; binomial standard deviation 30, seven of them 210.
TEST(SketchLaws, DrawsWithoutReplacementAreUniform) {
  std::map<std::set<Index>, int> seen;
  for (std::uint64_t seed = 0; seed < 10000; ++seed) {
    const auto drawn = draw_without_replacement(5, 2, Stream(seed, "pairs"));
    seen[{drawn.begin(), drawn.end()}]++;
  }
  EXPECT_EQ(seen.size(), 10U);
  for (const auto& [pair, count] : seen) {
    EXPECT_EQ(pair.size(), 2U);
    EXPECT_NEAR(count, 1000, 210);
  }
}

TEST(SketchLaws, ProbabilityFollowsTheNumberOfRows) {
  SketchRecipe r;
  EXPECT_DOUBLE_EQ(r.probability(1000), 0.02);
  EXPECT_DOUBLE_EQ(r.probability(10), 1);
  r.density_over_rows = false;
  r.density = 0.25;
  EXPECT_DOUBLE_EQ(r.probability(10), 0.25);
  EXPECT_TRUE(draw_sketch(recipe_of(SketchLaw::p_sr, 3, 1, 1e-300), 1000).anchors.empty());
  EXPECT_THROW(draw_sketch(r, 0), Error);
}

TEST(SketchLaws, ApplyingEqualsTheDenseProduct) {
  for (const Index n : {1, 13, 64}) {
    for (const SketchLaw law : blind_laws) {
      const Sketch sketch = draw_sketch(recipe_of(law, std::min<Index>(n, 9), 3, 0.5), n);
      if (sketch.anchors.empty()) continue;
      const Dense s = touched_columns(sketch);
      const Matrix<double> t = normals(6, sketch.touched(), "t");
      Matrix<double> out(6, sketch.size());
      apply_right(sketch, t, out);
      EXPECT_LT((dense(out) - dense(t) * s.transpose()).norm(), 1e-12) << to_string(law);
      const Matrix<double> v = normals(sketch.size(), 4, "v");
      EXPECT_LT((dense(apply_transposed(sketch, v)) - s.transpose() * dense(v)).norm(), 1e-12) << to_string(law);
    }
  }
}

}  // namespace
}  // namespace mercer
