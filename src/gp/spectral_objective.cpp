#include "gp/spectral_objective.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/backend.hpp"
#include "base/parallel.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

void add_multiple(const Matrix<double>& from, double factor, Matrix<double>& to) {
  std::ranges::transform(from.values(), to.values(), to.values().begin(),
                         [&](double a, double b) { return factor * a + b; });
}

SpectralGradient zero_gradient(const SpectralParameters& shape) {
  SpectralGradient g;
  const Index q = shape.mixture.components();
  const Index d = shape.mixture.inputs();
  g.log_weights.assign(at(q), 0.0);
  g.mixture = {Matrix<double>(q, d), Matrix<double>(q, d)};
  g.mean = Matrix<double>(shape.mean.rows(), shape.mean.cols());
  g.outputs = Matrix<double>(shape.factor.rows(), shape.factor.rows());
  return g;
}

/// From points to the parameters that placed them: ∂s/∂μ = 1, ∂s/∂σ = ε, ∂log a/∂log w = ½.
void gather(const SparseGradient& from, const SpectralPoints& points, double share, SpectralGradient& to) {
  to.log_noise += share * from.log_noise;
  add_multiple(from.mean, share, to.mean);
  add_multiple(from.outputs, share, to.outputs);
  for (Index j = 0; j < points.count(); ++j) {
    const Index q = points.component[at(j)];
    to.log_weights[at(q)] += share * from.log_amplitude[at(j)] / 2;
    for (Index k = 0; k < points.epsilon.cols(); ++k) {
      to.mixture.means(q, k) += share * from.frequencies(j, k);
      to.mixture.scales(q, k) += share * from.frequencies(j, k) * points.epsilon(j, k);
    }
  }
}

}  // namespace

SparseProcess process_of(const SpectralParameters& parameters, const SpectralPoints& points) {
  SparseProcess process;
  process.frequencies = frequencies(parameters.mixture, points);
  process.amplitudes = amplitudes(parameters.mixture, points);
  process.noise = parameters.noise;
  process.mean = parameters.mean;
  if (parameters.factor.rows() > 1) {
    Matrix<double> b(parameters.factor.rows(), parameters.factor.rows());
    gemm<double>(false, true, 1.0, parameters.factor, parameters.factor, 0.0, b);
    process.share = output_share(b);
  }
  return process;
}

SpectralObjective::SpectralObjective(ConstMatrix x, ConstMatrix y, const SpectralCoordinates& coordinates,
                                     const Mixture& prior, double strength, Index memory_bytes)
    : x_(x), y_(y), coordinates_(coordinates), prior_(prior), strength_(strength), memory_bytes_(memory_bytes) {
  if (x.cols == 1 && x.rows > 0) tables_.emplace(x, y, 10.0, memory_bytes);  // training takes more steps than that
}

void SpectralObjective::set_points(std::vector<SpectralPoints> points) {
  points_ = std::move(points);
}

double SpectralObjective::evaluate(std::span<const double> at_coordinates, std::span<double> gradient) {
  const double undefined = std::numeric_limits<double>::infinity();
  std::ranges::fill(gradient, 0.0);
  // NaN, and locations so far away that their phases would have no digits left; what overflows is caught below.
  const auto wild = [](double v) { return !(std::abs(v) < 1e9); };
  if (std::ranges::any_of(at_coordinates, wild)) return undefined;
  const SpectralParameters parameters = coordinates_.parameters(at_coordinates);
  std::vector<SparseProcess> processes;
  std::vector<Matrix<double>> drawn;
  for (const SpectralPoints& points : points_) {
    processes.push_back(process_of(parameters, points));
    drawn.push_back(processes.back().frequencies);
    const auto unusable = [](double v) { return !std::isfinite(v); };
    if (std::ranges::any_of(drawn.back().values(), unusable) || std::ranges::any_of(processes.back().amplitudes, unusable) ||
        !(parameters.noise > 0) || !std::isfinite(parameters.noise))
      return undefined;
  }
  const Matrix<double> residuals = without_mean(x_, y_, parameters.mean);
  std::vector<SparseGradient> gradients(points_.size());
  std::vector<double> values(points_.size());
  const bool few_rows = x_.rows < processes.front().columns();  // n × n matrices are then the smaller
  const bool tabulated = !few_rows && tables_ && tables_->compute(processes, residuals, workspace_);
  if (!few_rows && !tabulated) sparse_statistics(x_, residuals, drawn, true, memory_bytes_, workspace_);
  workspace_.squares.resize(points_.size());
  parallel_for(static_cast<Index>(points_.size()), [&](Index k) {
    values[at(k)] = few_rows ? small_likelihood(x_, residuals, processes[at(k)], &gradients[at(k)])
                             : sparse_likelihood(workspace_.statistics[at(k)], processes[at(k)], &gradients[at(k)],
                                                 workspace_.squares[at(k)]);
  });
  SpectralGradient total = zero_gradient(parameters);
  const double share = 1 / static_cast<double>(points_.size());
  likelihood_ = 0;
  for (std::size_t k = 0; k < points_.size(); ++k) {
    if (!std::isfinite(values[k])) return undefined;
    likelihood_ += share * values[k];
    gather(gradients[k], points_[k], share, total);
  }
  double value = likelihood_;
  if (strength_ > 0) {
    for (const SpectralPoints& points : points_) {
      value += strength_ * share * divergence(parameters.mixture, prior_, points, strength_ * share, total.mixture);
    }
  }
  coordinates_.pull_back(parameters, total, gradient);
  return std::isfinite(value) ? value : undefined;
}

}  // namespace mercer
