#pragma once
#include "loss/scalar.hpp"

namespace mercer {

/// h(m) = log(1 + exp(-m)) of the margin m = y f.  h*(a) = q log q + (1 - q) log(1 - q), q = -a, on [-1, 0].
struct Logistic {
  double value(double m) const;
  double slope(double m) const;
  double prox(double step, double m) const;
  double conjugate(double a) const;
  double least_slope() const { return -1; }
  double largest_slope() const { return 0; }
  double smoothness() const { return 0.25; }
};
static_assert(ScalarLoss<Logistic>);

}  // namespace mercer
