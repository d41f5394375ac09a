#include "solve/exact.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/parallel.hpp"
#include "solve/ridge.hpp"
#include "unit/solve/data.hpp"
#include "unit/solve/dense_ridge.hpp"

namespace mercer {
namespace {

using namespace samples;

constexpr double penalty = 1e-3;

struct Predicted {
  Dense mean;
  Dense variance;
};

Predicted run(const ExactProblem& problem, const ExactSolution& solution, ConstMatrix x) {
  Matrix<double> mean(x.rows, problem.targets.cols());
  Matrix<double> variance(x.rows, problem.targets.cols());
  predict_exact(problem, solution, x, mean);
  variance_exact(problem, solution, x, variance);
  return {dense(mean), dense(variance)};
}

double relative(const Dense& a, const Dense& b) {
  return (a - b).norm() / b.norm();
}

class Exact : public testing::TestWithParam<Sample> {};
INSTANTIATE_TEST_SUITE_P(Kernels, Exact, testing::ValuesIn(kernel_samples()),
                         [](const auto& sample) { return sample.param.name; });

TEST_P(Exact, IsKrigingInFunctionSpace) {
  const Sample& c = GetParam();
  const Matrix<double> fresh = normals(150, c.inputs, "fresh");  // more than one block of queries
  for (const bool intercept : {true, false}) {
    for (const bool weighted : {true, false}) {
      Data s = data(40, c.inputs, c.outputs);
      if (weighted) s.weights = counts(40);
      const ExactProblem problem{kernel_of(c.kernel, c.inputs, c.outputs), s.x, s.y, s.all_weights(), intercept};
      const ExactSolution solution = solve_exact(problem, penalty, Uncertainty::full, nullptr, nullptr);
      EXPECT_EQ(static_cast<Index>(solution.factors.size()), factor_count(problem.kernel, c.outputs));
      EXPECT_TRUE(solution.note.empty()) << solution.note;
      const Predicted p = run(problem, solution, fresh);
      const double ridge = penalty * s.total();
      const auto expected = oracle::dense_kernel_ridge(problem.kernel, s.x, dense(s.y), s.all_weights(), ridge, intercept);
      EXPECT_LT(relative(p.mean, expected.predict(fresh)), 1e-8) << c.name;
      EXPECT_LT(relative(p.variance, expected.variance(fresh, ridge)), 1e-8) << c.name;
      const Dense joint = expected.covariance(fresh, ridge);
      for (Index a = 0; a < c.outputs; ++a) {
        Matrix<double> covariance(fresh.rows(), fresh.rows());
        covariance_exact(problem, solution, fresh, a, covariance);
        EXPECT_LT(relative(dense(covariance), oracle::of_output(joint, c.outputs, a)), 1e-8) << c.name;
        EXPECT_LT(relative(dense(covariance).diagonal(), p.variance.col(a)), 1e-10) << c.name;
      }
    }
  }
}

/// Down to functions that run through all points, where n - tr(H) has no digit left: Σr²/(n - tr H) is ridge·αᵀα/tr(C), C
/// the rows' block of the inverse of the bordered system.
TEST_P(Exact, NoiseIsToldFromWhatIsLeftOfTheRows) {
  const Sample& c = GetParam();
  const Data s = data(30, c.inputs, c.outputs, 0.0);
  for (const bool intercept : {true, false}) {
    const ExactProblem problem{kernel_of(c.kernel, c.inputs, c.outputs), s.x, s.y, s.all_weights(), intercept};
    for (const double small : {1e-3, 1e-6, 1e-9, 1e-12}) {
      const ExactSolution solution = solve_exact(problem, small, Uncertainty::none, nullptr, nullptr);
      if (!solution.note.empty()) continue;  // kernels without full rank: the ridge was raised
      const double ridge = small * s.total();
      const auto expected = oracle::dense_kernel_ridge(problem.kernel, s.x, dense(s.y), s.all_weights(), ridge, intercept);
      const double left =
          expected.inverse.topLeftCorner(30 * c.outputs, 30 * c.outputs).trace() / static_cast<double>(c.outputs);
      // Both inverses lose the condition number of K in digits: kernels of low rank keep few at the smallest ridges.
      const double condition = expected.cross(s.x).leftCols(30 * c.outputs).norm() / ridge;
      if (condition * 1e-16 > 1e-3) continue;
      for (Index a = 0; a < c.outputs; ++a) {
        double squares = 0;
        for (Index i = 0; i < 30; ++i) squares += std::pow(expected.solution(i * c.outputs + a), 2);
        EXPECT_NEAR(solution.noise[static_cast<std::size_t>(a)] / (ridge * squares / left), 1,
                    1e-6 + 100 * condition * 1e-16)
            << c.name << " penalty " << small;
      }
    }
  }
}

TEST_P(Exact, WeightsAreRepetitions) {
  const Sample& c = GetParam();
  const Matrix<double> fresh = normals(20, c.inputs, "fresh");
  Data s = data(25, c.inputs, c.outputs);
  s.weights = counts(25);
  const Data twice = repeated(s);
  const OperatorKernel kernel = kernel_of(c.kernel, c.inputs, c.outputs);
  const ExactProblem weighted{kernel, s.x, s.y, s.weights, true};
  const ExactProblem plain{kernel, twice.x, twice.y, twice.all_weights(), true};
  const ExactSolution a = solve_exact(weighted, penalty, Uncertainty::full, nullptr, nullptr);
  const ExactSolution b = solve_exact(plain, penalty, Uncertainty::full, nullptr, nullptr);
  EXPECT_LT(relative(run(weighted, a, fresh).mean, run(plain, b, fresh).mean), 1e-10) << c.name;
  EXPECT_LT(relative(run(weighted, a, fresh).variance, run(plain, b, fresh).variance), 1e-9) << c.name;
}

// A kernel with finitely many features is the same problem in both rooms.
TEST(ExactSolver, FiniteKernelsEqualTheirFourierMap) {
  const struct {
    const char* kernel;
    Index outputs;
  } cases[] = {{"linear()", 1},
               {"polynomial(3, 0.5)", 2},
               {"decomposable(polynomial(2, 1), [[2,0.5],[0.5,1]])", 2},
               {"decomposable(linear(), [[1,2],[2,4]]) + 0.5*polynomial(2, 1)", 2}};
  for (const auto& c : cases) {
    for (const bool intercept : {true, false}) {
      Data s = data(60, 2, c.outputs);
      s.weights = counts(60);
      const Matrix<double> fresh = normals(30, 2, "fresh");
      const FourierMap map = map_of(c.kernel, 2, c.outputs, 5);
      ArrayRows rows = s.rows();
      const NormalSystem system = normal_system(accumulate(map, rows, Precision::double_), map.coupling(), intercept);
      const RidgeSolution features_side = EigenSystem(system).solve(penalty, Uncertainty::full);
      Dense mean = dense(features(map, fresh)) * dense(features_side.weights);
      for (Index a = 0; a < c.outputs; ++a) mean.col(a).array() += features_side.intercept[static_cast<std::size_t>(a)];
      Matrix<double> phi = features(map, fresh);
      Matrix<double> variance(30, c.outputs);
      features_side.posterior.variance(map.coupling(), phi, variance);
      const ExactProblem problem{kernel_of(c.kernel, 2, c.outputs), s.x, s.y, s.weights, intercept};
      const ExactSolution solution = solve_exact(problem, penalty, Uncertainty::full, nullptr, nullptr);
      const Predicted p = run(problem, solution, fresh);
      EXPECT_LT(relative(p.mean, mean), 1e-8) << c.kernel;
      EXPECT_LT(relative(p.variance, dense(variance)), 1e-8) << c.kernel;
      // The trace is estimated by probes there: within a quarter of the n - df it is subtracted from.
      for (std::size_t a = 0; a < solution.noise.size(); ++a) {
        EXPECT_NEAR(solution.noise[a] / features_side.noise[a], 1, 0.25) << c.kernel;
      }
    }
  }
}

TEST(ExactSolver, ManyFeaturesApproachIt) {
  const Data s = data(100, 2, 2);
  const Matrix<double> fresh = normals(50, 2, "fresh");
  const ExactProblem problem{kernel_of("helmholtz(gaussian(1), 0.4)", 2, 2), s.x, s.y, s.all_weights(), true};
  const ExactSolution solution = solve_exact(problem, 1e-2, Uncertainty::full, nullptr, nullptr);
  const Predicted p = run(problem, solution, fresh);
  const FourierMap map = map_of("helmholtz(gaussian(1), 0.4)", 2, 2, 600);
  ArrayRows rows = s.rows();
  const NormalSystem system = normal_system(accumulate(map, rows, Precision::double_), map.coupling(), true);
  const RidgeSolution ridge = solve_cholesky(system, 1e-2, Uncertainty::none);
  Dense mean = dense(features(map, fresh)) * dense(ridge.weights);
  for (Index a = 0; a < 2; ++a) mean.col(a).array() += ridge.intercept[static_cast<std::size_t>(a)];
  EXPECT_LT(relative(mean, p.mean), 0.1);
}

TEST(ExactSolver, ThreadsDoNotChangeABit) {
  const int before = threads();
  const Data s = data(80, 2, 2);
  const ExactProblem problem{kernel_of("curl_free(gaussian(1))", 2, 2), s.x, s.y, s.all_weights(), true};
  set_threads(1);
  const ExactSolution one = solve_exact(problem, std::nullopt, Uncertainty::full, nullptr, nullptr);
  for (const int count : {2, 3}) {
    set_threads(count);
    const ExactSolution many = solve_exact(problem, std::nullopt, Uncertainty::full, nullptr, nullptr);
    EXPECT_EQ(one.penalty, many.penalty);
    EXPECT_TRUE(std::ranges::equal(one.coefficients.values(), many.coefficients.values()));
    EXPECT_EQ(one.noise, many.noise);
  }
  set_threads(before);
}

TEST(ExactSolver, SaysWhyThereIsNoSpread) {
  const Data s = data(20, 2, 1);
  const ExactProblem problem{kernel_of("gaussian(1)", 2, 1), s.x, s.y, s.all_weights(), true};
  Matrix<double> v(20, 1);
  EXPECT_THROW(variance_exact(problem, solve_exact(problem, 1e-3, Uncertainty::none, nullptr, nullptr), s.x, v), Error);
  EXPECT_THROW(variance_exact(problem, solve_exact(problem, 0.0, Uncertainty::full, nullptr, nullptr), s.x, v), Error);
}

}  // namespace
}  // namespace mercer
