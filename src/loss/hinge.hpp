#pragma once
#include "loss/scalar.hpp"

namespace mercer {

/// h(m) = max(0, 1 - m) of the margin m = y f.  h*(a) = a on [-1, 0].
struct Hinge {
  double value(double m) const { return std::max(0.0, 1 - m); }
  double slope(double m) const { return m < 1 ? -1 : 0; }
  double prox(double step, double m) const { return m >= 1 ? m : std::min(1.0, m + step); }
  double conjugate(double a) const { return a; }
  double least_slope() const { return -1; }
  double largest_slope() const { return 0; }
  double smoothness() const { return infinity; }
};
static_assert(ScalarLoss<Hinge>);

/// h(m) = ½ max(0, 1 - m)².  h*(a) = a + ½a² on (-∞, 0]. The ½ is that of the square loss.
struct SquaredHinge {
  double value(double m) const {
    const double shortfall = std::max(0.0, 1 - m);
    return 0.5 * shortfall * shortfall;
  }
  double slope(double m) const { return std::min(0.0, m - 1); }
  double prox(double step, double m) const { return m >= 1 ? m : 1 - (1 - m) / (1 + step); }
  double conjugate(double a) const { return a + 0.5 * a * a; }
  double least_slope() const { return -infinity; }
  double largest_slope() const { return 0; }
  double smoothness() const { return 1; }
};
static_assert(ScalarLoss<SquaredHinge>);

}  // namespace mercer
