#include "theory/rate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "theory/gaussian_mixture.hpp"
#include "theory/moments.hpp"
#include "theory/orlicz.hpp"
#include "theory/small_matrix.hpp"

namespace mercer {
namespace {

/// E[A(e^{θA} - I)] = scale·(curl E[(e^{θ·scale·curl·R} - 1)ωωᵀ] + divergence E[(e^{θ·scale·divergence·R} - 1)(RI - ωωᵀ)]),
/// R = ‖ω‖².
Matrix<double> lieb_integrand(const RandomPart& part, const GaussianMixture& law, const Matrix<double>& second,
                              double theta) {
  const Index d = second.rows();
  const auto excess = [&](double t) {
    Matrix<double> m = law.tilted_second(t);
    add_scaled(m, -1, second);
    return m;
  };
  Matrix<double> sum(d, d);
  if (part.curl > 0) add_scaled(sum, part.scale * part.curl, excess(theta * part.scale * part.curl));
  if (part.divergence > 0) {
    const Matrix<double> m = excess(theta * part.scale * part.divergence);
    add_scaled(sum, -part.scale * part.divergence, m);
    add_identity(sum, part.scale * part.divergence * trace(m));
  }
  return sum;
}

/// Nodes θ = x/(1+x)·top, x geometric from 10⁻⁶ to 300: dense at 0, and at the pole of a Gaussian law, which is at `top`.
LiebRate lieb_rate(const RandomPart& part, Index inputs, const GaussianMixture& law) {
  constexpr int nodes = 800;
  constexpr double first = 1e-6;
  constexpr double last = 300;
  const double reach = 2 * law.largest_variance() + 0.1 * law.largest_mean();
  const double top = 1 / (operator_norm_factor(part) * reach);
  const Matrix<double> second = law.tilted_second(0);
  Matrix<double> integral(inputs, inputs);
  Matrix<double> before(inputs, inputs);
  double theta_before = 0;
  LiebRate rate;
  for (int i = 0; i < nodes; ++i) {
    const double x = first * std::pow(last / first, i / (nodes - 1.0));
    const double theta = top * x / (1 + x);
    Matrix<double> now = lieb_integrand(part, law, second, theta);
    add_scaled(integral, 0.5 * (theta - theta_before), before);
    add_scaled(integral, 0.5 * (theta - theta_before), now);
    const double g = symmetric_norm(integral) * (1 + 1e-8);  // above what rounding can take away
    if (!std::isfinite(g)) break;
    rate.theta.push_back(theta);
    rate.g.push_back(g);
    before = std::move(now);
    theta_before = theta;
  }
  return rate;
}

}  // namespace

double ScalarRate::operator()(double t) const {
  const double scaled = t / norm;
  const double x = 2 * scaled / variance;
  // (1+x)ln(1+x) - x cancels for small x, where it is x²/2 - x³/6 + …; the lower bound x²/(2 + 2x/3) (Bernstein) is as good
  // there.
  const double h = x < 1e-4 ? x * x / (2 + 2 * x / 3) : (1 + x) * std::log1p(x) - x;
  return std::max(scaled * scaled / 2, variance / 4 * h);
}

double OrliczRate::operator()(double t) const {
  const double u = norm * std::log1p(2 * norm * norm / variance);
  if (t * u <= 2 * (std::numbers::e - 1) * variance) return t * t / (4 * variance + 2 * t * u / 3);
  return t / ((std::numbers::e - 1) * u);
}

double LiebRate::operator()(double t) const {
  const auto at = [&](std::size_t i) {
    const double inside = t * theta[i] / (2 * g[i]);  // optimum of θt - (θ/θ_i)²g_i in units of θ_i
    return inside <= 1 ? 0.5 * t * theta[i] * inside : theta[i] * t - g[i];
  };
  // Rises to the node where G' = t, then falls (G is convex, G/θ² increases): any node is valid, bisection finds the best.
  std::size_t low = 0;
  std::size_t high = theta.size() - 1;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (at(middle) < at(middle + 1)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return at(low);
}

double Rate::operator()(double t) const {
  return std::visit([t](const auto& rate) { return rate(t); }, form);
}

double variance_cap(const std::vector<Kernel>& factors) {
  double cap = 0.5;
  for (const Kernel& leaf : factors) {
    if (std::holds_alternative<SpectralMixture>(leaf.form)) return 1;
    const auto* matern = std::get_if<Matern>(&leaf.form);
    const bool convex = std::holds_alternative<Gaussian>(leaf.form) || std::holds_alternative<Laplacian>(leaf.form) ||
                        (matern != nullptr && matern->nu >= 0.5);
    if (!convex) cap = 9.0 / 16;
  }
  return cap;
}

std::vector<Rate> rates(const RandomPart& part, Index inputs, std::string* why_not) {
  const auto norm = orlicz_norm(part, inputs, why_not);
  if (!norm) return {};
  std::vector<Rate> out;
  if (!part.field) {
    const double a = operator_norm_factor(part);
    const double v = variance_cap(part.factors);
    const auto p = static_cast<double>(part.outputs.rows());
    out.push_back({"scalar", 1, ScalarRate{a, v}});
    out.push_back({"theorem 3.1", p, OrliczRate{v * a * a, 4 * *norm}});
    return out;
  }
  // b ≤ ‖E[cos²A²]‖ ≤ ‖E[A²]‖, and ‖‖X‖‖_ψ ≤ ‖‖A‖‖_ψ + ‖K(δ)‖/ln 2 with ‖K(δ)‖ ≤ ‖K(0)‖.
  const auto d = static_cast<double>(inputs);
  const double b = symmetric_norm(mean_square_operator(part, inputs));
  const double m = 2 * (*norm + symmetric_norm(mean_operator(part, inputs)) / std::numbers::ln2);
  out.push_back({"theorem 3.1", d, OrliczRate{b, m}});
  if (const auto law = gaussian_mixture(part.factors, inputs)) out.push_back({"lieb", d, lieb_rate(part, inputs, *law)});
  return out;
}

}  // namespace mercer
