#include "solve/leave_one_out.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "solve/exact.hpp"
#include "unit/solve/data.hpp"
#include "unit/solve/dense_ridge.hpp"

namespace mercer {
namespace {

using namespace samples;

const std::vector<double> penalties = {1e-6, 1e-4, 1e-2, 1.0};

struct Paths {
  PenaltyPath eigen;
  PenaltyPath cholesky;
};

Paths paths(const FourierMap& map, const Data& s, bool intercept) {
  ArrayRows rows = s.rows();
  const NormalSystem system = normal_system(accumulate(map, rows, Precision::double_), map.coupling(), intercept);
  const LeaveOneOutRows kept = leave_one_out_rows(map, rows, system, 0, nullptr);
  EXPECT_TRUE(kept.all_rows);
  return {leave_one_out(EigenSystem(system), kept, penalties), leave_one_out(system, kept, penalties, nullptr)};
}

class LeaveOneOut : public testing::TestWithParam<Sample> {};
INSTANTIATE_TEST_SUITE_P(Kernels, LeaveOneOut, testing::ValuesIn(kernel_samples()),
                         [](const auto& sample) { return sample.param.name; });

TEST_P(LeaveOneOut, EqualsRefittingWithoutEachRow) {
  const Sample& c = GetParam();
  const FourierMap map = map_of(c.kernel, c.inputs, c.outputs, 6);
  for (const int kind : {0, 1, 2}) {  // no weights, counts, weights below 1
    for (const bool intercept : {true, false}) {
      Data s = data(25, c.inputs, c.outputs);
      if (kind == 1) s.weights = counts(25);
      if (kind == 2) {
        for (Index i = 0; i < 25; ++i) s.weights.push_back(0.02 + 0.3 * static_cast<double>(i % 5));
      }
      const Paths p = paths(map, s, intercept);
      const Dense rows = operator_rows(map, s.x);
      for (const PenaltyPath* path : {&p.eigen, &p.cholesky}) {
        ASSERT_EQ(path->scores.size(), penalties.size());
        EXPECT_EQ(path->rows, 25);
        std::size_t best = 0;
        for (std::size_t l = 0; l < penalties.size(); ++l) {
          const PenaltyScore& score = path->scores[l];
          EXPECT_EQ(score.penalty, penalties[l]);
          const double expected =
              oracle::refitted_leave_one_out(rows, dense(s.y), s.all_weights(), penalties[l] * s.total(), intercept);
          EXPECT_NEAR(score.mean_square, expected, 1e-8 * expected)
              << c.name << " kind " << kind << " penalty " << penalties[l];
          double sum = 0;
          for (const double v : score.per_output) sum += v;
          EXPECT_NEAR(sum, score.mean_square, 1e-12 * sum);
          if (score.mean_square <= path->scores[best].mean_square) best = l;
        }
        EXPECT_EQ(path->best, best);
      }
    }
  }
}

// Fewer rows than features, down to penalties at which a row is learned to the last bit of a double.
TEST_P(LeaveOneOut, FewRowsAreNeverRight) {
  const Sample& c = GetParam();
  const FourierMap map = map_of(c.kernel, c.inputs, c.outputs, 30);
  for (const Index n : {2, 3, 4, 5, 6, 9}) {
    const Data s = data(n, c.inputs, c.outputs);
    ArrayRows rows = s.rows();
    const NormalSystem system = normal_system(accumulate(map, rows, Precision::double_), map.coupling(), true);
    const LeaveOneOutRows kept = leave_one_out_rows(map, rows, system, 0, nullptr);
    const std::vector<double> grid = penalty_grid(system, 10);
    const Dense dense_rows = operator_rows(map, s.x);
    for (const PenaltyPath& path :
         {leave_one_out(EigenSystem(system), kept, grid), leave_one_out(system, kept, grid, nullptr)}) {
      EXPECT_LT(path.best, path.scores.size());
      EXPECT_GE(path.scores.size(), 8U);
      EXPECT_EQ(path.scores.back().penalty, grid.back());
      for (const PenaltyScore& score : path.scores) {
        // The oracle inverts a matrix of rank n plus the ridge: it knows errors to 10⁻¹⁶ of the matrix over the ridge.
        if (score.penalty < 1e-7 * grid.back()) {
          EXPECT_GT(score.mean_square, 0.3 * path.scores[path.best].mean_square);
          continue;
        }
        const double expected =
            oracle::refitted_leave_one_out(dense_rows, dense(s.y), s.all_weights(), score.penalty * s.total(), true);
        EXPECT_NEAR(score.mean_square, expected, 1e-5 * expected) << c.name << " n " << n << " penalty " << score.penalty;
      }
    }
  }
}

TEST_P(LeaveOneOut, WeightsAreRepetitions) {
  const Sample& c = GetParam();
  const FourierMap map = map_of(c.kernel, c.inputs, c.outputs, 8);
  Data s = data(40, c.inputs, c.outputs);
  s.weights = counts(40);
  const Paths weighted = paths(map, s, true);
  const Paths plain = paths(map, repeated(s), true);
  for (std::size_t l = 0; l < penalties.size(); ++l) {
    EXPECT_NEAR(weighted.eigen.scores[l].mean_square, plain.eigen.scores[l].mean_square,
                1e-9 * plain.eigen.scores[l].mean_square);
    EXPECT_NEAR(weighted.cholesky.scores[l].mean_square, plain.cholesky.scores[l].mean_square,
                1e-9 * plain.cholesky.scores[l].mean_square);
  }
}

TEST_P(LeaveOneOut, ExactPathEqualsRefittingWithoutEachRow) {
  const Sample& c = GetParam();
  for (const int kind : {0, 1, 2}) {
    Data s = data(14, c.inputs, c.outputs);
    if (kind == 1) s.weights = counts(14);
    if (kind == 2) {
      for (Index i = 0; i < 14; ++i) s.weights.push_back(0.02 + 0.3 * static_cast<double>(i % 5));
    }
    const ExactProblem problem{kernel_of(c.kernel, c.inputs, c.outputs), s.x, s.y, s.all_weights(), kind != 1};
    PenaltyPath path;
    const ExactSolution solution = solve_exact(problem, std::nullopt, Uncertainty::none, &path, nullptr);
    EXPECT_TRUE(path.all_rows);
    EXPECT_EQ(solution.penalty, path.scores[path.best].penalty);
    int compared = 0;
    for (const PenaltyScore& score : path.scores) {
      if (score.penalty < 1e-5) continue;  // the oracle's own conditioning
      ++compared;
      const double expected = oracle::refitted_leave_one_out(problem.kernel, s.x, dense(s.y), s.all_weights(),
                                                             score.penalty * s.total(), problem.intercept);
      EXPECT_NEAR(score.mean_square, expected, 1e-7 * expected)
          << c.name << " kind " << kind << " penalty " << score.penalty;
    }
    EXPECT_GE(compared, 5);
  }
}

TEST_P(LeaveOneOut, ExactWeightsAreRepetitions) {
  const Sample& c = GetParam();
  Data s = data(15, c.inputs, c.outputs);
  s.weights = counts(15);
  const Data twice = repeated(s);
  PenaltyPath weighted;
  PenaltyPath plain;
  const OperatorKernel kernel = kernel_of(c.kernel, c.inputs, c.outputs);
  solve_exact({kernel, s.x, s.y, s.weights, true}, std::nullopt, Uncertainty::none, &weighted, nullptr);
  solve_exact({kernel, twice.x, twice.y, twice.all_weights(), true}, std::nullopt, Uncertainty::none, &plain, nullptr);
  ASSERT_EQ(weighted.scores.size(), plain.scores.size());
  for (std::size_t l = 0; l < plain.scores.size(); ++l) {
    EXPECT_EQ(weighted.scores[l].penalty, plain.scores[l].penalty);
    if (plain.scores[l].penalty < 1e-5) continue;
    EXPECT_NEAR(weighted.scores[l].mean_square, plain.scores[l].mean_square, 1e-8 * plain.scores[l].mean_square) << c.name;
  }
}

// A kernel of whatever size is offered penalties around its own scale, and the choice does not depend on the unit of A.
TEST(PenaltyGrid, FollowsTheScaleOfTheKernel) {
  const Data s = data(60, 2, 2, 0.5);
  for (const char* text :
       {"decomposable(gaussian(1), [[UNIT,0],[0,UNIT]])", "UNIT*gaussian(1)", "UNIT*curl_free(gaussian(1))"}) {
    std::vector<double> chosen;
    for (const char* unit : {"1", "1e6", "1e-6"}) {
      std::string kernel = text;
      for (auto at = kernel.find("UNIT"); at != std::string::npos; at = kernel.find("UNIT")) kernel.replace(at, 4, unit);
      const FourierMap map = map_of(kernel, 2, 2, 10);
      ArrayRows rows = s.rows();
      const NormalSystem system = normal_system(accumulate(map, rows, Precision::double_), map.coupling(), true);
      const LeaveOneOutRows kept = leave_one_out_rows(map, rows, system, 0, nullptr);
      const PenaltyPath path = leave_one_out(EigenSystem(system), kept, penalty_grid(system, 2));
      EXPECT_TRUE(std::ranges::is_sorted(path.scores, {}, &PenaltyScore::penalty));
      chosen.push_back(path.scores[path.best].penalty / std::stod(unit));
    }
    EXPECT_NEAR(chosen[1] / chosen[0], 1, 1e-6) << text;
    EXPECT_NEAR(chosen[2] / chosen[0], 1, 1e-6) << text;
  }
  // curl_free(gaussian(0.01)) has K(0) = 1e4·I: without this the grid would end below what pure noise asks for.
  const FourierMap map = map_of("curl_free(gaussian(0.01))", 2, 2, 10);
  ArrayRows rows = s.rows();
  const NormalSystem system = normal_system(accumulate(map, rows, Precision::double_), map.coupling(), true);
  const std::vector<double> grid = penalty_grid(system, 10);
  EXPECT_GE(grid.back(), 3e4);
  EXPECT_LE(grid.front(), 1e-8);
}

TEST(LeaveOneOutRows, LargeSetsUseARandomSubset) {
  const FourierMap map = map_of("gaussian(1)", 2, 1, 2500);  // 5000 columns: 3355 rows are 16 million numbers
  const Data s = data(4000, 2, 1);
  ArrayRows rows = s.rows();
  NormalSystem system;
  system.coupling = &map.coupling();
  system.mean_feature.assign(5000, 0.0);
  system.mean_target.assign(1, 0.0);
  const LeaveOneOutRows kept = leave_one_out_rows(map, rows, system, 1, nullptr);
  EXPECT_FALSE(kept.all_rows);
  // Binomial(4000, 0.839): 6 standard deviations are 140; outside with probability below 1e-8.
  EXPECT_NEAR(static_cast<double>(kept.features.rows()), 3355, 140);
  EXPECT_EQ(static_cast<Index>(kept.weights.size()), kept.features.rows());
}

}  // namespace
}  // namespace mercer
