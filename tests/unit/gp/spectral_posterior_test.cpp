// The posterior against the dense Gaussian formula, one draw at a time and averaged.
#include "gp/spectral_posterior.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <numbers>

namespace mercer {
namespace {

using Dense = ::Eigen::MatrixXd;
using Vector = ::Eigen::VectorXd;

SpectralParameters two_components() {
  SpectralParameters parameters;
  parameters.mixture.weights = {0.7, 0.4};
  parameters.mixture.means = Matrix<double>(2, 1, {0.3, 1.1});
  parameters.mixture.scales = Matrix<double>(2, 1, {0.1, 0.2});
  parameters.noise = 0.2;
  parameters.mean = Matrix<double>(1, 1, {0.5});
  parameters.factor = Matrix<double>(1, 1, {1.0});
  return parameters;
}

/// Σ_j a_j² cos 2π s_j (x - z).
Dense feature_kernel(const SparseProcess& process, const Matrix<double>& x, const Matrix<double>& z) {
  Dense k = Dense::Zero(x.rows(), z.rows());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < z.rows(); ++j) {
      for (Index m = 0; m < process.frequencies.rows(); ++m) {
        k(i, j) += std::pow(process.amplitudes[static_cast<std::size_t>(m)], 2) *
                   std::cos(2 * std::numbers::pi * process.frequencies(m, 0) * (x(i, 0) - z(j, 0)));
      }
    }
  }
  return k;
}

class SpectralPosteriorTest : public testing::TestWithParam<int> {
 protected:
  SpectralPosteriorTest() {
    const Stream stream(2, "rows");
    for (Index i = 0; i < x_.rows(); ++i) {
      x_(i, 0) = 10 * stream.uniform(static_cast<std::uint64_t>(i), 0);
      y_(i, 0) = stream.normal(static_cast<std::uint64_t>(i), 1);
    }
    for (Index i = 0; i < new_.rows(); ++i) new_(i, 0) = 9 + static_cast<double>(i);
  }
  Matrix<double> x_{20, 1};
  Matrix<double> y_{20, 1};
  Matrix<double> new_{5, 1};
};

TEST_P(SpectralPosteriorTest, IsTheDenseFormulaWithTheVarianceAmongDraws) {
  const SpectralParameters parameters = two_components();
  const int draws = GetParam();
  std::vector<SpectralPoints> points;
  for (int k = 0; k < draws; ++k) {
    points.push_back(draw_points(parameters.mixture, {4, 3}, PointSampling::monte_carlo,
                                 Stream(1, "draw").child("k", static_cast<std::uint64_t>(k))));
  }
  const SpectralPosterior posterior = SpectralPosterior::condition(x_, y_, parameters, points, Index{1} << 24);
  Dense means(new_.rows(), draws);
  Dense covariance = Dense::Zero(new_.rows(), new_.rows());
  for (int k = 0; k < draws; ++k) {
    const SparseProcess process = process_of(parameters, points[static_cast<std::size_t>(k)]);
    Dense s = feature_kernel(process, x_, x_);
    s.diagonal().array() += parameters.noise;
    const Dense cross = feature_kernel(process, new_, x_);
    const ::Eigen::LDLT<Dense> factor(s);
    Vector r(x_.rows());
    for (Index i = 0; i < x_.rows(); ++i) r(i) = y_(i, 0) - 0.5;
    means.col(k) = (cross * factor.solve(r)).array() + 0.5;
    covariance += (feature_kernel(process, new_, new_) - cross * factor.solve(cross.transpose())) / draws;
  }
  const Vector mean = means.rowwise().mean();
  if (draws > 1) {
    const Dense away = means.colwise() - mean;
    covariance += away * away.transpose() / (draws - 1) * (1 + 1.0 / draws);
  }
  Matrix<double> found_mean(new_.rows(), 1);
  Matrix<double> found_variance(new_.rows(), 1);
  Matrix<double> found_covariance(new_.rows(), new_.rows());
  posterior.mean(new_, found_mean);
  posterior.variance(new_, found_variance);
  posterior.covariance(new_, 0, found_covariance);
  for (Index i = 0; i < new_.rows(); ++i) {
    EXPECT_NEAR(found_mean(i, 0), mean(i), 1e-10);
    EXPECT_NEAR(found_variance(i, 0), covariance(i, i), 1e-10);
    for (Index j = 0; j < new_.rows(); ++j) EXPECT_NEAR(found_covariance(i, j), covariance(i, j), 1e-10);
  }
}

INSTANTIATE_TEST_SUITE_P(Draws, SpectralPosteriorTest, testing::Values(1, 2, 5));

}  // namespace
}  // namespace mercer
