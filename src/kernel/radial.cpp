#include <algorithm>
#include <array>
#include <boost/math/special_functions/log1p.hpp>
#include <cmath>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "kernel/leaf.hpp"
#include "kernel/matern.hpp"

namespace mercer {

Profile profile(const Gaussian&, double s) {
  const double g = std::exp(-s / 2);
  return {g, -g / 2, g / 4};
}

Profile profile(const Matern& kernel, double s) {
  return {matern_value(kernel.nu, s), matern_first(kernel.nu, s), matern_second(kernel.nu, s)};
}

/// g = (1 + u)^-α, u = s/2α;  g' = -½ g/(1 + u);  g'' = (α + 1)/4α · g/(1 + u)².
Profile profile(const RationalQuadratic& kernel, double s) {
  const double u = s / (2 * kernel.alpha);
  const double g = std::exp(-kernel.alpha * std::log1p(u));
  const double first = -g / (2 * (1 + u));
  return {g, first, -first * (1 + 1 / kernel.alpha) / (2 * (1 + u))};
}

namespace {

/// s := exp(-s).
void decay(std::span<double> s) {
  exponential(s.data(), static_cast<Index>(s.size()), -1);
}

/// s := (1 + z + c z²) e^-z, z = √(a s), in pieces that stay in the first cache. z is kept below 1e150 so that z² is finite.
void damped_polynomial(std::span<double> s, double a, double c) {
  constexpr std::size_t piece = 256;
  std::array<double, piece> factor;
  for (std::size_t first = 0; first < s.size(); first += piece) {
    const std::span<double> part = s.subspan(first, std::min(piece, s.size() - first));
    for (std::size_t j = 0; j < part.size(); ++j) {
      const double z = std::min(std::sqrt(a * part[j]), 1e150);
      factor[j] = 1 + z + c * (z * z);
      part[j] = z;
    }
    decay(part);
    for (std::size_t j = 0; j < part.size(); ++j) part[j] *= factor[j];
  }
}

}  // namespace

void apply_profile(const Gaussian&, std::span<double> s) {
  exponential(s.data(), static_cast<Index>(s.size()), -0.5);
}

void apply_profile(const Matern& kernel, std::span<double> s) {
  if (kernel.nu == 0.5) {
    for (double& v : s) v = std::sqrt(v);
    decay(s);
  } else if (kernel.nu == 1.5) {
    damped_polynomial(s, 3, 0);
  } else if (kernel.nu == 2.5) {
    damped_polynomial(s, 5, 1.0 / 3.0);
  } else {
    for (double& v : s) v = matern_value(kernel.nu, v);
  }
}

void apply_profile(const RationalQuadratic& kernel, std::span<double> s) {
  const double alpha = kernel.alpha;
  if (alpha == 1) {
    for (double& v : s) v = 1 / (1 + v / 2);
  } else {
    for (double& v : s) v = std::exp(-alpha * std::log1p(v / (2 * alpha)));
  }
}

namespace {

template <Radial Leaf>
double squared_distance(const Leaf& kernel, Point x, Point z) {
  double s = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double t = (x[i] - z[i]) / kernel.length_scale[static_cast<Index>(i)];
    s += t * t;
  }
  return s;
}

/// ∂g/∂α = g·(u/(1 + u) - log(1 + u)), written so that small u does not cancel.
double shape_gradient(const RationalQuadratic& kernel, double s) {
  const double u = s / (2 * kernel.alpha);
  const double g = std::exp(-kernel.alpha * std::log1p(u));
  return g == 0 ? 0 : g * (-boost::math::log1pmx(u) - u * (u / (1 + u)));
}

}  // namespace

template <Radial Leaf>
double leaf_value(const Leaf& kernel, Point x, Point z) {
  double s = squared_distance(kernel, x, z);
  apply_profile(kernel, {&s, 1});
  return s;
}

/// ∂k/∂x_i = 2 g'(s) δ_i/ℓ_i².
template <Radial Leaf>
void leaf_gradient(const Leaf& kernel, Point x, Point z, MutPoint gradient) {
  const double s = squared_distance(kernel, x, z);
  const double first = s > 0 ? profile(kernel, s).first : 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double scale = kernel.length_scale[static_cast<Index>(i)];
    gradient[i] = 2 * first * ((x[i] - z[i]) / scale) / scale;
  }
}

/// H_ij = 4 g''(s) δ_iδ_j/(ℓ_i²ℓ_j²) + 2 g'(s) [i = j]/ℓ_i². At s = 0 the first part is 0, also where g''(0) = ∞ (Matérn
/// 1 < ν ≤ 2): g'' grows slower than 1/s.
template <Radial Leaf>
void leaf_hessian(const Leaf& kernel, Point x, Point z, MutMatrix hessian) {
  const double s = squared_distance(kernel, x, z);
  const Profile g = profile(kernel, s);
  const double second = s > 0 ? g.second : 0;
  if (!std::isfinite(g.first) || !std::isfinite(second)) {
    fail_argument("this kernel has no second derivative at distance 0; matern needs nu > 1 there");
  }
  for (Index i = 0; i < hessian.rows; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double scale_i = kernel.length_scale[i];
    const double left = 4 * second * ((x[at] - z[at]) / scale_i) / scale_i;
    for (Index j = 0; j <= i; ++j) {
      const auto to = static_cast<std::size_t>(j);
      const double scale_j = kernel.length_scale[j];
      hessian(i, j) = hessian(j, i) = left * ((x[to] - z[to]) / scale_j) / scale_j;
    }
    hessian(i, i) += 2 * g.first / scale_i / scale_i;
  }
}

/// ∂k/∂ℓ_i = -2 g'(s) δ_i²/ℓ_i³; one shared ℓ gets the sum.
template <Radial Leaf>
void leaf_parameter_gradient(const Leaf& kernel, Point x, Point z, MutPoint gradient) {
  std::fill(gradient.begin(), gradient.end(), 0.0);
  const double s = squared_distance(kernel, x, z);
  if (!(s > 0)) return;
  const double first = profile(kernel, s).first;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto index = static_cast<Index>(i);
    const double t = (x[i] - z[i]) / kernel.length_scale[index];
    scale_slot(kernel.length_scale, index, gradient) -= 2 * first * t * t / kernel.length_scale[index];
  }
  if constexpr (std::same_as<Leaf, RationalQuadratic>) gradient.back() = shape_gradient(kernel, s);
}

template double leaf_value(const Gaussian&, Point, Point);
template double leaf_value(const Matern&, Point, Point);
template double leaf_value(const RationalQuadratic&, Point, Point);
template void leaf_gradient(const Gaussian&, Point, Point, MutPoint);
template void leaf_gradient(const Matern&, Point, Point, MutPoint);
template void leaf_gradient(const RationalQuadratic&, Point, Point, MutPoint);
template void leaf_hessian(const Gaussian&, Point, Point, MutMatrix);
template void leaf_hessian(const Matern&, Point, Point, MutMatrix);
template void leaf_hessian(const RationalQuadratic&, Point, Point, MutMatrix);
template void leaf_parameter_gradient(const Gaussian&, Point, Point, MutPoint);
template void leaf_parameter_gradient(const Matern&, Point, Point, MutPoint);
template void leaf_parameter_gradient(const RationalQuadratic&, Point, Point, MutPoint);

}  // namespace mercer
