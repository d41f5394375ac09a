#pragma once
#include "loss/scalar.hpp"

namespace mercer {

/// h(t) = max(0, |t| - ε), ε ≥ 0.  h*(a) = ε|a| on [-1, 1].
struct Insensitive {
  double epsilon = 0;

  double value(double t) const { return std::max(0.0, std::abs(t) - epsilon); }
  double slope(double t) const { return std::abs(t) <= epsilon ? 0.0 : std::copysign(1.0, t); }
  double prox(double step, double t) const {
    return std::abs(t) <= epsilon ? t : std::copysign(std::max(epsilon, std::abs(t) - step), t);
  }
  double conjugate(double a) const { return epsilon * std::abs(a); }
  static double least_slope() { return -1; }
  static double largest_slope() { return 1; }
  static double smoothness() { return infinity; }
};
static_assert(ScalarLoss<Insensitive>);

/// h(t) = ½ max(0, |t| - ε)², ε ≥ 0.  h*(a) = ½a² + ε|a|.
struct SquaredInsensitive {
  double epsilon = 0;

  double value(double t) const {
    const double excess = std::max(0.0, std::abs(t) - epsilon);
    return 0.5 * excess * excess;
  }
  double slope(double t) const { return std::copysign(std::max(0.0, std::abs(t) - epsilon), t); }
  double prox(double step, double t) const {
    return std::abs(t) <= epsilon ? t : std::copysign(epsilon + (std::abs(t) - epsilon) / (1 + step), t);
  }
  double conjugate(double a) const { return 0.5 * a * a + epsilon * std::abs(a); }
  static double least_slope() { return -infinity; }
  static double largest_slope() { return infinity; }
  static double smoothness() { return 1; }
};
static_assert(ScalarLoss<SquaredInsensitive>);

}  // namespace mercer
