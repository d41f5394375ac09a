// Problems at the edge of what double precision can tell: never NaN, and a note that says what was done.
#include <gtest/gtest.h>

#include <cmath>

#include "base/text.hpp"
#include "solve/conjugate_gradient.hpp"
#include "solve/exact.hpp"
#include "solve/ridge.hpp"
#include "solve/stochastic.hpp"
#include "unit/solve/data.hpp"
#include "unit/solve/dense_ridge.hpp"

namespace mercer {
namespace {

using namespace samples;

bool all_finite(const RidgeSolution& s) {
  const auto finite = [](double v) { return std::isfinite(v); };
  return std::ranges::all_of(s.weights.values(), finite) && std::ranges::all_of(s.intercept, finite) &&
         std::ranges::all_of(s.noise, finite) && std::isfinite(s.degrees_of_freedom);
}

NormalSystem system_of(const FourierMap& map, const Data& s) {
  ArrayRows rows = s.rows();
  return normal_system(accumulate(map, rows, Precision::double_), map.coupling(), true);
}

Dense predictions(const FourierMap& map, const RidgeSolution& s, ConstMatrix x) {
  Dense f = dense(features(map, x)) * dense(s.weights);
  for (Index a = 0; a < f.cols(); ++a) f.col(a).array() += s.intercept[static_cast<std::size_t>(a)];
  return f;
}

void expect_usable(const FourierMap& map, const Data& s, const RidgeSolution& solution, const std::string& where) {
  EXPECT_TRUE(all_finite(solution)) << where;
  Matrix<double> phi = features(map, s.x);
  Matrix<double> out(phi.rows(), map.outputs());
  solution.posterior.variance(map.coupling(), phi, out);
  for (const double v : out.values()) EXPECT_TRUE(std::isfinite(v) && v >= 0) << where;
}

TEST(Degenerate, TinyPenaltiesAndDuplicatedRows) {
  for (const Sample& c : kernel_samples()) {
    const FourierMap map = map_of(c.kernel, c.inputs, c.outputs, 20);
    Data once = data(8, c.inputs, c.outputs, 0.0);
    once.weights.assign(8, 3.0);
    const Data s = repeated(once);  // 24 rows, 8 different: far fewer than the features
    for (const double penalty : {0.0, 1e-30, 1e-18}) {
      const std::string where = c.name + " " + shortest(penalty);
      const NormalSystem system = system_of(map, s);
      const RidgeSolution solution = solve_cholesky(system, penalty, Uncertainty::full);
      expect_usable(map, s, solution, where);
      EXPECT_NE(solution.note.find("not positive definite"), std::string::npos) << where << ": " << solution.note;
      expect_usable(map, s, EigenSystem(system).solve(penalty, Uncertainty::full), where);
      if (c.name == "deficient") continue;  // its functions cannot follow these targets
      EXPECT_LT((predictions(map, solution, s.x) - dense(s.y)).norm(), 1e-4 * dense(s.y).norm()) << where;
    }
  }
}

TEST(Degenerate, ConstantInputsGiveTheMean) {
  for (const Sample& c : kernel_samples()) {
    const FourierMap map = map_of(c.kernel, c.inputs, c.outputs, 10);
    Data s = data(30, c.inputs, c.outputs);
    for (Index i = 0; i < 30; ++i) std::ranges::fill(s.x.row(i), 0.7);
    for (const double penalty : {0.0, 1e-3}) {
      const NormalSystem system = system_of(map, s);
      for (const RidgeSolution& solution :
           {solve_cholesky(system, penalty, Uncertainty::full), EigenSystem(system).solve(penalty, Uncertainty::full)}) {
        expect_usable(map, s, solution, c.name);
        const Dense f = predictions(map, solution, s.x.view().row_range(0, 1));
        for (Index a = 0; a < c.outputs; ++a)
          EXPECT_NEAR(f(0, a), dense(s.y).col(a).mean(), 1e-8) << c.name << ' ' << penalty;
      }
    }
  }
}

TEST(Degenerate, NoPenaltyIsLeastSquaresWhereTheDataSuffice) {
  const Data s = data(200, 2, 3);
  for (const char* kernel : {"gaussian(1)", "decomposable(gaussian(1), [[2,0.5,0],[0.5,1,0],[0,0,1e-12]])"}) {
    const FourierMap map = map_of(kernel, 2, 3, 4);
    const Dense expected =
        oracle::dense_ridge(operator_rows(map_of("gaussian(1)", 2, 3, 4), s.x), dense(s.y), s.all_weights(), 0, true)
            .predict(operator_rows(map_of("gaussian(1)", 2, 3, 4), s.x));
    const NormalSystem system = system_of(map, s);
    EXPECT_LT((predictions(map, solve_cholesky(system, 0, Uncertainty::none), s.x) - expected).norm(),
              1e-7 * expected.norm());
    EXPECT_LT((predictions(map, EigenSystem(system).solve(0, Uncertainty::none), s.x) - expected).norm(),
              1e-7 * expected.norm())
        << "a gain of 1e-12 is not a direction without data";
  }
}

TEST(Degenerate, ZeroOutputMatrixGivesTheMean) {
  const FourierMap map = map_of("decomposable(gaussian(1), [[0,0],[0,0]])", 2, 2, 5);
  const Data s = data(30, 2, 2);
  const NormalSystem system = system_of(map, s);
  for (const RidgeSolution& solution :
       {solve_cholesky(system, 1e-3, Uncertainty::full), EigenSystem(system).solve(0, Uncertainty::full)}) {
    EXPECT_TRUE(all_finite(solution));
    EXPECT_NEAR(solution.intercept[0], dense(s.y).col(0).mean(), 1e-12);
  }
}

TEST(Degenerate, OverflowIsAnErrorThatSaysSo) {
  Data s = data(30, 2, 1);
  for (double& v : s.x.values()) v *= 1e180;
  const FourierMap map = map_of("linear()", 2, 1, 5);
  ArrayRows rows = s.rows();
  EXPECT_THROW(system_of(map, s), Error);
  EXPECT_THROW(solve_conjugate_gradient(map_of("polynomial(2, 1)", 2, 1, 5), rows, Precision::double_, {}, nullptr), Error);
  EXPECT_THROW(solve_stochastic(map, rows, Precision::double_, {}, nullptr), Error);
  const ExactProblem problem{kernel_of("linear()", 2, 1), s.x, s.y, s.all_weights(), true};
  EXPECT_THROW(solve_exact(problem, 1e-3, Uncertainty::full, nullptr, nullptr), Error);
  EXPECT_THROW(solve_exact(problem, std::nullopt, Uncertainty::full, nullptr, nullptr), Error);
}

TEST(Degenerate, ExactWithDuplicatedRowsOrWithoutPenalty) {
  for (const char* kernel : {"gaussian(1)", "decomposable(gaussian(1), [[1,2],[2,4]])",
                             "decomposable(gaussian(1), [[0,0],[0,0]])", "divergence_free(gaussian(1))"}) {
    Data once = data(12, 2, 2, 0.0);
    once.weights.assign(12, 2.0);
    const Data s = repeated(once);
    for (const double penalty : {0.0, 1e-22}) {
      const ExactProblem problem{kernel_of(kernel, 2, 2), s.x, s.y, s.all_weights(), true};
      const ExactSolution solution = solve_exact(problem, penalty, Uncertainty::full, nullptr, nullptr);
      Matrix<double> f(s.x.rows(), 2);
      predict_exact(problem, solution, s.x, f);
      const auto finite = [](double v) { return std::isfinite(v); };
      EXPECT_TRUE(std::ranges::all_of(f.values(), finite)) << kernel;
      EXPECT_TRUE(std::ranges::all_of(solution.noise, finite)) << kernel;
      if (std::string(kernel).find("[0,0]") == std::string::npos) {
        EXPECT_FALSE(solution.note.empty()) << kernel;
      }
      if (std::string(kernel) == "gaussian(1)") {
        EXPECT_LT((dense(f) - dense(s.y)).norm(), 1e-4 * dense(s.y).norm());
      }
      if (penalty == 0) continue;
      variance_exact(problem, solution, s.x, f);
      EXPECT_TRUE(std::ranges::all_of(f.values(), finite)) << kernel;
    }
  }
}

}  // namespace
}  // namespace mercer
