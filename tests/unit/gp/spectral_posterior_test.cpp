// The posterior of a sparse-spectrum process against the dense formulas of Gaussian processes.
#include "gp/spectral_posterior.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <numbers>

#include "gp/spectral_training.hpp"

namespace mercer {
namespace {

using Dense = ::Eigen::MatrixXd;

struct Case {
  Matrix<double> x{30, 2};
  Matrix<double> y;
  Matrix<double> z{7, 2};
  SpectralParameters parameters;
  std::vector<SpectralPoints> points;

  explicit Case(Index p, int draws) : y(30, p) {
    const Stream stream(9, "setup");
    for (Index i = 0; i < 30; ++i) {
      for (Index k = 0; k < 2; ++k) x(i, k) = stream.normal(i, k);
      for (Index a = 0; a < p; ++a) y(i, a) = std::sin(x(i, 0) + a) + 0.3 * stream.normal(i, 5 + a);
    }
    for (Index i = 0; i < 7; ++i) {
      for (Index k = 0; k < 2; ++k) z(i, k) = 1.5 * stream.normal(100 + i, k);
    }
    parameters.mixture.weights = {0.8, 0.3};
    parameters.mixture.means = Matrix<double>(2, 2, {0.1, 0.2, 0.5, -0.3});
    parameters.mixture.scales = Matrix<double>(2, 2, {0.2, 0.1, 0.05, 0.2});
    parameters.noise = 0.2;
    parameters.mean = Matrix<double>(3, p);
    for (Index a = 0; a < p; ++a) parameters.mean(0, a) = 0.1 * (1 + a);
    for (Index a = 0; a < p; ++a) parameters.mean(2, a) = -0.2;
    parameters.factor = Matrix<double>(p, p);
    for (Index a = 0; a < p; ++a) {
      parameters.factor(a, a) = p == 1 ? 1.0 : 0.7;
      if (a > 0) parameters.factor(a, 0) = 0.5;
    }
    for (int k = 0; k < draws; ++k) {
      points.push_back(draw_points(parameters.mixture, {6, 4}, PointSampling::monte_carlo, stream.child("draw", k)));
    }
  }
};

Dense feature_kernel(const SparseProcess& process, const Matrix<double>& x, const Matrix<double>& z) {
  Dense k = Dense::Zero(x.rows(), z.rows());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < z.rows(); ++j) {
      for (Index m = 0; m < process.frequencies.rows(); ++m) {
        double turns = 0;
        for (Index c = 0; c < x.cols(); ++c) turns += process.frequencies(m, c) * (x(i, c) - z(j, c));
        k(i, j) += process.amplitudes[m] * process.amplitudes[m] * std::cos(2 * std::numbers::pi * turns);
      }
    }
  }
  return k;
}

double mean_at(const Case& s, const Matrix<double>& x, Index i, Index a) {
  double m = s.parameters.mean(0, a);
  for (Index k = 0; k < 2; ++k) m += s.parameters.mean(1 + k, a) * x(i, k);
  return m;
}

Dense kron(const Dense& k, const Dense& b) {
  Dense full(k.rows() * b.rows(), k.cols() * b.cols());
  for (Index i = 0; i < k.rows(); ++i) {
    for (Index j = 0; j < k.cols(); ++j) full.block(i * b.rows(), j * b.cols(), b.rows(), b.cols()) = k(i, j) * b;
  }
  return full;
}

// Little memory leaves the sums to the rows themselves; with enough of it they come from tables.
TEST(SpectralPosterior, IsTheSameFromTables) {
  const Stream stream(10, "series");
  Matrix<double> x(500, 1);
  Matrix<double> y(500, 1);
  for (Index i = 0; i < 500; ++i) {
    x(i, 0) = 100 + 15 * stream.uniform(i, 0);
    y(i, 0) = std::sin(2 * x(i, 0)) + 0.2 * stream.normal(i, 1);
  }
  SpectralParameters parameters;
  parameters.mixture.weights = {0.8, 0.3};
  parameters.mixture.means = Matrix<double>(2, 1, {0.3, 1.2});
  parameters.mixture.scales = Matrix<double>(2, 1, {0.1, 0.4});
  parameters.noise = 0.05;
  parameters.mean = Matrix<double>(2, 1, {0.4, -0.01});
  parameters.factor = Matrix<double>(1, 1, {1.0});
  std::vector<SpectralPoints> points;
  for (int k = 0; k < 6; ++k) {
    points.push_back(draw_points(parameters.mixture, {60, 40}, PointSampling::monte_carlo, stream.child("draw", k)));
  }
  std::vector<Matrix<double>> means;
  std::vector<Matrix<double>> variances;
  for (const Index memory : {Index{1} << 16, Index{1} << 28}) {
    const SpectralPosterior posterior = SpectralPosterior::condition(x, y, parameters, points, memory);
    means.emplace_back(500, 1);
    variances.emplace_back(500, 1);
    posterior.mean(x, means.back());
    posterior.variance(x, variances.back());
  }
  EXPECT_NE(means[0](0, 0), means[1](0, 0)) << "both ways were to be taken";
  for (Index i = 0; i < 500; ++i) {
    EXPECT_NEAR(means[0](i, 0), means[1](i, 0), 1e-9);
    EXPECT_NEAR(variances[0](i, 0), variances[1](i, 0), 1e-9 * variances[0](i, 0));
  }
}

TEST(SpectralPosterior, IsTheDensePosteriorAveragedOverDraws) {
  for (const auto& [p, draws] : {std::pair<Index, int>(1, 3), std::pair<Index, int>(2, 6)}) {
    const Case s(p, draws);
    Dense l(p, p);
    for (Index a = 0; a < p; ++a) {
      for (Index b = 0; b < p; ++b) l(a, b) = s.parameters.factor(a, b);
    }
    const Dense coupling = l * l.transpose();
    Dense mean = Dense::Zero(7 * p, 1);
    Dense within = Dense::Zero(7 * p, 7 * p);
    std::vector<Dense> means;
    for (const SpectralPoints& points : s.points) {
      const SparseProcess process = process_of(s.parameters, points);
      Dense k = kron(feature_kernel(process, s.x, s.x), coupling);
      k.diagonal().array() += s.parameters.noise;
      const Dense cross = kron(feature_kernel(process, s.z, s.x), coupling);
      Dense r(30 * p, 1);
      for (Index i = 0; i < 30; ++i) {
        for (Index a = 0; a < p; ++a) r(i * p + a) = s.y(i, a) - mean_at(s, s.x, i, a);
      }
      const ::Eigen::LLT<Dense> llt(k);
      Dense f = cross * llt.solve(r);
      for (Index i = 0; i < 7; ++i) {
        for (Index a = 0; a < p; ++a) f(i * p + a) += mean_at(s, s.z, i, a);
      }
      means.push_back(f);
      mean += f / draws;
      within += (kron(feature_kernel(process, s.z, s.z), coupling) - cross * llt.solve(cross.transpose())) / draws;
    }
    Dense total = within;
    const double divisor = draws == 6 ? 3 : 1;  // K - 3, at least 1
    for (const Dense& f : means) total += (f - mean) * (f - mean).transpose() / divisor * (1 + 1.0 / draws);
    const SpectralPosterior posterior = SpectralPosterior::condition(s.x, s.y, s.parameters, s.points, Index{1} << 26);
    Matrix<double> m(7, p);
    Matrix<double> v(7, p);
    posterior.mean(s.z, m);
    posterior.variance(s.z, v);
    for (Index i = 0; i < 7; ++i) {
      for (Index a = 0; a < p; ++a) {
        EXPECT_NEAR(m(i, a), mean(i * p + a), 1e-10);
        EXPECT_NEAR(v(i, a), total(i * p + a, i * p + a), 1e-10);
      }
    }
    for (Index a = 0; a < p; ++a) {
      Matrix<double> c(7, 7);
      posterior.covariance(s.z, a, c);
      for (Index i = 0; i < 7; ++i) {
        for (Index j = 0; j < 7; ++j) EXPECT_NEAR(c(i, j), total(i * p + a, j * p + a), 1e-10);
      }
    }
  }
}

/// Bands must hold another draw as often as they say, though the variance among draws is known from K = 8 of them only: by
/// Student's law with 7 degrees, (m' - m̄)² / variance is 1 in the mean. The draws' means are normal numbers here. Over 4000
/// trials that mean has deviation √(E t⁴/(E t²)² - 1)/√4000 = √(5 - 1)/63 = 0.032 (E t⁴ = 3·7²/(5·3), E t² = 7/5); six of
/// them are exceeded with probability 2e-9. Dividing by K - 1 would give 1.4.
TEST(SpectralPosterior, BandsHoldAnotherDraw) {
  const Stream stream(21, "draws");
  const int trials = 4000;
  const int draws = 8;
  Matrix<double> origin(1, 1);
  double sum = 0;
  for (int t = 0; t < trials; ++t) {
    std::vector<SpectralDraw> set;
    for (int k = 0; k < draws; ++k) {
      SpectralDraw draw;  // one point of frequency 0 and amplitude 1, its weights a normal number, and next to no variance
      draw.process.frequencies = Matrix<double>(1, 1);
      draw.process.amplitudes = {1.0};
      draw.process.noise = 1e-12;
      draw.process.mean = Matrix<double>(0, 1);
      draw.weights =
          Matrix<double>(2, 1, {stream.normal(static_cast<std::uint64_t>(t), static_cast<std::uint64_t>(k)), 0.0});
      draw.factors = {Matrix<double>(2, 2, {1.0, 0.0, 0.0, 1.0})};
      set.push_back(std::move(draw));
    }
    const SpectralPosterior posterior(std::move(set));
    Matrix<double> mean(1, 1);
    Matrix<double> variance(1, 1);
    posterior.mean(origin, mean);
    posterior.variance(origin, variance);
    const double another = stream.normal(static_cast<std::uint64_t>(t), draws);
    sum += (another - mean(0, 0)) * (another - mean(0, 0)) / variance(0, 0) / trials;
  }
  EXPECT_NEAR(sum, 1, 0.19);
}

/// Mean and variance of 6000 functions sampled under one draw of the points: at 14 numbers, 6 standard errors (of the mean;
/// the variance of a squared normal is 2) fail with probability 2e-9 each.
TEST(SpectralPosterior, SamplesHaveItsMoments) {
  const Case s(1, 1);
  const SpectralPosterior posterior = SpectralPosterior::condition(s.x, s.y, s.parameters, s.points, Index{1} << 26);
  const Index count = 6000;
  Matrix<double> functions(7, count);
  posterior.sample(s.z, count, Stream(3, "functions"), functions);
  Matrix<double> m(7, 1);
  Matrix<double> v(7, 1);
  posterior.mean(s.z, m);
  posterior.variance(s.z, v);
  for (Index i = 0; i < 7; ++i) {
    double sum = 0;
    double square = 0;
    for (const double f : functions.row(i)) {
      sum += f;
      square += (f - m(i, 0)) * (f - m(i, 0));
    }
    EXPECT_NEAR(sum / count, m(i, 0), 6 * std::sqrt(v(i, 0) / count));
    EXPECT_NEAR(square / count, v(i, 0), 6 * v(i, 0) * std::sqrt(2.0 / count));
  }
}

/// log E_q[p(y|s)] ≥ the bound whatever the prior: brute force over 200 000 draws of the points from the prior on 4 rows.
/// The Monte Carlo error of log E is below 0.05 here (its standard error is printed on failure); the gap is above 0.2.
TEST(SpectralBound, IsBelowTheLogMarginalLikelihood) {
  Matrix<double> x(4, 1, {-1.0, -0.2, 0.5, 1.1});
  Matrix<double> y(4, 1, {0.3, -0.4, 0.8, 0.1});
  SpectralParameters parameters;
  parameters.mixture.weights = {0.7};
  parameters.mixture.means = Matrix<double>(1, 1, {0.5});
  parameters.mixture.scales = Matrix<double>(1, 1, {0.15});
  parameters.noise = 0.1;
  parameters.mean = Matrix<double>(0, 1);
  parameters.factor = Matrix<double>(1, 1, {1.0});
  SpectralParameters prior = parameters;
  prior.mixture.means(0, 0) = 0.3;
  prior.mixture.scales(0, 0) = 0.3;
  const auto log_likelihood = [&](const SpectralParameters& p, int k) {
    const SpectralPoints points = draw_points(p.mixture, {2}, PointSampling::monte_carlo, Stream(8, "brute").child("k", k));
    return -small_likelihood(x, y, process_of(p, points), nullptr);
  };
  const int sets = 200000;
  double sum = 0;
  double square = 0;
  double expected_log = 0;
  for (int k = 0; k < sets; ++k) {
    const double p = std::exp(log_likelihood(prior, k));
    sum += p / sets;
    square += p * p / sets;
    if (k < 20000) expected_log += log_likelihood(parameters, sets + k) / 20000;
  }
  const double marginal = std::log(sum);
  const double relative_error = std::sqrt((square - sum * sum) / sets) / sum;
  const SpectralPoints points = draw_points(parameters.mixture, {2}, PointSampling::monte_carlo, Stream(8, "one"));
  MixtureGradient idle{Matrix<double>(1, 1), Matrix<double>(1, 1)};
  const double bound = expected_log - divergence(parameters.mixture, prior.mixture, points, 1.0, idle);
  EXPECT_LT(relative_error, 0.01);
  EXPECT_LT(bound, marginal - 0.05) << "standard error of the marginal " << relative_error;
}

/// Both optimizers and parametrisations find a planted period and predict half a cycle ahead.
TEST(SpectralTraining, FindsAPlantedPeriod) {
  Matrix<double> x(120, 1);
  Matrix<double> y(120, 1);
  Matrix<double> ahead(20, 1);
  Matrix<double> truth(20, 1);
  const Stream stream(5, "series");
  for (Index i = 0; i < 140; ++i) {
    const double t = -1.5 + 0.025 * static_cast<double>(i);
    const double f = std::sin(2 * std::numbers::pi * 3.1 * t);
    if (i < 120) {
      x(i, 0) = t;
      y(i, 0) = f + 0.1 * stream.normal(i, 0);
    } else {
      ahead(i - 120, 0) = t;
      truth(i - 120, 0) = f;
    }
  }
  SpectralParameters start;
  start.mixture.weights = {0.5, 0.5};
  start.mixture.means = Matrix<double>(2, 1, {2.9, 0.1});
  start.mixture.scales = Matrix<double>(2, 1, {0.2, 0.2});
  start.noise = 0.1;
  start.mean = Matrix<double>(1, 1);
  start.factor = Matrix<double>(1, 1, {1.0});
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::lbfgs}) {
    for (const Parametrization parametrization : {Parametrization::general, Parametrization::natural}) {
      SpectralTrainingOptions options;
      options.points = 20;
      options.draws = 2;
      options.steps = 150;
      options.divergence = 0.01;
      options.optimizer = optimizer;
      options.parametrization = parametrization;
      options.patience = 60;
      options.trace_every = 5;
      const SpectralTraining trained = train_spectral(x, y, start, options, {ahead, truth});
      const SpectralPosterior posterior =
          SpectralPosterior::condition(x, y, trained.parameters, trained.points, Index{1} << 26);
      EXPECT_LT(score_posterior(posterior, ahead, truth).rmse, 0.15)
          << to_string(optimizer) << " " << to_string(parametrization);
      EXPECT_NEAR(trained.parameters.mixture.means(0, 0), 3.1, 0.1);
      EXPECT_LT(trained.nlml, 0);
      EXPECT_FALSE(trained.trace.empty());
    }
  }
}

}  // namespace
}  // namespace mercer
