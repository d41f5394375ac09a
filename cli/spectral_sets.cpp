#include "spectral_sets.hpp"

#include <cmath>
#include <numbers>
#include <numeric>

#include "gp/initial_mixture.hpp"

namespace mercer::cli::reproduce {
namespace {

/// Gamma(shape, 1) by Marsaglia and Tsang (2000), whose squeeze wants shape >= 1: below, Gamma(shape + 1)·U^{1/shape}.
double gamma_draw(double shape, const Stream& stream) {
  if (shape < 1) return gamma_draw(shape + 1, stream.child("boost")) * std::pow(stream.uniform(0, 0), 1 / shape);
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (std::uint64_t trial = 0;; ++trial) {
    const double z = stream.normal(trial, 1);
    const double v = std::pow(1 + c * z, 3);
    if (v > 0 && std::log(stream.uniform(trial, 2)) < z * z / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace

std::vector<WaveSet> wave_sets() {
  std::vector<double> half(10, 10.0);
  std::fill(half.begin() + 5, half.end(), 1.0);
  return {{"almost equal", std::vector<double>(10, 100.0)},
          {"half equal", half},
          {"rarely equal", std::vector<double>(10, 0.3)}};
}

Rows draw_waves(const WaveSet& set, Index rows, double step, const Stream& stream) {
  std::vector<double> amplitude;
  for (std::size_t q = 0; q < set.theta.size(); ++q)
    amplitude.push_back(gamma_draw(set.theta[q], stream.child("weight", q)));
  const double total = std::accumulate(amplitude.begin(), amplitude.end(), 0.0);
  Rows drawn{Matrix<double>(rows, 1), Matrix<double>(rows, 1)};
  for (Index i = 0; i < rows; ++i) drawn.x(i, 0) = step * static_cast<double>(i);
  const Stream noise = stream.child("noise");
  for (std::size_t q = 0; q < amplitude.size(); ++q) {
    const double frequency = stream.uniform(q, 0);
    const double deviation = 0.1 * stream.uniform(q, 1);
    const double w = amplitude[q] / total * static_cast<double>(amplitude.size());
    for (Index i = 0; i < rows; ++i) {
      drawn.y(i, 0) += w * std::sin(2 * std::numbers::pi * frequency * drawn.x(i, 0)) + deviation * noise.normal(key(i), q);
    }
  }
  return drawn;
}

SpectralParameters spectral_start(const Rows& rows, Index components, const Stream& stream) {
  const InitialMixture found = initial_mixture(rows.x, rows.y.values(), components, stream);
  SpectralParameters start;
  start.mixture = to_mixture(found.kernel);
  start.noise = found.noise;
  start.mean = Matrix<double>(0, 1);
  start.factor = Matrix<double>(1, 1, {1.0});
  return start;
}

}  // namespace mercer::cli::reproduce
