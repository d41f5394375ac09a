#include "kernel/spectral_law.hpp"

#include <cmath>

#include "base/fail.hpp"
#include "base/random.hpp"
#include "kernel/rules.hpp"
#include "kernel/spectral_quantile.hpp"

// This file is compiled with -ffp-contract=off: every rounding is the same on every machine.

namespace mercer {
namespace {

constexpr double two_pi = 6.28318530717958647693;

/// omega += scale·z/ℓ.
void add_scaled(const LengthScale& length_scale, double scale, Point z, MutPoint omega) {
  for (std::size_t i = 0; i < z.size(); ++i) omega[i] += scale * z[i] / length_scale[static_cast<Index>(i)];
}

void add_mixture(const SpectralMixture& mixture, Point z, double u, MutPoint omega) {
  const double sign = u < 0.5 ? -1 : 1;
  double total = 0;
  for (const double w : mixture.weights) total += w;
  double left = (u < 0.5 ? 2 * u : 2 * u - 1) * total;
  std::size_t q = 0;
  while (q + 1 < mixture.weights.size() && left >= mixture.weights[q]) left -= mixture.weights[q++];
  for (std::size_t i = 0; i < z.size(); ++i) {
    omega[i] += sign * two_pi * (mixture.means[q][i] + mixture.scales[q][i] * z[i]);
  }
}

}  // namespace

StandardLaw standard_law(const Kernel& leaf) {
  if (std::holds_alternative<Laplacian>(leaf.form)) return StandardLaw::cauchy;
  if (std::holds_alternative<Cauchy>(leaf.form)) return StandardLaw::laplace;
  return StandardLaw::normal;
}

bool is_mixture(const Kernel& leaf) {
  return std::holds_alternative<Matern>(leaf.form) || std::holds_alternative<RationalQuadratic>(leaf.form) ||
         std::holds_alternative<SpectralMixture>(leaf.form);
}

double quantile(StandardLaw law, double u) {
  switch (law) {
    case StandardLaw::cauchy:
      return cauchy_quantile(u);
    case StandardLaw::laplace:
      return laplace_quantile(u);
    case StandardLaw::normal:
      break;
  }
  return normal_quantile(u);
}

void add_frequency(const Kernel& leaf, Point z, double u, MutPoint omega) {
  if (const auto* gaussian = std::get_if<Gaussian>(&leaf.form)) return add_scaled(gaussian->length_scale, 1, z, omega);
  if (const auto* laplacian = std::get_if<Laplacian>(&leaf.form)) return add_scaled(laplacian->length_scale, 1, z, omega);
  if (const auto* cauchy = std::get_if<Cauchy>(&leaf.form)) return add_scaled(cauchy->length_scale, 1, z, omega);
  if (const auto* matern = std::get_if<Matern>(&leaf.form)) {
    return add_scaled(matern->length_scale, 1 / std::sqrt(gamma_quantile(matern->nu, u)), z, omega);
  }
  if (const auto* rational = std::get_if<RationalQuadratic>(&leaf.form)) {
    return add_scaled(rational->length_scale, std::sqrt(gamma_quantile(rational->alpha, u)), z, omega);
  }
  if (const auto* mixture = std::get_if<SpectralMixture>(&leaf.form)) return add_mixture(*mixture, z, u, omega);
  fail_internal(std::string("no spectral law for ") + form_name(leaf));
}

}  // namespace mercer
