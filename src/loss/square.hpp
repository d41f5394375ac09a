#pragma once
#include "loss/scalar.hpp"

namespace mercer {

/// h(t) = ½t².  h*(a) = ½a².
struct Square {
  static double value(double t) { return 0.5 * t * t; }
  static double slope(double t) { return t; }
  static double prox(double step, double t) { return t / (1 + step); }
  static double conjugate(double a) { return 0.5 * a * a; }
  static double least_slope() { return -infinity; }
  static double largest_slope() { return infinity; }
  static double smoothness() { return 1; }
};
static_assert(ScalarLoss<Square>);

}  // namespace mercer
