#pragma once
#include "loss/scalar.hpp"

namespace mercer {

/// h(t) = ½t².  h*(a) = ½a².
struct Square {
  double value(double t) const { return 0.5 * t * t; }
  double slope(double t) const { return t; }
  double prox(double step, double t) const { return t / (1 + step); }
  double conjugate(double a) const { return 0.5 * a * a; }
  double least_slope() const { return -infinity; }
  double largest_slope() const { return infinity; }
  double smoothness() const { return 1; }
};
static_assert(ScalarLoss<Square>);

}  // namespace mercer
