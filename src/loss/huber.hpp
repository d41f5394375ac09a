#pragma once
#include "loss/scalar.hpp"

namespace mercer {

/// h(t) = ½t² where |t| ≤ κ, else κ(|t| - κ/2), κ > 0.  h*(a) = ½a² on [-κ, κ].
struct Huber {
  double kappa = 1;

  double value(double t) const {
    const double size = std::abs(t);
    return size <= kappa ? 0.5 * t * t : kappa * (size - 0.5 * kappa);
  }
  double slope(double t) const { return std::clamp(t, -kappa, kappa); }
  double prox(double step, double t) const {
    return std::copysign(std::max(std::abs(t) / (1 + step), std::abs(t) - step * kappa), t);
  }
  static double conjugate(double a) { return 0.5 * a * a; }
  double least_slope() const { return -kappa; }
  double largest_slope() const { return kappa; }
  static double smoothness() { return 1; }
};
static_assert(ScalarLoss<Huber>);

}  // namespace mercer
