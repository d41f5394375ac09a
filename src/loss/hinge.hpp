#pragma once
#include "loss/scalar.hpp"

namespace mercer {

/// h(m) = max(0, 1 - m) of the margin m = y f.  h*(a) = a on [-1, 0].
struct Hinge {
  static double value(double m) { return std::max(0.0, 1 - m); }
  static double slope(double m) { return m < 1 ? -1 : 0; }
  static double prox(double step, double m) { return std::max(m, std::min(1.0, m + step)); }
  static double conjugate(double a) { return a; }
  static double least_slope() { return -1; }
  static double largest_slope() { return 0; }
  static double smoothness() { return infinity; }
};
static_assert(ScalarLoss<Hinge>);

/// h(m) = ½ max(0, 1 - m)².  h*(a) = a + ½a² on (-∞, 0]. The ½ is that of the square loss.
struct SquaredHinge {
  static double value(double m) {
    const double shortfall = std::max(0.0, 1 - m);
    return 0.5 * shortfall * shortfall;
  }
  static double slope(double m) { return std::min(0.0, m - 1); }
  static double prox(double step, double m) { return m >= 1 ? m : 1 - (1 - m) / (1 + step); }
  static double conjugate(double a) { return a + 0.5 * a * a; }
  static double least_slope() { return -infinity; }
  static double largest_slope() { return 0; }
  static double smoothness() { return 1; }
};
static_assert(ScalarLoss<SquaredHinge>);

}  // namespace mercer
