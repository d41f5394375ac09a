// Posterior draws: 64 of them make a variance estimate that is χ²₆₄/64 times the exact one.
#include "solve/posterior.hpp"

#include <gtest/gtest.h>

#include <boost/math/distributions/chi_squared.hpp>

#include "solve/conjugate_gradient.hpp"
#include "solve/ridge.hpp"
#include "unit/solve/data.hpp"
#include "unit/solve/dense_ridge.hpp"

namespace mercer {
namespace {

using namespace samples;

constexpr double penalty = 1e-2;

Dense variances(const FourierMap& map, const RidgeSolution& s, ConstMatrix x) {
  EXPECT_EQ(s.posterior.kind, Posterior::Kind::samples);
  Matrix<double> phi = features(map, x);
  Matrix<double> out(x.rows, map.outputs());
  s.posterior.variance(map.coupling(), phi, out);
  return dense(out);
}

/// Every ratio within the 1e-9 and 1 - 1e-9 quantiles of χ²₆₄/64; the test has fewer than 2000 of them, so it fails by
/// chance with probability below 4e-6. The mean over all points, though correlated, must be nearer.
void expect_draws(const Dense& drawn, const Dense& exact, double intercept_variance, const std::string& where) {
  const boost::math::chi_squared law(static_cast<double>(posterior_samples));
  const double low = quantile(law, 1e-9) / static_cast<double>(posterior_samples);
  const double high = quantile(complement(law, 1e-9)) / static_cast<double>(posterior_samples);
  for (Index i = 0; i < exact.rows(); ++i) {
    for (Index a = 0; a < exact.cols(); ++a) {
      const double ratio = (drawn(i, a) - intercept_variance) / (exact(i, a) - intercept_variance);
      EXPECT_GT(ratio, low) << where;
      EXPECT_LT(ratio, high) << where;
    }
  }
}

TEST(PosteriorDraws, HaveTheRightVariance) {
  const Matrix<double> fresh = normals(20, 3, "fresh");
  for (const Sample& c : kernel_samples()) {
    const FourierMap map = map_of(c.kernel, c.inputs, c.outputs, 15);
    Data s = data(80, c.inputs, c.outputs);
    s.weights = counts(80);
    for (const bool intercept : {true, false}) {
      const ConstMatrix x = fresh.view().col_range(0, c.inputs);
      const double own = intercept ? 1 / s.total() : 0;
      const Dense exact = oracle::dense_ridge(operator_rows(map, s.x), dense(s.y), s.weights, penalty * s.total(), intercept)
                              .variance(operator_rows(map, x));
      ArrayRows rows = s.rows();
      const NormalSystem system = normal_system(accumulate(map, rows, Precision::double_), map.coupling(), intercept);
      expect_draws(variances(map, solve_cholesky(system, penalty, Uncertainty::samples), x), exact, own,
                   c.name + " cholesky");
      IterativeOptions options;
      options.penalty = penalty;
      options.intercept = intercept;
      options.keep = Uncertainty::samples;
      expect_draws(variances(map, solve_conjugate_gradient(map, rows, Precision::double_, options, nullptr), x), exact, own,
                   c.name + " cg");
    }
  }
}

// Draws of several outputs must be as correlated as the outputs are: Var(f₀ + f₁) and Var(f₀ - f₁) tell.
TEST(PosteriorDraws, KeepTheCorrelationOfOutputs) {
  const FourierMap map = map_of("decomposable(gaussian(1), [[1,0.9],[0.9,1]])", 2, 2, 15);
  const Data s = data(60, 2, 2);
  ArrayRows rows = s.rows();
  const NormalSystem system = normal_system(accumulate(map, rows, Precision::double_), map.coupling(), false);
  const RidgeSolution solution = solve_cholesky(system, penalty, Uncertainty::samples);
  const Dense z = operator_rows(map, s.x);
  const Dense inverse = oracle::dense_ridge(z, dense(s.y), s.all_weights(), penalty * s.total(), false).inverse;
  const boost::math::chi_squared law(static_cast<double>(posterior_samples));
  const Matrix<double> fresh = normals(10, 2, "fresh");
  const Dense g = operator_rows(map, fresh);
  const Matrix<double> phi = features(map, fresh);
  for (Index i = 0; i < 10; ++i) {
    for (const double sign : {1.0, -1.0}) {
      const ::Eigen::RowVectorXd contrast = g.row(2 * i) + sign * g.row(2 * i + 1);
      const double exact = (contrast * inverse * contrast.transpose())(0, 0);
      double drawn = 0;
      for (Index k = 0; k < posterior_samples; ++k) {
        double deviation = 0;
        for (Index c = 0; c < map.columns(); ++c) {
          deviation += phi(i, c) * (solution.posterior.factor(2 * k, c) + sign * solution.posterior.factor(2 * k + 1, c));
        }
        drawn += deviation * deviation;
      }
      EXPECT_GT(drawn / exact, quantile(law, 1e-9));
      EXPECT_LT(drawn / exact, quantile(complement(law, 1e-9)));
    }
  }
}

TEST(Posterior, CovarianceIsThatOfTheDenseProblem) {
  const Matrix<double> fresh = normals(12, 3, "fresh");
  for (const Sample& c : kernel_samples()) {
    const FourierMap map = map_of(c.kernel, c.inputs, c.outputs, 15);
    Data s = data(60, c.inputs, c.outputs);
    s.weights = counts(60);
    const ConstMatrix x = fresh.view().col_range(0, c.inputs);
    for (const bool intercept : {true, false}) {
      const Dense joint = oracle::dense_ridge(operator_rows(map, s.x), dense(s.y), s.weights, penalty * s.total(), intercept)
                              .covariance(operator_rows(map, x));
      ArrayRows rows = s.rows();
      const NormalSystem system = normal_system(accumulate(map, rows, Precision::double_), map.coupling(), intercept);
      for (const RidgeSolution& solution :
           {solve_cholesky(system, penalty, Uncertainty::full), EigenSystem(system).solve(penalty, Uncertainty::full)}) {
        ASSERT_NE(solution.posterior.kind, Posterior::Kind::samples) << c.name;
        Matrix<double> phi = features(map, x);
        Matrix<double> variance(x.rows, c.outputs);
        solution.posterior.variance(map.coupling(), phi, variance);
        for (Index a = 0; a < c.outputs; ++a) {
          phi = features(map, x);
          Matrix<double> covariance(x.rows, x.rows);
          solution.posterior.covariance(map.coupling(), phi, a, covariance);
          const Dense expected = oracle::of_output(joint, c.outputs, a);
          EXPECT_LT((dense(covariance) - expected).norm(), 1e-8 * expected.norm()) << c.name;
          EXPECT_LT((dense(covariance).diagonal() - dense(variance).col(a)).norm(), 1e-12 * expected.norm()) << c.name;
        }
      }
    }
  }
}

// Of draws it is their second moment.
TEST(PosteriorDraws, HaveACovariance) {
  const FourierMap map = map_of("decomposable(gaussian(1), [[1,0.9],[0.9,1]])", 2, 2, 15);
  const Data s = data(60, 2, 2);
  ArrayRows rows = s.rows();
  const NormalSystem system = normal_system(accumulate(map, rows, Precision::double_), map.coupling(), false);
  const RidgeSolution solution = solve_cholesky(system, penalty, Uncertainty::samples);
  const Matrix<double> fresh = normals(5, 2, "fresh");
  const Dense deviations = dense(features(map, fresh)) * dense(solution.posterior.factor).transpose();
  for (Index a = 0; a < 2; ++a) {
    Matrix<double> phi = features(map, fresh);
    Matrix<double> covariance(5, 5);
    solution.posterior.covariance(map.coupling(), phi, a, covariance);
    for (Index i = 0; i < 5; ++i) {
      for (Index j = 0; j < 5; ++j) {
        double sum = 0;
        for (Index k = 0; k < posterior_samples; ++k) sum += deviations(i, 2 * k + a) * deviations(j, 2 * k + a);
        EXPECT_NEAR(covariance(i, j), sum / static_cast<double>(posterior_samples), 1e-12);
      }
    }
  }
}

TEST(Posterior, NothingKeptIsAnError) {
  const FourierMap map = map_of("gaussian(1)", 2, 1, 5);
  Matrix<double> phi(3, map.columns());
  Matrix<double> out(3, 1);
  EXPECT_THROW(Posterior().variance(map.coupling(), phi, out), Error);
}

TEST(Posterior, AutomaticKeepsAllUpToALimit) {
  EXPECT_EQ(resolve(Uncertainty::automatic, full_posterior_limit), Uncertainty::full);
  EXPECT_EQ(resolve(Uncertainty::automatic, full_posterior_limit + 1), Uncertainty::samples);
  EXPECT_EQ(resolve(Uncertainty::none, 1), Uncertainty::none);
  EXPECT_EQ(resolve(Uncertainty::automatic, full_eigen_limit + 1, full_eigen_limit), Uncertainty::samples);
  EXPECT_EQ(resolve(Uncertainty::full, full_eigen_limit + 1, full_eigen_limit), Uncertainty::full);
}

}  // namespace
}  // namespace mercer
