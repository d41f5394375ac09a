#pragma once
#include <mercer/kernel.hpp>

#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

namespace mercer::reference {

/// The definitions of include/mercer/kernel.hpp in long double, as slow and as obvious as they come.

using Real = long double;
using Vector = std::vector<Real>;

inline Real radius2(const LengthScale& scale, const Vector& x, const Vector& z) {
  Real s = 0;
  for (std::size_t i = 0; i < x.size(); ++i) s += std::pow((x[i] - z[i]) / scale[static_cast<Index>(i)], Real(2));
  return s;
}

inline Real matern(Real nu, Real r) {
  if (r == 0) return 1;
  const Real z = std::sqrt(2 * nu) * r;
  // In logarithms: 2^{1-ν}/Γ(ν) z^ν K_ν(z).
  return std::exp((1 - nu) * std::log(Real(2)) - std::lgamma(nu) + nu * std::log(z)) * std::cyl_bessel_k(nu, z);
}

inline Real value(const Kernel& kernel, const Vector& x, const Vector& z);

inline Real leaf(const Gaussian& k, const Vector& x, const Vector& z) {
  return std::exp(-radius2(k.length_scale, x, z) / 2);
}
inline Real leaf(const Matern& k, const Vector& x, const Vector& z) {
  return matern(k.nu, std::sqrt(radius2(k.length_scale, x, z)));
}
inline Real leaf(const Laplacian& k, const Vector& x, const Vector& z) {
  Real sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += std::abs(x[i] - z[i]) / k.length_scale[static_cast<Index>(i)];
  return std::exp(-sum);
}
inline Real leaf(const Cauchy& k, const Vector& x, const Vector& z) {
  Real product = 1;
  for (std::size_t i = 0; i < x.size(); ++i) {
    product /= 1 + std::pow((x[i] - z[i]) / k.length_scale[static_cast<Index>(i)], Real(2));
  }
  return product;
}
inline Real leaf(const RationalQuadratic& k, const Vector& x, const Vector& z) {
  return std::exp(-Real(k.alpha) * std::log1p(radius2(k.length_scale, x, z) / (2 * Real(k.alpha))));
}
inline Real leaf(const SpectralMixture& k, const Vector& x, const Vector& z) {
  const Real pi = std::numbers::pi_v<Real>;
  Real sum = 0;
  for (std::size_t q = 0; q < k.weights.size(); ++q) {
    Real turns = 0;
    Real envelope = 1;
    for (std::size_t i = 0; i < x.size(); ++i) {
      turns += k.means[q][i] * (x[i] - z[i]);
      envelope *= std::exp(-2 * pi * pi * std::pow((x[i] - z[i]) * k.scales[q][i], Real(2)));
    }
    sum += k.weights[q] * std::cos(2 * pi * turns) * envelope;
  }
  return sum;
}
inline Real leaf(const Linear&, const Vector& x, const Vector& z) {
  Real sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * z[i];
  return sum;
}
inline Real leaf(const Polynomial& k, const Vector& x, const Vector& z) {
  return std::pow(leaf(Linear{}, x, z) + k.offset, Real(k.degree));
}
inline Real leaf(const Sum& k, const Vector& x, const Vector& z) {
  Real sum = 0;
  for (const Kernel& term : k.terms) sum += value(term, x, z);
  return sum;
}
inline Real leaf(const Product& k, const Vector& x, const Vector& z) {
  Real product = 1;
  for (const Kernel& factor : k.factors) product *= value(factor, x, z);
  return product;
}
inline Real leaf(const Scaled& k, const Vector& x, const Vector& z) {
  return k.factor * value(k.kernel.front(), x, z);
}

inline Real value(const Kernel& kernel, const Vector& x, const Vector& z) {
  return std::visit([&](const auto& form) { return leaf(form, x, z); }, kernel.form);
}

inline Vector widen(const std::vector<double>& v) {
  return {v.begin(), v.end()};
}

/// f'(0) by the central difference of order 8: error h⁸f⁽⁹⁾/630.
inline Real derivative(const std::function<Real(Real)>& f, Real h) {
  constexpr std::array<Real, 4> weights = {Real(4) / 5, -Real(1) / 5, Real(4) / 105, -Real(1) / 280};
  Real sum = 0;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const Real step = h * static_cast<Real>(k + 1);
    sum += weights[k] * (f(step) - f(-step));
  }
  return sum / h;
}

}  // namespace mercer::reference
