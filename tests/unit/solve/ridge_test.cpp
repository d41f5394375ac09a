// Every direct solver, and conjugate gradients, against one dense system for problem (P).
#include "solve/ridge.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "solve/conjugate_gradient.hpp"
#include "solve/refinement.hpp"
#include "unit/solve/data.hpp"
#include "unit/solve/dense_ridge.hpp"

namespace mercer {
namespace {

using namespace samples;
using oracle::dense_ridge;
using oracle::DenseRidge;

constexpr double penalty = 1e-3;

/// f at rows x from a solution.
Dense predictions(const FourierMap& map, const RidgeSolution& s, ConstMatrix x) {
  Dense f = dense(features(map, x)) * dense(s.weights);
  for (Index a = 0; a < f.cols(); ++a) f.col(a).array() += s.intercept[static_cast<std::size_t>(a)];
  return f;
}

Dense variances(const FourierMap& map, const RidgeSolution& s, ConstMatrix x) {
  Matrix<double> phi = features(map, x);
  Matrix<double> out(x.rows, map.outputs());
  s.posterior.variance(map.coupling(), phi, out);
  return dense(out);
}

struct Solved {
  std::string how;
  RidgeSolution solution;
};

std::vector<Solved> solve_all(const FourierMap& map, const Data& s, bool intercept, double lambda = penalty) {
  ArrayRows rows = s.rows();
  const RidgeStatistics t = accumulate(map, rows, Precision::double_);
  const NormalSystem system = normal_system(t, map.coupling(), intercept);
  std::vector<Solved> all;
  all.push_back({"cholesky", solve_cholesky(system, lambda, Uncertainty::full)});
  all.push_back({"eigen", EigenSystem(system).solve(lambda, Uncertainty::full)});
  IterativeOptions options;
  options.penalty = lambda;
  options.intercept = intercept;
  options.tolerance = 1e-12;
  all.push_back({"cg", solve_conjugate_gradient(map, rows, Precision::double_, options, nullptr)});
  options.memory_bytes = 0;  // features computed anew on every pass
  all.push_back({"cg without memory", solve_conjugate_gradient(map, rows, Precision::double_, options, nullptr)});
  all.push_back(
      {"refined", Refinement(map, rows, {.intercept = intercept}, nullptr).solve({.penalty = lambda, .tolerance = 1e-12})});
  return all;
}

double relative(const Dense& a, const Dense& b) {
  return (a - b).norm() / b.norm();
}

class Ridge : public testing::TestWithParam<Sample> {};
INSTANTIATE_TEST_SUITE_P(Kernels, Ridge, testing::ValuesIn(kernel_samples()),
                         [](const auto& sample) { return sample.param.name; });

TEST_P(Ridge, EverySolverMatchesTheDenseProblem) {
  const Sample& c = GetParam();
  const FourierMap map = map_of(c.kernel, c.inputs, c.outputs, 12);
  const Matrix<double> fresh = normals(20, c.inputs, "fresh");
  for (const Index n : {Index{9}, Index{150}}) {  // fewer rows than features, and more
    for (const bool intercept : {true, false}) {
      for (const bool weighted : {false, true}) {
        Data s = data(n, c.inputs, c.outputs);
        if (weighted) {
          for (Index i = 0; i < n; ++i) s.weights.push_back(0.1 + static_cast<double>(i % 7));
        }
        const DenseRidge expected =
            dense_ridge(operator_rows(map, s.x), dense(s.y), s.all_weights(), penalty * s.total(), intercept);
        const Dense f = expected.predict(operator_rows(map, fresh));
        const double left = std::max(s.total() - expected.degrees_of_freedom, 0.01 * s.total());
        for (const Solved& solved : solve_all(map, s, intercept)) {
          const std::string where =
              c.name + " " + solved.how + " n=" + std::to_string(n) + (intercept ? " c" : "") + (weighted ? " w" : "");
          EXPECT_LT(relative(predictions(map, solved.solution, fresh), f), 1e-8) << where;
          EXPECT_TRUE(solved.solution.note.empty()) << where << solved.solution.note;
          EXPECT_DOUBLE_EQ(solved.solution.weight, s.total()) << where;
          if (solved.how != "eigen") continue;
          EXPECT_NEAR(solved.solution.degrees_of_freedom, expected.degrees_of_freedom, 1e-8 * expected.degrees_of_freedom)
              << where;
          for (std::size_t a = 0; a < expected.rss.size(); ++a) {
            EXPECT_NEAR(solved.solution.noise[a], expected.rss[a] / left, 1e-8 * expected.rss[a] / left + 1e-12) << where;
          }
        }
      }
    }
  }
}

TEST_P(Ridge, FullPosteriorIsTheDenseOne) {
  const Sample& c = GetParam();
  const FourierMap map = map_of(c.kernel, c.inputs, c.outputs, 12);
  const Matrix<double> fresh = normals(20, c.inputs, "fresh");
  for (const bool intercept : {true, false}) {
    Data s = data(60, c.inputs, c.outputs);
    s.weights = counts(60);
    const DenseRidge expected = dense_ridge(operator_rows(map, s.x), dense(s.y), s.weights, penalty * s.total(), intercept);
    const Dense v = expected.variance(operator_rows(map, fresh));
    ArrayRows rows = s.rows();
    const RidgeStatistics t = accumulate(map, rows, Precision::double_);
    const NormalSystem system = normal_system(t, map.coupling(), intercept);
    EXPECT_LT(relative(variances(map, EigenSystem(system).solve(penalty, Uncertainty::full), fresh), v), 1e-8) << c.name;
    const RidgeSolution cholesky = solve_cholesky(system, penalty, Uncertainty::full);
    EXPECT_LT(relative(variances(map, cholesky, fresh), v), 1e-8) << c.name;
    if (c.name == "full") {  // several gains share no Cholesky factor, but an eigenbasis
      EXPECT_EQ(cholesky.posterior.kind, Posterior::Kind::eigen);
    }
    EXPECT_EQ(solve_cholesky(system, penalty, Uncertainty::none).posterior.kind, Posterior::Kind::none);
  }
}

TEST_P(Ridge, WeightsAreRepetitions) {
  const Sample& c = GetParam();
  const FourierMap map = map_of(c.kernel, c.inputs, c.outputs, 12);
  Data s = data(40, c.inputs, c.outputs);
  s.weights = counts(40);
  const Data twice = repeated(s);
  const Matrix<double> fresh = normals(20, c.inputs, "fresh");
  const auto weighted = solve_all(map, s, true);
  const auto plain = solve_all(map, twice, true);
  for (std::size_t k = 0; k < weighted.size(); ++k) {
    const RidgeSolution& a = weighted[k].solution;
    const RidgeSolution& b = plain[k].solution;
    EXPECT_LT(relative(predictions(map, a, fresh), predictions(map, b, fresh)), 1e-10) << weighted[k].how;
    EXPECT_DOUBLE_EQ(a.weight, b.weight);
    if (k > 1) continue;  // draws of conjugate gradients follow the rows
    EXPECT_LT(relative(variances(map, a, fresh), variances(map, b, fresh)), 1e-8) << weighted[k].how;
    EXPECT_NEAR(a.degrees_of_freedom, b.degrees_of_freedom, 1e-8 * b.degrees_of_freedom);
    for (std::size_t q = 0; q < a.noise.size(); ++q) EXPECT_NEAR(a.noise[q], b.noise[q], 1e-8 * b.noise[q]);
  }
}

// tr(M⁻¹) by 32 Rademacher probes has a standard deviation of at most ‖M⁻¹‖_F √(2/32) ≤ tr(M⁻¹)/4; ridge·tr(M⁻¹) is what is
// subtracted, so the degrees of freedom err by less than six of them with probability above 1 - 1e-8.
/// More features than rows, down to functions that run through all points. In function space, with C the rows' block of the
/// inverse of the bordered system of K = ΦΦᵀ, Σr² is ridge²·αᵀα and what is left of the rows ridge·tr(C).
TEST(EigenRidge, NoiseOfFunctionsThroughAllPoints) {
  constexpr Index n = 20;
  for (const char* kernel : {"gaussian(1)", "decomposable(gaussian(1), [[2,0.5],[0.5,1]])"}) {
    const Index p = std::string(kernel).starts_with("d") ? 2 : 1;
    const FourierMap map = map_of(kernel, 3, p, 60);
    const Data s = data(n, 3, p, 0.0);
    const Dense rows = operator_rows(map, s.x);
    for (const bool intercept : {true, false}) {
      ArrayRows source = s.rows();
      const NormalSystem system = normal_system(accumulate(map, source, Precision::double_), map.coupling(), intercept);
      for (const double small : {1e-1, 1e-4, 1e-7, 1e-10, 1e-12}) {
        const RidgeSolution solution = EigenSystem(system).solve(small, Uncertainty::none);
        const double ridge = small * n;
        Dense bordered = Dense::Zero(n * p + (intercept ? p : 0), n * p + (intercept ? p : 0));
        bordered.topLeftCorner(n * p, n * p) = rows * rows.transpose() + ridge * Dense::Identity(n * p, n * p);
        for (Index i = 0; intercept && i < n * p; ++i) bordered(i, n * p + i % p) = bordered(n * p + i % p, i) = 1;
        const Dense inverse = bordered.fullPivLu().inverse();
        Vector y = Vector::Zero(bordered.rows());
        for (Index i = 0; i < n * p; ++i) y(i) = s.y(i / p, i % p);
        const Vector alpha = inverse * y;
        const double left = ridge * inverse.topLeftCorner(n * p, n * p).trace() / static_cast<double>(p);
        EXPECT_NEAR((n - solution.degrees_of_freedom) / left, 1, 1e-3 + 1e-14 / left) << kernel << " " << small;
        for (Index a = 0; a < p; ++a) {
          double squares = 0;
          for (Index i = 0; i < n; ++i) squares += std::pow(ridge * alpha(i * p + a), 2);
          EXPECT_NEAR(solution.noise[static_cast<std::size_t>(a)] / (squares / left), 1, 1e-3) << kernel << " " << small;
        }
      }
    }
  }
}

TEST_P(Ridge, CholeskyDegreesOfFreedomAreEstimated) {
  const Sample& c = GetParam();
  const FourierMap map = map_of(c.kernel, c.inputs, c.outputs, 40);
  const Data s = data(300, c.inputs, c.outputs);
  ArrayRows rows = s.rows();
  const RidgeStatistics t = accumulate(map, rows, Precision::double_);
  const NormalSystem system = normal_system(t, map.coupling(), true);
  const RidgeSolution exact = EigenSystem(system).solve(penalty, Uncertainty::none);
  const RidgeSolution estimate = solve_cholesky(system, penalty, Uncertainty::none);
  const auto unknowns = static_cast<double>(map.coupling().parameters()) / static_cast<double>(c.outputs);
  const double subtracted = unknowns + 1 - exact.degrees_of_freedom;
  EXPECT_NEAR(estimate.degrees_of_freedom, exact.degrees_of_freedom, 1.5 * subtracted);
  EXPECT_NEAR(estimate.degrees_of_freedom, exact.degrees_of_freedom, 0.25 * exact.degrees_of_freedom);
}

// More rows than the preconditioner samples (1500 divided by the outputs), so that the iterations have work to do.
TEST(ConjugateGradient, ConvergesWithASampledPreconditioner) {
  for (const bool field : {false, true}) {
    const std::string kernel = field ? "helmholtz(gaussian(0.7), 0.3)" : "decomposable(gaussian(0.7), [[2,0.5],[0.5,1]])";
    const FourierMap map = map_of(kernel, 2, 2, 40);
    Data s = data(4000, 2, 2);
    s.weights = counts(4000);
    ArrayRows rows = s.rows();
    const RidgeStatistics t = accumulate(map, rows, Precision::double_);
    const NormalSystem system = normal_system(t, map.coupling(), true);
    const RidgeSolution direct = solve_cholesky(system, 1e-5, Uncertainty::none);
    IterativeOptions options;
    options.penalty = 1e-5;
    options.keep = Uncertainty::none;
    const RidgeSolution cg = solve_conjugate_gradient(map, rows, Precision::double_, options, nullptr);
    EXPECT_GT(cg.iterations, 2);
    EXPECT_LT(cg.iterations, 100) << kernel;
    EXPECT_LE(cg.residual, 1e-9);
    const Matrix<double> fresh = normals(50, 2, "fresh");
    EXPECT_LT(relative(predictions(map, cg, fresh), predictions(map, direct, fresh)), 1e-8) << kernel;
    if (field) continue;
    // In float32 the operator is only known to about 1e-6.
    const RidgeSolution single = solve_conjugate_gradient(map, rows, Precision::single_, options, nullptr);
    EXPECT_LT(relative(predictions(map, single, fresh), predictions(map, direct, fresh)), 2e-2) << kernel;
    EXPECT_GT(single.residual, 1e-9);
    EXPECT_NE(single.note.find("float32"), std::string::npos) << single.note;
  }
}

TEST(ConjugateGradient, RefusesNoPenalty) {
  const Data s = data(30, 2, 1);
  ArrayRows rows = s.rows();
  IterativeOptions options;
  options.penalty = 0;
  EXPECT_THROW(solve_conjugate_gradient(map_of("gaussian(1)", 2, 1, 5), rows, Precision::double_, options, nullptr), Error);
}

TEST(SinglePrecision, StatisticsStatisticsGiveNearlyTheSameFunction) {
  const FourierMap map = map_of("gaussian(1)", 2, 1, 30);
  const Data s = data(2000, 2, 1);
  ArrayRows rows = s.rows();
  const RidgeStatistics narrow = accumulate(map, rows, Precision::single_);
  const RidgeStatistics wide = accumulate(map, rows, Precision::double_);
  const Matrix<double> fresh = normals(50, 2, "fresh");
  const Dense a =
      predictions(map, solve_cholesky(normal_system(narrow, map.coupling(), true), 1e-2, Uncertainty::none), fresh);
  const Dense b =
      predictions(map, solve_cholesky(normal_system(wide, map.coupling(), true), 1e-2, Uncertainty::none), fresh);
  // Statistics err by 1e-5 relative to n (see AreTheNaiveSums), the ridge is 1e-2 n: θ errs by 1e-3.
  EXPECT_LT(relative(a, b), 1e-3);
}

}  // namespace
}  // namespace mercer
