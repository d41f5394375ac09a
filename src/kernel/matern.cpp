#include "kernel/matern.hpp"

#include <array>
#include <boost/math/policies/policy.hpp>
#include <boost/math/special_functions/bessel.hpp>
#include <cmath>
#include <limits>

namespace mercer {
namespace {

using boost::math::policies::ignore_error;
using Policy = boost::math::policies::policy<
    boost::math::policies::domain_error<ignore_error>, boost::math::policies::pole_error<ignore_error>,
    boost::math::policies::overflow_error<ignore_error>, boost::math::policies::underflow_error<ignore_error>,
    boost::math::policies::denorm_error<ignore_error>, boost::math::policies::evaluation_error<ignore_error>,
    boost::math::policies::promote_double<false>>;

constexpr double large_order = 30;
constexpr double tiny_z = 1e-9;  // below it two terms of the power series are exact to the last bit
constexpr double huge_z = 745;   // above it e^{-z} underflows; M_μ < 1e-200 for μ < large_order
constexpr double huge_s = 1e30;

double bessel_k(double order, double z) {
  return boost::math::cyl_bessel_k(order, z, Policy());
}

/// Debye's polynomials U_k (DLMF 10.41.9): U_{k+1}(p) = ½p²(1-p²)U_k'(p) + ⅛∫₀ᵖ(1-5t²)U_k(t)dt.  coefficient[k][j] of p^j.
constexpr int debye_terms = 9;
using DebyeTable = std::array<std::array<double, 3 * debye_terms + 1>, debye_terms>;

DebyeTable make_debye_table() {
  DebyeTable table{};
  table[0][0] = 1;
  for (std::size_t k = 0; k + 1 < debye_terms; ++k) {
    for (std::size_t j = k; j <= 3 * k; ++j) {
      const double c = table[k][j];
      const auto power = static_cast<double>(j);
      table[k + 1][j + 1] += c * (power / 2 + 1 / (8 * (power + 1)));
      table[k + 1][j + 3] -= c * (power / 2 + 5 / (8 * (power + 3)));
    }
  }
  return table;
}

/// Σ_k U_k(p) (-1/μ)^k.
double debye_sum(double p, double order) {
  static const DebyeTable table = make_debye_table();
  double sum = 0;
  for (std::size_t k = debye_terms; k-- > 0;) {
    double u = 0;
    for (std::size_t j = 3 * k + 1; j-- > k;) u = u * p + table[k][j];
    for (std::size_t j = 0; j < k; ++j) u *= p;
    sum = sum * (-1 / order) + u;
  }
  return sum;
}

/// Uniform expansion of K_μ(μx) (DLMF 10.41.4) over Γ(μ) by the same expansion at x = 0, so that the large exponents cancel
/// on paper:  M_μ(μx) = exp(μ(log(1 + w/2) - w)) (1 + x²)^{-1/4} ΣU_k(p)(-μ)^{-k} / ΣU_k(1)(-μ)^{-k},  w = √(1+x²) - 1, p =
/// 1/√(1+x²).
double large_order_correlation(double order, double z) {
  const double x = z / order;
  const double root = std::sqrt(1 + x * x);
  const double w = x * x / (1 + root);
  const double leading = std::exp(order * (std::log1p(w / 2) - w)) / std::sqrt(root);
  return leading * (debye_sum(1 / root, order) / debye_sum(1, order));
}

/// M_μ for z < tiny_z: 1 - Γ(1-μ)/Γ(1+μ) (z/2)^{2μ} + O(z²), which is 1 for μ > 0.9. (K_μ itself loses |ln z| ulps there.)
double tiny_z_correlation(double order, double z) {
  if (order > 0.9) return 1;
  return 1 - std::tgamma(1 - order) / std::tgamma(1 + order) * std::pow(z / 2, 2 * order);
}

/// M_f for 0 < f ≤ 1 straight from K_f.
double fractional_correlation(double fraction, double z) {
  return std::pow(z, fraction) * bessel_k(fraction, z) * std::exp2(1 - fraction) / std::tgamma(fraction);
}

}  // namespace

double matern_correlation(double order, double z) {
  if (z == 0) return 1;
  if (order >= large_order) return z > huge_s ? 0 : large_order_correlation(order, z);
  if (z > huge_z) return 0;
  if (z < tiny_z && order > 0.05) return tiny_z_correlation(order, z);
  if (order == 0.5) return std::exp(-z);
  const double steps = std::ceil(order) - 1;
  const double fraction = order - steps;  // in (0, 1]
  const bool half = fraction == 0.5;
  if (steps == 0) return fractional_correlation(fraction, z);
  // M_{μ+1} = M_μ + z²/(4μ(μ-1)) M_{μ-1}: all terms positive, so nothing cancels.
  double before = half ? std::exp(-z) : fractional_correlation(fraction, z);
  double current =
      half ? (1 + z) * before
           : std::pow(z, fraction + 1) * bessel_k(fraction + 1, z) * std::exp2(-fraction) / std::tgamma(fraction + 1);
  for (double mu = fraction + 1; mu < order - 0.5; mu += 1) {
    const double next = current + z * z / (4 * mu * (mu - 1)) * before;
    before = current;
    current = next;
  }
  return current;
}

double matern_value(double nu, double s) {
  return s < huge_s ? matern_correlation(nu, std::sqrt(2 * nu * s)) : 0;
}

namespace {

/// z^μ K_μ(z) for any real |μ| < 2 and z > 0, from K_{-μ} = K_μ.
double power_times_bessel(double order, double z) {
  if (z > huge_z) return 0;
  const double size = std::abs(order);
  if (size == 0) return bessel_k(0, z);
  const double positive = std::exp2(size - 1) * std::tgamma(size) * matern_correlation(size, z);
  return order > 0 ? positive : positive / std::pow(z, 2 * size);
}

/// 1/(2^{ν-1} Γ(ν)).
double normaliser(double nu) {
  return std::exp2(1 - nu) / std::tgamma(nu);
}

}  // namespace

double matern_first(double nu, double s) {
  if (!(s < huge_s)) return 0;
  const double z = std::sqrt(2 * nu * s);
  if (nu > 1) return -nu / (2 * (nu - 1)) * matern_correlation(nu - 1, z);
  if (z == 0) return -std::numeric_limits<double>::infinity();
  return -nu * normaliser(nu) * power_times_bessel(nu - 1, z);
}

double matern_second(double nu, double s) {
  if (!(s < huge_s)) return 0;
  const double z = std::sqrt(2 * nu * s);
  if (nu > 2) return nu / (nu - 1) * (nu / (nu - 2)) / 4 * matern_correlation(nu - 2, z);
  if (z == 0) return std::numeric_limits<double>::infinity();
  return nu * nu * normaliser(nu) * power_times_bessel(nu - 2, z);
}

}  // namespace mercer
