// Refinement beyond what ridge_test.cpp shows: single precision, every bfloat16 path, threads, and penalties it cannot
// reach.
#include "solve/refinement.hpp"

#include <gtest/gtest.h>
#include <mercer/threads.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/packed_rows.hpp"
#include "base/random.hpp"
#include "solve/row_operator.hpp"
#include "unit/solve/data.hpp"

namespace mercer {
namespace {

using namespace samples;

constexpr double penalty = 1e-5;

struct Problem {
  FourierMap map = map_of("decomposable(gaussian(1.5), [[2,0.5],[0.5,1]])", 3, 2, 150);
  Data s = data(2500, 3, 2);
};

double relative(const Matrix<double>& a, const Matrix<double>& b) {
  return (dense(a) - dense(b)).norm() / dense(b).norm();
}

Matrix<double> direct(const Problem& p) {
  ArrayRows rows = p.s.rows();
  const RidgeStatistics t = accumulate(p.map, rows, Precision::double_);
  return solve_cholesky(normal_system(t, p.map.coupling(), true), penalty, Uncertainty::none).weights;
}

TEST(Refinement, EveryPathGivesTheSameAnswerInAFewPasses) {
  const Problem p;
  const Matrix<double> expected = direct(p);
  for (const PackedPath path : {PackedPath::portable, PackedPath::avx512, PackedPath::amx}) {
    if (!path_supported(LowNumber::bf16, path)) continue;
    force_path(path);
    ArrayRows rows = p.s.rows();
    const RidgeSolution s = Refinement(p.map, rows, {}, nullptr).solve({.penalty = penalty});
    EXPECT_LE(s.residual, 1e-10);
    EXPECT_LE(s.iterations, 8) << to_string(path);
    EXPECT_LT(relative(s.weights, expected), 1e-7) << to_string(path);
    EXPECT_EQ(s.gram, words(GramPrecision::bf16));
  }
  force_path(PackedPath::automatic);
}

TEST(Refinement, SinglePrecisionReachesWhatItsRowsAllow) {
  const Problem p;
  ArrayRows rows = p.s.rows();
  const RidgeSolution s =
      Refinement(p.map, rows, {.passes = Precision::single_}, nullptr).solve({.penalty = penalty, .tolerance = 1e-6});
  EXPECT_LE(s.residual, 1e-5);
  // Features carry errors of 1e-7, the condition number is about 1e5·0.3: predictions to 1e-3 at the worst.
  EXPECT_LT((dense(features(p.map, p.s.x)) * (dense(s.weights) - dense(direct(p)))).norm() / dense(p.s.y).norm(), 1e-3);
}

TEST(Refinement, ThreadsDoNotChangeABit) {
  const Problem p;
  std::vector<Matrix<double>> all;
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    ArrayRows rows = p.s.rows();
    all.push_back(Refinement(p.map, rows, {}, nullptr).solve({.penalty = penalty}).weights);
  }
  set_threads(0);
  EXPECT_TRUE(std::ranges::equal(all[0].values(), all[1].values()));
  EXPECT_TRUE(std::ranges::equal(all[0].values(), all[2].values()));
}

TEST(Refinement, ABetterGramNeedsFewerPassesAndReachesSmallerPenalties) {
  const Problem p;
  const Matrix<double> x = p.s.x;
  for (const PackedPath path : {PackedPath::portable, PackedPath::avx512, PackedPath::amx}) {
    if (!path_supported(LowNumber::bf16, path)) continue;
    SCOPED_TRACE(to_string(path));
    force_path(path);
    ArrayRows rows = p.s.rows();
    Refinement refinement(p.map, rows, {}, nullptr);
    const Refinement::Wish wish{.penalty = 1e-7, .most_iterations = 200, .keep = Uncertainty::full};
    const RidgeSolution coarse = refinement.solve(wish);
    refinement.improve(GramPrecision::bf16_three);
    const RidgeSolution better = refinement.solve(wish);
    refinement.improve(GramPrecision::float32);
    const RidgeSolution best = refinement.solve(wish);
    EXPECT_LT(better.iterations, coarse.iterations);
    EXPECT_LT(best.iterations, coarse.iterations);
    EXPECT_LT(better.coarseness, coarse.coarseness);
    EXPECT_LT(best.coarseness, coarse.coarseness);
    EXPECT_LT(relative(better.weights, best.weights), 1e-6);
    ArrayRows again = p.s.rows();
    const RidgeSolution from_start = Refinement(p.map, again, {.gram = GramPrecision::bf16_three}, nullptr).solve(wish);
    EXPECT_TRUE(std::ranges::equal(from_start.weights.values(), better.weights.values()));
  }
  force_path(PackedPath::automatic);
}

// Three outputs of two gains: a factor for each of them, or an eigenbasis for both.
TEST(Refinement, SeveralGainsHaveAFactorEachWhereThereIsRoom) {
  const FourierMap map = map_of("decomposable(gaussian(1.5), [[2,1,0],[1,2,0],[0,0,1]])", 3, 3, 150);
  ASSERT_EQ(gain_count(map.coupling()), 2);
  const Data s = data(2500, 3, 3);
  ArrayRows rows = s.rows();
  const NormalSystem system = normal_system(accumulate(map, rows, Precision::double_), map.coupling(), true);
  const RidgeSolution direct = solve_cholesky(system, penalty, Uncertainty::full);
  const Matrix<double> x = data(40, 3, 3, 0.1).x;
  const auto variances = [&](const RidgeSolution& solution) {
    Matrix<double> phi = features(map, x);
    Matrix<double> out(40, 3);
    solution.posterior.variance(map.coupling(), phi, out);
    return out;
  };
  const Matrix<double> variance = variances(direct);
  for (const Index room : {Index{0}, Index{1} << 30}) {
    for (const Uncertainty keep : {Uncertainty::none, Uncertainty::samples, Uncertainty::full}) {
      const RidgeSolution refined =
          Refinement(map, rows, {.factor_bytes = room}, nullptr).solve({.penalty = penalty, .keep = keep});
      EXPECT_LE(refined.residual, 1e-10);
      EXPECT_LE(refined.iterations, 8);
      EXPECT_LT(relative(refined.weights, direct.weights), 1e-7);
      EXPECT_NEAR(refined.degrees_of_freedom / direct.degrees_of_freedom, 1, 0.02);
      const bool in_eigenbasis = room == 0 || keep == Uncertainty::full;
      if (keep == Uncertainty::none) continue;
      EXPECT_EQ(refined.posterior.kind, in_eigenbasis ? Posterior::Kind::eigen : Posterior::Kind::samples);
      const Matrix<double> coarse = variances(refined);
      for (Index i = 0; i < 40; ++i) {
        // 64 draws: χ²/64, of standard deviation 0.18; all 120 within 0.8 but for one set of draws in a thousand.
        for (Index a = 0; a < 3; ++a) EXPECT_NEAR(coarse(i, a) / variance(i, a), 1, in_eigenbasis ? 0.05 : 0.8);
      }
    }
  }
}

TEST(Refinement, KeptFeaturesDoNotChangeABit) {
  const Problem p;
  ArrayRows rows = p.s.rows();
  const Refinement::Wish wish{.penalty = penalty};
  const Matrix<double> anew = Refinement(p.map, rows, {}, nullptr).solve(wish).weights;
  const Matrix<double> kept = Refinement(p.map, rows, {.memory_bytes = Index{1} << 30}, nullptr).solve(wish).weights;
  EXPECT_TRUE(std::ranges::equal(anew.values(), kept.values()));
}

/// L of A + ridge.
Matrix<double> factor_of(RowOperator<double>& op, double ridge) {
  Matrix<double> identity(op.size(), op.size());
  for (Index i = 0; i < op.size(); ++i) identity(i, i) = 1;
  Matrix<double> a(op.size(), op.size());
  op.apply(identity, a);
  for (Index i = 0; i < op.size(); ++i) a(i, i) += ridge;
  EXPECT_EQ(cholesky(a.view()), -1);
  return a;
}

/// ‖out - A v‖ and what the pass in float says of it, and the same in the norm of (A + ridge)⁻¹.
void expect_measured(Data& s, const FourierMap& map, double loosest) {
  ArrayRows rows = s.rows();
  RowOperator<double> exact(map, rows, true, 0, 2, nullptr);
  RowOperator<float> rough(exact);
  const Stream stream(3, "directions");
  Matrix<double> v(exact.size(), 2);
  for (Index i = 0; i < v.rows(); ++i) {
    v(i, 0) = stream.normal(static_cast<std::uint64_t>(i), 0);
    v(i, 1) = exact.system().cross(i % exact.system().cross.rows(), 0) / exact.system().weight;
  }
  Matrix<double> a(v.rows(), 2);
  Matrix<double> b(v.rows(), 2);
  exact.apply(v, a);
  const SampledErrors errors = rough.apply_and_measure(v, b);
  for (Index i = 0; i < a.size(); ++i) a.data()[i] -= b.data()[i];
  const auto expect_of = [&](const std::vector<double>& square, const std::vector<double>& said) {
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_LE(std::sqrt(square[k]), said[k]);
      EXPECT_GE(loosest * std::sqrt(square[k]), said[k]);
    }
  };
  expect_of(column_dots(a, a), errors.norms());
  for (const double small : {1e-3, 1e-7}) {
    SCOPED_TRACE(small);
    const Matrix<double> l = factor_of(exact, small * exact.system().weight);
    const BlockOperator inverse = [&](ConstMatrix e, MutMatrix z) {
      for (Index i = 0; i < e.rows; ++i) std::ranges::copy(e.row(i), z.row(i).begin());
      cholesky_solve(l, z);
    };
    Matrix<double> z(a.rows(), 2);
    inverse(a, z);
    expect_of(column_dots(a, z), errors.weigh(inverse).energy);
  }
}

TEST(Refinement, PassesInFloatMeasureTheirErrorOnASample) {
  const Index n = 30000;
  for (const char* kernel : {"gaussian(1)", "divergence_free(gaussian(1))"}) {
    SCOPED_TRACE(kernel);
    const Index p = std::string(kernel).starts_with("div") ? 3 : 1;
    const FourierMap map = map_of(kernel, 3, p, 100);
    Data s = data(n, 3, p);
    expect_measured(s, map, 15);
    Data fewer = data(5000, 3, p);
    expect_measured(fewer, map, 30);
    Data all = data(300, 3, p);
    expect_measured(all, map, 4);
    for (Index i = 0; i < n; ++i) {  // a hundred rows, over and over: they err alike
      std::ranges::copy(s.x.row(i % 100), s.x.row(i).begin());
    }
    expect_measured(s, map, 40);
    Data far = data(n, 3, p);
    far.x(12345, 1) = 1e4;  // one row that loses all digits, in the sample or not
    expect_measured(far, map, 1e6);
    Data weighted = data(n, 3, p);
    for (Index i = 0; i < n; ++i) weighted.weights.push_back(i % 3 == 0 ? 0.0 : 1 + 1e-4 * static_cast<double>(i));
    expect_measured(weighted, map, 15);
    for (const double scale : {1e-34, 1e28}) {  // sums are near the ends of what floats can be
      SCOPED_TRACE(scale);
      Data scaled = data(n, 3, p);
      scaled.weights.assign(static_cast<std::size_t>(n), scale);
      expect_measured(scaled, map, 15);
    }
  }
}

TEST(Refinement, RowsWithARhythmOfPowersOfTwoAreSampled) {
  const Index n = 30000;
  const FourierMap map = map_of("gaussian(1)", 3, 1, 100);
  for (const Index period : {2, 4, 8}) {
    for (Index quiet = 0; quiet < 2; ++quiet) {  // pieces of 256 rows that have no errors: all of them but one, or one alone
      SCOPED_TRACE(std::to_string(period) + (quiet == 0 ? ", one lively" : ", one quiet"));
      Data s = data(n, 3, 1);
      for (Index i = 0; i < n; ++i) {
        if ((i / 256 % period == 0) == (quiet == 1)) std::ranges::fill(s.x.row(i), 0.0);
      }
      expect_measured(s, map, 40);
    }
  }
}

TEST(Refinement, PhasesThatAreNotFiniteAreRefused) {
  const FourierMap map = map_of("gaussian(1)", 2, 1, 200);
  for (const GramPrecision gram : {GramPrecision::int8, GramPrecision::bf16}) {
    Data s = data(3000, 2, 1);
    s.x(2000, 1) = 1e308;
    ArrayRows rows = s.rows();
    try {
      Refinement(map, rows, {.gram = gram}, nullptr);
      FAIL() << words(gram);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("overflow"), std::string::npos) << error.what();
    }
  }
}

TEST(Refinement, NeighboursInASortedTableErrAlike) {
  const FourierMap map = map_of("gaussian(1)", 1, 1, 100);
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    Data s = data(20480, 1, 1, 0.1, seed);
    std::ranges::sort(s.x.values());
    expect_measured(s, map, 60);
  }
}

TEST(Refinement, NothingIsClaimedOnASampleAlone) {
  // Weights that forget: nearly all of it is in the last rows, and none of them in the sample. The residual is right all
  // the same.
  const FourierMap map = map_of("gaussian(1)", 2, 1, 60);
  Data s = data(20000, 2, 1);
  for (Index i = 0; i < 20000; ++i) s.weights.push_back(std::exp(-static_cast<double>(19999 - i) / 20));
  ArrayRows rows = s.rows();
  const RidgeSolution refined = Refinement(map, rows, {}, nullptr).solve({.penalty = 1e-3, .tolerance = 5e-10});
  const NormalSystem full = normal_system(accumulate(map, rows, Precision::double_), map.coupling(), true);
  const Dense gram = dense(full.gram).selfadjointView<::Eigen::Lower>();
  const Vector w = dense(refined.weights).col(0);
  const Vector b = dense(full.cross).col(0);
  EXPECT_LE(refined.residual, 5e-10);
  EXPECT_LE((b - gram * w - 1e-3 * full.weight * w).norm() / b.norm(), refined.residual + 1e-13);
}

TEST(Refinement, NoiseAndInterceptsAreThoseOfAllDigits) {
  for (const char* kernel :
       {"gaussian(1.5)", "decomposable(gaussian(1.5), [[2,0.5],[0.5,1]])", "curl_free(gaussian(1.5))"}) {
    for (const double noise : {0.1, 1e-4}) {
      SCOPED_TRACE(std::string(kernel) + ", noise " + std::to_string(noise));
      const FourierMap map = map_of(kernel, 2, 2, 100);
      const Data s = data(5000, 2, 2, noise);
      ArrayRows rows = s.rows();
      const RidgeSolution refined =
          Refinement(map, rows, {.gram = GramPrecision::int8}, nullptr).solve({.penalty = 1e-5, .tolerance = 1e-9});
      ASSERT_LE(refined.residual, 1e-9);
      const NormalSystem full = normal_system(accumulate(map, rows, Precision::double_), map.coupling(), true);
      const RidgeSolution direct = solve_cholesky(full, 1e-5, Uncertainty::none);
      for (std::size_t a = 0; a < 2; ++a) {
        EXPECT_NEAR(refined.intercept[a], direct.intercept[a], 1e-7);
        // Σr² to seven digits; degrees of freedom are those of the coarse matrix.
        const auto squares = [&](const RidgeSolution& r) { return r.noise[a] * (full.weight - r.degrees_of_freedom); };
        EXPECT_NEAR(squares(refined) / squares(direct), 1, 1e-7);
      }
    }
  }
}

/// Claims, answers and passes of int8 beside those of float64, whatever the targets.
void expect_refined(const char* kernel, const Data& s, double penalty_, int most_passes, double most_freedom_off = 0.02) {
  const FourierMap map = map_of(kernel, s.x.cols(), s.y.cols(), 100);
  ArrayRows rows = s.rows();
  const RidgeSolution refined =
      Refinement(map, rows, {.gram = GramPrecision::int8}, nullptr).solve({.penalty = penalty_, .tolerance = 1e-9});
  const NormalSystem full = normal_system(accumulate(map, rows, Precision::double_), map.coupling(), true);
  const RidgeSolution direct = solve_cholesky(full, penalty_, Uncertainty::none);
  EXPECT_LE(refined.residual, 1e-9);
  EXPECT_LE(refined.prediction_error, 1e-7);
  EXPECT_LE(refined.iterations, most_passes);
  const Dense gram = dense(full.gram).selfadjointView<::Eigen::Lower>();
  for (Index a = 0; a < s.y.cols(); ++a) {
    const Vector w = dense(refined.weights).col(a);
    const Vector b = dense(full.cross).col(a);
    const double scale = std::max(b.stableNorm(), 1e-300);
    // What float64 loses of b and of its residual: sums of uncentred products, as in the grid.
    const double mean = full.mean_target[static_cast<std::size_t>(a)];
    const double targets = full.target_square[static_cast<std::size_t>(a)] + full.weight * mean * mean;
    const double hidden = 1e-14 * (gram.norm() * w.norm() + std::sqrt(full.weight) * std::sqrt(targets)) / scale;
    EXPECT_LE((b - gram * w - penalty_ * full.weight * w).stableNorm() / scale, refined.residual + hidden);
  }
  // Those of the coarse matrix: off by up to five times what a fit without random signs measures (fit_refined.cpp).
  EXPECT_NEAR(refined.degrees_of_freedom / direct.degrees_of_freedom, 1, std::max(most_freedom_off, 5 * refined.coarseness));
  EXPECT_GE(refined.degrees_of_freedom, 1 - 1e-6);  // the intercept's
}

TEST(Refinement, OddTargets) {
  const char* kernel = "gaussian(1)";
  Data constant = data(6000, 2, 2);
  for (Index i = 0; i < 6000; ++i) constant.y(i, 1) = 0.1;
  expect_refined(kernel, constant, 1e-4, 6);
  Data far = data(6000, 2, 1);
  for (double& y : far.y.values()) y += 1e8;
  expect_refined(kernel, far, 1e-4, 6);
  Data small = data(6000, 2, 2);
  for (Index i = 0; i < 6000; ++i) small.y(i, 1) *= 1e-100;
  expect_refined(kernel, small, 1e-4, 8);
  Data late = data(6000, 2, 1);
  for (Index i = 0; i < 6000; ++i) late.y(i, 0) *= i < 256 ? 0.0 : 1e-60;
  expect_refined(kernel, late, 1e-4, 8);
}

TEST(Refinement, RowsThatRoundAlike) {
  // Features that vary by less than a step of int8, and a few rows over and over: nothing is to be taken off the diagonal.
  expect_refined("gaussian(1000)", data(6000, 2, 1), 1e-4, 8, 0.1);  // 1.1, of which the coarse matrix sees the intercept
  Data again = data(6000, 2, 1);
  for (Index i = 0; i < 6000; ++i) std::ranges::copy(again.x.row(i % 100), again.x.row(i).begin());
  expect_refined("gaussian(1)", again, 1e-5, 20);
}

TEST(Refinement, ClaimsOfManyOutputsEqualOrNot) {
  for (const bool equal : {false, true}) {
    SCOPED_TRACE(equal);
    Data s = data(4000, 2, 16);
    for (Index i = 0; equal && i < 4000; ++i) {
      for (Index a = 1; a < 16; ++a) s.y(i, a) = s.y(i, 0);
    }
    for (const char* kernel : {"gaussian(0.5)", "gaussian(1)", "gaussian(2)", "matern(1, nu=1.5)"}) {
      for (const double small : {1e-3, 1e-4, 1e-5}) expect_refined(kernel, s, small, 12);
    }
  }
}

TEST(Refinement, PhasesTooLargeForFloatAreLearnedAllTheSame) {
  const FourierMap map = map_of("gaussian(1)", 1, 1, 60);
  Data s = data(2000, 1, 1);
  for (double& v : s.x.values()) v += 1e5;
  ArrayRows rows = s.rows();
  const RidgeSolution refined =
      Refinement(map, rows, {.gram = GramPrecision::int8}, nullptr).solve({.penalty = 1e-4, .tolerance = 1e-9});
  const NormalSystem full = normal_system(accumulate(map, rows, Precision::double_), map.coupling(), true);
  EXPECT_LE(refined.residual, 1e-9);
  EXPECT_LT(relative(refined.weights, solve_cholesky(full, 1e-4, Uncertainty::none).weights), 1e-6);
}

TEST(Refinement, NothingToLearnIsLearned) {
  for (const char* kernel : {"gaussian(1)", "curl_free(gaussian(1))"}) {
    SCOPED_TRACE(kernel);
    const Index p = std::string(kernel).starts_with("curl") ? 2 : 1;
    const FourierMap map = map_of(kernel, 2, p, 30);
    for (const Index n : {1, 2, 700}) {
      Data s = data(n, 2, p);
      if (n > 1) std::ranges::fill(s.y.values(), 0.0);
      ArrayRows rows = s.rows();
      const RidgeSolution solution = Refinement(map, rows, {}, nullptr).solve({.penalty = 1e-3});
      for (const double w : solution.weights.values()) EXPECT_NEAR(w, 0, 1e-12);
      for (Index a = 0; a < p; ++a)
        EXPECT_NEAR(solution.intercept[static_cast<std::size_t>(a)], n == 1 ? s.y(0, a) : 0.0, 1e-12);
    }
  }
}

TEST(Refinement, FeaturesOfLargePhasesAreKnownToBeCoarseInFloat) {
  const FourierMap map = map_of("gaussian(1)", 1, 1, 50);
  const auto unit = [&](double shift, Index every = 1) {
    Data s = data(600, 1, 1);
    for (Index i = 17; i < 600; i += every) s.x(i, 0) += shift;
    ArrayRows rows = s.rows();
    return RowOperator<double>(map, rows, true, 0, 2, nullptr).single_unit();
  };
  EXPECT_GT(unit(0), 1e-9);
  EXPECT_LT(unit(0), 1e-6);
  EXPECT_GT(unit(1e5), 1e-4);       // 10⁵ in float is off by up to 4e-3
  EXPECT_GT(unit(1e5, 500), 1e-4);  // two such rows among 600 do not go unnoticed
}

TEST(Refinement, NoiseIsRightWhereLittleIsLeftOfTheTargets) {
  for (const char* kernel : {"gaussian(1.5)", "curl_free(gaussian(1.5))"}) {
    SCOPED_TRACE(kernel);
    const Index p = std::string(kernel).starts_with("curl") ? 2 : 1;
    const FourierMap map = map_of(kernel, 2, p, 60);
    Data s = data(1500, 2, p);
    for (Index i = 0; i < s.x.rows(); ++i) {  // without noise: a wave, and its gradient for the field
      for (Index a = 0; a < p; ++a) s.y(i, a) = std::cos(s.x(i, 0) + (a == 0 ? 1 : 0.5) * s.x(i, 1));
    }
    ArrayRows rows = s.rows();
    const RidgeSolution refined = Refinement(map, rows, {}, nullptr).solve({.penalty = 1e-6, .tolerance = 5e-10});
    const RidgeSolution exact = solve_cholesky(
        normal_system(accumulate(map, rows, Precision::double_), map.coupling(), true), 1e-6, Uncertainty::none);
    for (Index a = 0; a < p; ++a) EXPECT_NEAR(refined.noise[a] / exact.noise[a], 1, 0.05) << exact.noise[a];
  }
}

TEST(Refinement, SaysWhenAPenaltyIsTooSmallForIt) {
  const Problem p;
  ArrayRows rows = p.s.rows();
  const RidgeSolution solution = Refinement(p.map, rows, {}, nullptr).solve({.penalty = 1e-10, .most_iterations = 5});
  EXPECT_EQ(solution.iterations, 5);
  EXPECT_GT(solution.residual, 1e-10);
  EXPECT_GT(solution.coarseness, 0.1);
}

}  // namespace
}  // namespace mercer
