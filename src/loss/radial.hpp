#pragma once
#include <mercer/view.hpp>

#include <cmath>
#include <cstddef>

#include "loss/balance_signs.hpp"
#include "loss/norm.hpp"
#include "loss/scalar.hpp"
#include "loss/separable.hpp"

namespace mercer {

/// ℓ(f, y) = h(‖f - y‖₂) for an even h that grows with |t|. With r = f - y: ∂ℓ = h'(‖r‖) r/‖r‖, the prox shortens v - y to
/// prox_h(‖v - y‖), and ℓ*(a) = ⟨a, y⟩ + h*(‖a‖), finite on the ball of radius sup h'.
template <ScalarLoss H>
class Radial {
 public:
  Radial(H h, Index outputs) : h_(h), outputs_(outputs) {}

  double value(Point f, Point y) const { return h_.value(distance(f, y)); }
  void gradient(Point f, Point y, MutPoint g) const {
    const double length = distance(f, y);
    const double slope = h_.slope(length);
    for (std::size_t j = 0; j < f.size(); ++j) g[j] = slope == 0 ? 0 : (f[j] - y[j]) / length * slope;
  }
  void prox(double step, Point y, MutPoint v) const {
    const double length = distance(v, y);
    const double shortened = h_.prox(step, length);
    if (shortened == length) return;
    for (std::size_t j = 0; j < v.size(); ++j) v[j] = y[j] + (v[j] - y[j]) / length * shortened;
  }
  double conjugate(Point a, Point y) const {
    const double length = norm(a);
    const double radius = h_.largest_slope();
    if (length > radius && length - radius > rounding_slack(radius, static_cast<double>(a.size()))) return infinity;
    double total = h_.conjugate(std::min(length, radius));
    for (std::size_t j = 0; j < a.size(); ++j) total += a[j] * y[j];
    return total;
  }
  void project_dual(Point /*y*/, MutPoint a) const {
    const double length = norm(a);
    const double radius = h_.largest_slope();
    if (!(length > radius)) return;
    for (double& entry : a) entry = entry / length * radius;
  }
  double lipschitz() const { return h_.largest_slope(); }
  /// The Hessian's eigenvalues are h''(t) and h'(t)/t, and h' is β-Lipschitz with h'(0) = 0, so neither exceeds β.
  double smoothness() const { return h_.smoothness(); }
  void balance_dual(Point weights, ConstMatrix /*y*/, MutMatrix a) const { balance_signs(weights, a); }
  bool is_separable() const { return outputs_ == 1; }
  const char* target_problem(Point y) const { return OfResidual::target_problem(y); }

 private:
  static double norm(Point a) {
    return euclidean_norm(a.size(), [a](std::size_t j) { return a[j]; });
  }
  static double distance(Point f, Point y) {
    return euclidean_norm(f.size(), [f, y](std::size_t j) { return f[j] - y[j]; });
  }

  H h_;
  Index outputs_;
};

}  // namespace mercer
