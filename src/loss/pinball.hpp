#pragma once
#include "loss/scalar.hpp"

namespace mercer {

/// With u = -t = y - f: h = max(τu, (τ - 1)u), 0 < τ < 1, least in the mean at the τ-quantile of y.  h* = 0 on [-τ, 1 - τ].
struct Pinball {
  double level = 0.5;

  double value(double t) const { return t > 0 ? (1 - level) * t : -level * t; }
  double slope(double t) const { return t == 0 ? 0 : (t > 0 ? 1 - level : -level); }
  double prox(double step, double t) const { return t - std::clamp(t, -step * level, step * (1 - level)); }
  static double conjugate(double /*a*/) { return 0; }
  double least_slope() const { return -level; }
  double largest_slope() const { return 1 - level; }
  static double smoothness() { return infinity; }
};
static_assert(ScalarLoss<Pinball>);

}  // namespace mercer
