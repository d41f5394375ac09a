#pragma once
#include "loss/scalar.hpp"

namespace mercer {

/// h(m) = log(1 + exp(-m)) of the margin m = y f.  h*(a) = q log q + (1 - q) log(1 - q), q = -a, on [-1, 0].
struct Logistic {
  static double value(double m);
  static double slope(double m);
  static double prox(double step, double m);
  static double conjugate(double a);
  static double least_slope() { return -1; }
  static double largest_slope() { return 0; }
  static double smoothness() { return 0.25; }
};
static_assert(ScalarLoss<Logistic>);

}  // namespace mercer
