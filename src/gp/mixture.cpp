#include "gp/mixture.hpp"

#include <algorithm>
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

namespace {

/// The factors of a product, and what stands before it.
struct Term {
  double weight = 1;
  std::vector<Kernel> factors;
};

Term term_of(const Kernel& kernel) {
  if (const auto* scaled = std::get_if<Scaled>(&kernel.form)) {
    Term term = term_of(scaled->kernel.front());
    term.weight *= scaled->factor;
    return term;
  }
  if (const auto* product = std::get_if<Product>(&kernel.form)) return {1, product->factors};
  return {1, {kernel}};
}

/// The length scales of a Matérn or Cauchy envelope; none for other kernels.
std::optional<LengthScale> envelope_lengths(const Kernel& kernel) {
  if (const auto* matern = std::get_if<Matern>(&kernel.form)) return matern->length_scale;
  if (const auto* cauchy = std::get_if<Cauchy>(&kernel.form)) return cauchy->length_scale;
  return {};
}

Kernel unit_length(Kernel kernel) {
  std::visit(
      [](auto& form) {
        if constexpr (requires { form.length_scale; }) form.length_scale = {{1.0}, false};
      },
      kernel.form);
  return kernel;
}

}  // namespace

std::optional<Mixture> mixture_of(const Kernel& kernel, Index inputs) {
  if (const auto* gaussian = std::get_if<SpectralMixture>(&kernel.form)) return to_mixture(*gaussian);
  const auto* sum = std::get_if<Sum>(&kernel.form);
  const std::vector<Kernel> terms = sum == nullptr ? std::vector{kernel} : sum->terms;
  Mixture mixture;
  mixture.means = mixture.scales = Matrix<double>(static_cast<Index>(terms.size()), inputs);
  for (std::size_t q = 0; q < terms.size(); ++q) {
    const Term term = term_of(terms[q]);
    if (term.factors.size() != 2) return {};
    const auto* cosine = std::get_if<SpectralMixture>(&term.factors[0].form);
    const std::optional<LengthScale> lengths = envelope_lengths(term.factors[1]);
    if (cosine == nullptr || cosine->weights.size() != 1 || !lengths) return {};
    if (std::ranges::any_of(cosine->scales.front(), [](double scale) { return scale != 0; })) return {};
    const Kernel envelope = unit_length(term.factors[1]);
    if (q > 0 && envelope != mixture.envelope) return {};
    mixture.envelope = envelope;
    mixture.weights.push_back(term.weight * cosine->weights.front());
    for (Index k = 0; k < inputs; ++k) {
      mixture.means(static_cast<Index>(q), k) = cosine->means.front()[static_cast<std::size_t>(k)];
      mixture.scales(static_cast<Index>(q), k) = 1 / (two_pi * (*lengths)[k]);
    }
  }
  return mixture;
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
