#include <algorithm>
#include <cmath>

#include "base/fail.hpp"
#include "kernel/leaf.hpp"

// Products over inputs: k(δ) = Π f(δ_i/ℓ_i). With a_i = f'/f and b_i = f''/f:  ∂k/∂x_i = k a_i,  H_ij = k a_i a_j, H_ii = k
// b_i.

namespace mercer {
namespace {

double scaled(const LengthScale& scale, Point x, Point z, std::size_t i) {
  return (x[i] - z[i]) / scale[static_cast<Index>(i)];
}

/// 1/(1 + t²) for input i.
double cauchy_factor(const Cauchy& kernel, Point x, Point z, std::size_t i) {
  const double t = scaled(kernel.length_scale, x, z, i);
  return 1 / (1 + t * t);
}

/// a_i = -2t/(1 + t²)/ℓ.
double cauchy_slope(const Cauchy& kernel, Point x, Point z, std::size_t i) {
  const double t = scaled(kernel.length_scale, x, z, i);
  return -2 * (std::abs(t) > 1 ? 1 / (t + 1 / t) : t / (1 + t * t)) / kernel.length_scale[static_cast<Index>(i)];
}

}  // namespace

double leaf_value(const Laplacian& kernel, Point x, Point z) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += std::abs(scaled(kernel.length_scale, x, z, i));
  return std::exp(-sum);
}

void leaf_gradient(const Laplacian& kernel, Point x, Point z, MutPoint gradient) {
  const double k = leaf_value(kernel, x, z);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double sign = static_cast<double>(x[i] > z[i]) - static_cast<double>(x[i] < z[i]);
    gradient[i] = -sign * k / kernel.length_scale[static_cast<Index>(i)];
  }
}

void leaf_hessian(const Laplacian& kernel, Point x, Point z, MutMatrix hessian) {
  const double k = leaf_value(kernel, x, z);
  for (Index i = 0; i < hessian.rows; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (x[at] == z[at]) fail_argument("laplacian has no second derivative where an input difference is 0");
    for (Index j = 0; j < hessian.cols; ++j) {
      const auto to = static_cast<std::size_t>(j);
      const double sign = (x[at] > z[at]) == (x[to] > z[to]) ? 1 : -1;
      hessian(i, j) = sign * k / kernel.length_scale[i] / kernel.length_scale[j];
    }
  }
}

/// ∂k/∂ℓ_i = k |δ_i|/ℓ_i².
void leaf_parameter_gradient(const Laplacian& kernel, Point x, Point z, MutPoint gradient) {
  std::fill(gradient.begin(), gradient.end(), 0.0);
  const double k = leaf_value(kernel, x, z);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto index = static_cast<Index>(i);
    scale_slot(kernel.length_scale, index, gradient) +=
        k * std::abs(scaled(kernel.length_scale, x, z, i)) / kernel.length_scale[index];
  }
}

double leaf_value(const Cauchy& kernel, Point x, Point z) {
  double k = 1;
  for (std::size_t i = 0; i < x.size(); ++i) k *= cauchy_factor(kernel, x, z, i);
  return k;
}

void leaf_gradient(const Cauchy& kernel, Point x, Point z, MutPoint gradient) {
  const double k = leaf_value(kernel, x, z);
  for (std::size_t i = 0; i < x.size(); ++i) gradient[i] = k * cauchy_slope(kernel, x, z, i);
}

/// b_i = (6t² - 2)/(1 + t²)²/ℓ² = f(6 - 8f)/ℓ² with f = 1/(1 + t²).
void leaf_hessian(const Cauchy& kernel, Point x, Point z, MutMatrix hessian) {
  const double k = leaf_value(kernel, x, z);
  for (Index i = 0; i < hessian.rows; ++i) {
    const double slope = cauchy_slope(kernel, x, z, static_cast<std::size_t>(i));
    for (Index j = 0; j < i; ++j) {
      hessian(i, j) = hessian(j, i) = k * slope * cauchy_slope(kernel, x, z, static_cast<std::size_t>(j));
    }
    const double f = cauchy_factor(kernel, x, z, static_cast<std::size_t>(i));
    hessian(i, i) = k * f * (6 - 8 * f) / kernel.length_scale[i] / kernel.length_scale[i];
  }
}

/// ∂k/∂ℓ_i = k · 2t²/(1 + t²)/ℓ_i.
void leaf_parameter_gradient(const Cauchy& kernel, Point x, Point z, MutPoint gradient) {
  std::fill(gradient.begin(), gradient.end(), 0.0);
  const double k = leaf_value(kernel, x, z);
  for (std::size_t i = 0; i < x.size(); ++i) {
    scale_slot(kernel.length_scale, static_cast<Index>(i), gradient) -=
        k * cauchy_slope(kernel, x, z, i) * scaled(kernel.length_scale, x, z, i);
  }
}

}  // namespace mercer
