#include "gp/spectral_coordinates.hpp"

#include <cmath>

#include "base/fail.hpp"
#include "base/text.hpp"

namespace mercer {
namespace {

/// v = e^z + this: targets without any noise would send the likelihood to infinity and the factors with it.
constexpr double least_noise = 1e-8;

/// L row by row, the logarithms of its diagonal.
void append_factor(const Matrix<double>& l, std::vector<double>& out) {
  for (Index i = 0; i < l.rows(); ++i) {
    for (Index j = 0; j <= i; ++j) out.push_back(i == j ? std::log(l(i, i)) : l(i, j));
  }
}

Matrix<double> read_factor(std::span<const double> in, Index p) {
  Matrix<double> l(p, p);
  std::size_t next = 0;
  for (Index i = 0; i < p; ++i) {
    for (Index j = 0; j <= i; ++j, ++next) l(i, j) = i == j ? std::exp(in[next]) : in[next];
  }
  return l;
}

}  // namespace

Parametrization parse_parametrization(const std::string& text) {
  if (text == "general") return Parametrization::general;
  if (text == "natural") return Parametrization::natural;
  fail_argument("the parametrization " + mercer::quoted(text) + " is none of general, natural" +
                did_you_mean(text, {"general", "natural"}));
}
const char* to_string(Parametrization parametrization) {
  return parametrization == Parametrization::general ? "general" : "natural";
}

SpectralCoordinates::SpectralCoordinates(const SpectralParameters& shape, Parametrization parametrization)
    : shape_(shape), parametrization_(parametrization) {}

Index SpectralCoordinates::size() const {
  const Index p = shape_.factor.rows();
  return shape_.mixture.components() * (1 + 2 * shape_.mixture.inputs()) + 1 + shape_.mean.size() +
         (p > 1 ? p * (p + 1) / 2 : 0);
}

std::vector<double> SpectralCoordinates::coordinates(const SpectralParameters& parameters) const {
  const Mixture& m = parameters.mixture;
  std::vector<double> out;
  for (const double w : m.weights) out.push_back(std::log(w));
  const std::span<const double> units = shape_.mixture.scales.values();
  for (std::size_t i = 0; i < units.size(); ++i) {
    const double mean = m.means.values()[i];
    const double scale = m.scales.values()[i];
    out.push_back(parametrization_ == Parametrization::general ? mean / units[i] : mean * units[i] / (scale * scale));
  }
  for (const double scale : m.scales.values()) {
    out.push_back(std::log(scale) * (parametrization_ == Parametrization::general ? 1 : -2));
  }
  out.push_back(std::log(std::max(parameters.noise - least_noise, least_noise)));
  out.insert(out.end(), parameters.mean.values().begin(), parameters.mean.values().end());
  if (parameters.factor.rows() > 1) append_factor(parameters.factor, out);
  return out;
}

SpectralParameters SpectralCoordinates::parameters(std::span<const double> coordinates) const {
  SpectralParameters result = shape_;
  Mixture& m = result.mixture;
  const std::size_t q = m.weights.size();
  const std::size_t qd = m.means.values().size();
  for (std::size_t i = 0; i < q; ++i) m.weights[i] = std::exp(coordinates[i]);
  for (std::size_t i = 0; i < qd; ++i) {
    const double unit = shape_.mixture.scales.values()[i];
    const double location = coordinates[q + i];
    const double spread = coordinates[q + qd + i];
    const bool general = parametrization_ == Parametrization::general;
    const double scale = general ? std::exp(spread) : std::exp(-spread / 2);
    m.scales.values()[i] = scale;
    m.means.values()[i] = general ? location * unit : location * scale * scale / unit;
  }
  result.noise = least_noise + std::exp(coordinates[q + 2 * qd]);
  const std::span<const double> rest = coordinates.subspan(q + 2 * qd + 1);
  const auto means = static_cast<std::size_t>(result.mean.size());
  std::ranges::copy(rest.first(means), result.mean.values().begin());
  const Index p = result.factor.rows();
  if (p > 1) result.factor = read_factor(rest.subspan(means), p);
  return result;
}

void SpectralCoordinates::pull_back(const SpectralParameters& parameters, const SpectralGradient& gradient,
                                    std::span<double> out) const {
  const Mixture& m = parameters.mixture;
  const std::size_t q = m.weights.size();
  const std::size_t qd = m.means.values().size();
  std::ranges::copy(gradient.log_weights, out.begin());
  for (std::size_t i = 0; i < qd; ++i) {
    const double unit = shape_.mixture.scales.values()[i];
    const double mean = m.means.values()[i];
    const double scale = m.scales.values()[i];
    const double by_mean = gradient.mixture.means.values()[i];
    const double by_scale = gradient.mixture.scales.values()[i];
    if (parametrization_ == Parametrization::general) {
      out[q + i] = by_mean * unit;
      out[q + qd + i] = by_scale * scale;
    } else {  // σ² = e^{-z}: ∂σ/∂z = -σ/2 and ∂μ/∂z = -μ at fixed η₁
      out[q + i] = by_mean * scale * scale / unit;
      out[q + qd + i] = -by_scale * scale / 2 - by_mean * mean;
    }
  }
  out[q + 2 * qd] = gradient.log_noise * (parameters.noise - least_noise) / parameters.noise;
  const std::span<double> rest = out.subspan(q + 2 * qd + 1);
  std::ranges::copy(gradient.mean.values(), rest.begin());
  const Matrix<double>& l = parameters.factor;
  const Index p = l.rows();
  if (p < 2) return;
  std::size_t next = gradient.mean.values().size();
  for (Index i = 0; i < p; ++i) {
    for (Index j = 0; j <= i; ++j, ++next) {  // ∂/∂L = 2 (∂/∂B) L
      double sum = 0;
      for (Index k = j; k < p; ++k) sum += 2 * gradient.outputs(i, k) * l(k, j);
      rest[next] = i == j ? sum * l(i, i) : sum;
    }
  }
}

}  // namespace mercer
