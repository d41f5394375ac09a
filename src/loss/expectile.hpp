#pragma once
#include "loss/scalar.hpp"

namespace mercer {

/// With u = -t = y - f: h = |τ - 1(u < 0)| u², 0 < τ < 1, least in the mean at the τ-expectile of y. There is no factor ½
/// before it, so that level 0.5 is exactly the square loss ½u² and its minimiser the mean.
/// h*(a) = a²/(4w) with w = 1 - τ where a > 0 and τ where a < 0.
struct Expectile {
  double level = 0.5;

  double weight(double t) const { return t > 0 ? 1 - level : level; }
  double value(double t) const { return weight(t) * t * t; }
  double slope(double t) const { return 2 * weight(t) * t; }
  double prox(double step, double t) const { return t / (1 + 2 * step * weight(t)); }
  double conjugate(double a) const { return 0.25 * a * a / weight(a); }
  static double least_slope() { return -infinity; }
  static double largest_slope() { return infinity; }
  double smoothness() const { return 2 * std::max(level, 1 - level); }
};
static_assert(ScalarLoss<Expectile>);

}  // namespace mercer
