// The sparse-spectrum likelihood and the bound against dense formulas and finite differences.
#include "gp/spectral_objective.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <numbers>

#include "base/parallel.hpp"
#include "base/random.hpp"

namespace mercer {
namespace {

using Dense = ::Eigen::MatrixXd;

Matrix<double> normal_matrix(Index rows, Index cols, const char* what) {
  const Stream stream(7, what);
  Matrix<double> m(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) m(i, j) = stream.normal(i, j);
  }
  return m;
}

SpectralParameters some_parameters(Index q, Index d, Index p, MeanForm mean, const Kernel& envelope) {
  SpectralParameters parameters;
  const Stream stream(3, "parameters");
  parameters.mixture.envelope = envelope;
  parameters.mixture.means = Matrix<double>(q, d);
  parameters.mixture.scales = Matrix<double>(q, d);
  for (Index i = 0; i < q; ++i) {
    parameters.mixture.weights.push_back(0.2 + stream.uniform(i, 0));
    for (Index k = 0; k < d; ++k) {
      parameters.mixture.means(i, k) = 0.7 * stream.normal(i, 1 + k);
      parameters.mixture.scales(i, k) = 0.1 + 0.3 * stream.uniform(i, 10 + k);
    }
  }
  parameters.noise = 0.3;
  parameters.mean = normal_matrix(mean_rows(mean, d), p, "mean");
  parameters.factor = Matrix<double>(p, p);
  for (Index a = 0; a < p; ++a) {
    for (Index b = 0; b < a; ++b) parameters.factor(a, b) = 0.4 * stream.normal(a, 30 + b);
    parameters.factor(a, a) = p == 1 ? 1 : 0.5 + stream.uniform(a, 40);
  }
  return parameters;
}

Kernel gaussian_envelope() {
  return {Gaussian{{{1.0}, false}}};
}
Kernel student_envelope() {
  return {Matern{{{1.0}, false}, 1.5}};
}
Kernel laplace_envelope() {
  return {Cauchy{{{1.0}, false}}};
}

/// -log N(vec(y - m); 0, K ⊗ B + vI) with K = ΦΦᵀ written out.
double dense_likelihood(const Matrix<double>& x, const Matrix<double>& y, const SpectralParameters& parameters,
                        const SparseProcess& process) {
  const Index n = x.rows();
  const Index p = y.cols();
  Dense k = Dense::Zero(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      for (Index m = 0; m < process.frequencies.rows(); ++m) {
        double turns = 0;
        for (Index c = 0; c < x.cols(); ++c) turns += process.frequencies(m, c) * (x(i, c) - x(j, c));
        k(i, j) += process.amplitudes[m] * process.amplitudes[m] * std::cos(2 * std::numbers::pi * turns);
      }
    }
  }
  Dense l(p, p);
  for (Index a = 0; a < p; ++a) {
    for (Index b = 0; b < p; ++b) l(a, b) = parameters.factor(a, b);
  }
  const Dense b = l * l.transpose();
  Dense full(n * p, n * p);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) full.block(i * p, j * p, p, p) = k(i, j) * b;
  }
  full.diagonal().array() += parameters.noise;
  ::Eigen::VectorXd r(n * p);
  for (Index i = 0; i < n; ++i) {
    for (Index a = 0; a < p; ++a) {
      double mean = 0;
      for (Index h = 0; h < parameters.mean.rows(); ++h) mean += parameters.mean(h, a) * (h == 0 ? 1 : x(i, h - 1));
      r(i * p + a) = y(i, a) - mean;
    }
  }
  const ::Eigen::LLT<Dense> llt(full);
  double log_determinant = 0;
  for (Index i = 0; i < n * p; ++i) log_determinant += 2 * std::log(llt.matrixL()(i, i));
  return 0.5 * (r.dot(llt.solve(r)) + log_determinant + n * p * std::log(2 * std::numbers::pi));
}

struct Case {
  Index d;
  Index p;
  int draws;
  MeanForm mean;
  Parametrization parametrization;
  Kernel envelope;
  Index rows = 40;  ///< 24 columns: statistics above, n × n matrices below
  Index times = 1;  ///< as many points; with 120 of them tables pay
};

/// One input and enough points for tables of sums over the rows.
std::vector<Case> tabulated_cases() {
  std::vector<Case> all;
  for (const MeanForm mean : {MeanForm::none, MeanForm::constant, MeanForm::linear}) {
    all.push_back({1, 1, 2, mean, Parametrization::general, gaussian_envelope(), 300, 10});
    all.push_back({1, 2, 1, mean, Parametrization::natural, student_envelope(), 250, 10});
  }
  return all;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Index d : {1, 3}) {
    for (const int draws : {1, 4}) {
      for (const auto parametrization : {Parametrization::general, Parametrization::natural}) {
        for (const Kernel& envelope : {gaussian_envelope(), student_envelope(), laplace_envelope()}) {
          all.push_back({d, 1, draws, MeanForm::linear, parametrization, envelope});
        }
        all.push_back({d, 3, draws, MeanForm::constant, parametrization, gaussian_envelope()});
      }
    }
  }
  all.push_back({1, 1, 1, MeanForm::none, Parametrization::general, gaussian_envelope()});
  for (const Index d : {1, 3}) {
    for (const Index p : {1, 3})
      all.push_back({d, p, 2, MeanForm::linear, Parametrization::general, gaussian_envelope(), 17});
  }
  for (Case& c : tabulated_cases()) all.push_back(std::move(c));
  return all;
}

struct Problem {
  explicit Problem(const Case& c)
      : x(normal_matrix(c.rows, c.d, "x")),
        y(normal_matrix(c.rows, c.p, "y")),
        parameters(some_parameters(3, c.d, c.p, c.mean, c.envelope)),
        prior(parameters.mixture),
        coordinates(parameters, c.parametrization) {
    for (double& v : prior.means.values()) v += 0.1;
    for (double& v : prior.scales.values()) v *= 1.3;
    for (int k = 0; k < c.draws; ++k) {
      points.push_back(draw_points(parameters.mixture, {4 * c.times, 3 * c.times, 5 * c.times}, PointSampling::monte_carlo,
                                   Stream(5, "draw").child("k", k)));
    }
  }
  Matrix<double> x;
  Matrix<double> y;
  SpectralParameters parameters;
  Mixture prior;
  SpectralCoordinates coordinates;
  std::vector<SpectralPoints> points;
};

TEST(SpectralObjective, LikelihoodIsTheDenseFormula) {
  for (const Case& c : cases()) {
    Problem problem(c);
    SpectralObjective objective(problem.x, problem.y, problem.coordinates, problem.prior, 0.0, Index{1} << 28);
    objective.set_points(problem.points);
    std::vector<double> gradient(objective.size());
    const double value = objective.evaluate(problem.coordinates.coordinates(problem.parameters), gradient);
    double expected = 0;
    for (const SpectralPoints& points : problem.points) {
      expected +=
          dense_likelihood(problem.x, problem.y, problem.parameters, process_of(problem.parameters, points)) / c.draws;
    }
    EXPECT_NEAR(value, expected, 1e-9 * std::abs(expected)) << "d " << c.d << " p " << c.p << " draws " << c.draws;
  }
}

TEST(SpectralObjective, TablesServeTheCasesMadeForThem) {
  for (const Case& c : tabulated_cases()) {
    const Problem problem(c);
    std::vector<SparseProcess> processes;
    for (const SpectralPoints& points : problem.points) processes.push_back(process_of(problem.parameters, points));
    TabulatedStatistics tables(problem.x, problem.y, 10, Index{1} << 28);
    SparseWorkspace workspace;
    EXPECT_TRUE(tables.compute(processes, without_mean(problem.x, problem.y, problem.parameters.mean), workspace));
  }
}

TEST(SpectralObjective, GradientIsTheFiniteDifference) {
  for (const Case& c : cases()) {
    Problem problem(c);
    SpectralObjective objective(problem.x, problem.y, problem.coordinates, problem.prior, 0.7, Index{1} << 28);
    objective.set_points(problem.points);
    std::vector<double> at = problem.coordinates.coordinates(problem.parameters);
    std::vector<double> gradient(objective.size());
    std::vector<double> idle(objective.size());
    objective.evaluate(at, gradient);
    double size = 0;
    for (const double g : gradient) size = std::max(size, std::abs(g));
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double h = 2e-4;
      const double keep = at[i];
      // Fourth order: the error of the difference is far below the tolerance.
      const auto value = [&](double shift) {
        at[i] = keep + shift;
        const double v = objective.evaluate(at, idle);
        at[i] = keep;
        return v;
      };
      const double slope = (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h);
      EXPECT_NEAR(gradient[i], slope, 1e-6 * std::max(1.0, size))
          << "coordinate " << i << " d " << c.d << " p " << c.p << " draws " << c.draws << " "
          << to_string(c.parametrization);
    }
  }
}

TEST(SpectralObjective, CoordinatesComeBack) {
  for (const Case& c : cases()) {
    const Problem problem(c);
    const std::vector<double> at = problem.coordinates.coordinates(problem.parameters);
    EXPECT_EQ(static_cast<Index>(at.size()), problem.coordinates.size());
    const std::vector<double> again = problem.coordinates.coordinates(problem.coordinates.parameters(at));
    for (std::size_t i = 0; i < at.size(); ++i) EXPECT_NEAR(at[i], again[i], 1e-12 * std::max(1.0, std::abs(at[i])));
  }
}

TEST(SpectralObjective, SameBitsForAnyNumberOfThreads) {
  const Case c{2, 1, 2, MeanForm::linear, Parametrization::general, gaussian_envelope()};
  Problem problem(c);
  const Matrix<double> x = normal_matrix(1700, 2, "long x");
  const Matrix<double> y = normal_matrix(1700, 1, "long y");
  std::vector<std::vector<double>> gradients;
  std::vector<double> values;
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    SpectralObjective objective(x, y, problem.coordinates, problem.prior, 1.0, Index{1} << 28);
    objective.set_points(problem.points);
    gradients.emplace_back(objective.size());
    values.push_back(objective.evaluate(problem.coordinates.coordinates(problem.parameters), gradients.back()));
  }
  set_threads(0);
  EXPECT_EQ(values[0], values[1]);
  EXPECT_EQ(values[0], values[2]);
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_EQ(gradients[0], gradients[2]);
}

TEST(SpectralObjective, FarAwayCoordinatesAreInfiniteNotAnError) {
  const Case c{1, 1, 1, MeanForm::linear, Parametrization::natural, gaussian_envelope()};
  Problem problem(c);
  SpectralObjective objective(problem.x, problem.y, problem.coordinates, problem.prior, 1.0, Index{1} << 28);
  objective.set_points(problem.points);
  std::vector<double> at = problem.coordinates.coordinates(problem.parameters);
  std::vector<double> gradient(objective.size());
  at[0] = 1e4;
  EXPECT_TRUE(std::isinf(objective.evaluate(at, gradient)));
  at[0] = std::nan("");
  EXPECT_TRUE(std::isinf(objective.evaluate(at, gradient)));
}

}  // namespace
}  // namespace mercer
