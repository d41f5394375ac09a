#include "gp/mixture.hpp"

#include <cmath>
#include <numbers>

#include "base/fail.hpp"
#include "kernel/evaluate.hpp"

namespace mercer {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;

Matrix<double> matrix_of(const std::vector<std::vector<double>>& rows) {
  Matrix<double> m(static_cast<Index>(rows.size()), rows.empty() ? 0 : static_cast<Index>(rows.front().size()));
  for (std::size_t q = 0; q < rows.size(); ++q) std::ranges::copy(rows[q], m.row(static_cast<Index>(q)).begin());
  return m;
}

std::vector<std::vector<double>> rows_of(const Matrix<double>& m) {
  std::vector<std::vector<double>> rows;
  for (Index q = 0; q < m.rows(); ++q) rows.emplace_back(m.row(q).begin(), m.row(q).end());
  return rows;
}

}  // namespace

Mixture to_mixture(const SpectralMixture& kernel) {
  Mixture mixture;
  mixture.weights = kernel.weights;
  mixture.means = matrix_of(kernel.means);
  mixture.scales = matrix_of(kernel.scales);
  return mixture;
}

Kernel to_kernel(const Mixture& mixture) {
  if (std::holds_alternative<Gaussian>(mixture.envelope.form))
    return {SpectralMixture{mixture.weights, rows_of(mixture.means), rows_of(mixture.scales)}};
  const std::vector<std::vector<double>> means = rows_of(mixture.means);
  Sum sum;
  for (std::size_t q = 0; q < mixture.weights.size(); ++q) {
    LengthScale lengths;
    for (const double scale : mixture.scales.row(static_cast<Index>(q))) lengths.values.push_back(1 / (two_pi * scale));
    Kernel envelope = mixture.envelope;
    std::visit(
        [&](auto& form) {
          if constexpr (requires { form.length_scale; }) form.length_scale = lengths;
        },
        envelope.form);
    const SpectralMixture cosine{{1.0}, {means[q]}, {std::vector<double>(means[q].size(), 0.0)}};
    sum.terms.push_back({Scaled{mixture.weights[q], {{Product{{{cosine}, envelope}}}}}});
  }
  return sum.terms.size() == 1 ? sum.terms.front() : Kernel{sum};
}

double component_value(const Mixture& mixture, Index q, Point delta) {
  std::vector<double> stretched(delta.size());
  const std::vector<double> origin(delta.size(), 0.0);
  double turns = 0;
  for (std::size_t k = 0; k < delta.size(); ++k) {
    turns += mixture.means(q, static_cast<Index>(k)) * delta[k];
    stretched[k] = two_pi * mixture.scales(q, static_cast<Index>(k)) * delta[k];
  }
  return std::cos(two_pi * (turns - std::nearbyint(turns))) * value(mixture.envelope, stretched, origin);
}

double value(const Mixture& mixture, Point delta) {
  double sum = 0;
  for (Index q = 0; q < mixture.components(); ++q) {
    sum += mixture.weights[static_cast<std::size_t>(q)] * component_value(mixture, q, delta);
  }
  return sum;
}

namespace {

/// At z, of unit scale. Independent inputs (Gaussian, Cauchy) or not (Matern): the law of one of them is the same.
double unit_density(const Kernel& envelope, double z) {
  using std::numbers::pi;
  if (std::holds_alternative<Gaussian>(envelope.form)) return std::exp(-z * z / 2) / std::sqrt(2 * pi);
  if (std::holds_alternative<Cauchy>(envelope.form)) return std::exp(-std::abs(z)) / 2;
  if (const auto* matern = std::get_if<Matern>(&envelope.form)) {
    const double k = 2 * matern->nu;
    return std::exp(std::lgamma((k + 1) / 2) - std::lgamma(k / 2) - (k + 1) / 2 * std::log1p(z * z / k)) / std::sqrt(k * pi);
  }
  fail_argument("the components of a spectrum are Gaussian, Student or Laplace");
}

}  // namespace

double folded_density(const Kernel& envelope, double mean, double scale, double frequency) {
  return (unit_density(envelope, (frequency - mean) / scale) + unit_density(envelope, (frequency + mean) / scale)) / scale;
}

}  // namespace mercer
