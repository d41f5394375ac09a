#pragma once
#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

namespace mercer {

/// A convex function h of one number, from which row losses are built: Σ_j h(f_j - y_j), Σ_j h(y_j f_j), h(‖f - y‖).
/// conjugate(a) is asked only on the closed interval [least_slope, largest_slope], which is the domain of h*.
template <class H>
concept ScalarLoss = requires(const H h, double t) {
  { h.value(t) } -> std::same_as<double>;
  { h.slope(t) } -> std::same_as<double>;
  { h.prox(t, t) } -> std::same_as<double>;  // (step, t)
  { h.conjugate(t) } -> std::same_as<double>;
  { h.least_slope() } -> std::same_as<double>;
  { h.largest_slope() } -> std::same_as<double>;
  { h.smoothness() } -> std::same_as<double>;
};

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// How far outside of its domain a dual point may lie and still count as the edge: 8 ulp, and one more per further entry
/// that was summed, of the domain's size.
inline constexpr double rounding_slack(double size, double entries = 0) {
  return (8 + entries) * std::numeric_limits<double>::epsilon() * size;
}

/// sup |h'|, the Lipschitz constant of h.
template <ScalarLoss H>
double steepest(const H& h) {
  return std::max(std::abs(h.least_slope()), std::abs(h.largest_slope()));
}

/// The size of the domain of h*: its largest finite edge, or 1 where it has none (h* lives on R or on a half-line from 0).
template <ScalarLoss H>
double dual_size(const H& h) {
  double size = 0;
  for (const double edge : {std::abs(h.least_slope()), std::abs(h.largest_slope())}) {
    if (edge < infinity) size = std::max(size, edge);
  }
  return size > 0 ? size : 1;
}

}  // namespace mercer
