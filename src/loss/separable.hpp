#pragma once
#include <mercer/view.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

#include "loss/balance_signs.hpp"
#include "loss/pinball.hpp"
#include "loss/scalar.hpp"

namespace mercer {

/// Regression: h reads the residual t = f - y.
struct OfResidual {
  static double turn(double x, double /*y*/) { return x; }
  static double origin(double y) { return y; }
  static const char* target_problem(Point y) {
    for (const double entry : y) {
      if (!std::isfinite(entry)) return "targets must be finite numbers";
    }
    return nullptr;
  }
};

/// Two classes, y = ±1: h reads the margin t = y f.
struct OfMargin {
  static double turn(double x, double y) { return y * x; }
  static double origin(double /*y*/) { return 0; }
  static const char* target_problem(Point y) {
    for (const double entry : y) {
      if (std::abs(entry) != 1) return "this loss reads labels -1 and 1";
    }
    return nullptr;
  }
};

/// ℓ(f, y) = Σ_j h_j(t_j). Both readings are t = turn(f) - origin, with turn its own inverse and an isometry, so that
/// ∂ℓ = turn(∂h), prox_ℓ(v) = turn(prox_h(t) + origin) and ℓ*(a) = h*(turn(a)) + a·origin.
template <ScalarLoss H, class Reading>
class Separable {
 public:
  /// One h for every output, or one each.
  Separable(std::vector<H> parts, Index outputs) : parts_(std::move(parts)), outputs_(outputs) {}

  double value(Point f, Point y) const {
    double total = 0;
    for (std::size_t j = 0; j < f.size(); ++j) total += part(j).value(argument(f[j], y[j]));
    return total;
  }
  void gradient(Point f, Point y, MutPoint g) const {
    for (std::size_t j = 0; j < f.size(); ++j) g[j] = Reading::turn(part(j).slope(argument(f[j], y[j])), y[j]);
  }
  void prox(double step, Point y, MutPoint v) const {
    for (std::size_t j = 0; j < v.size(); ++j) {
      const double t = argument(v[j], y[j]);
      const double moved = part(j).prox(step, t);
      if (moved != t) v[j] = Reading::turn(moved + Reading::origin(y[j]), y[j]);
    }
  }
  double conjugate(Point a, Point y) const {
    double total = 0;
    for (std::size_t j = 0; j < a.size(); ++j) {
      const H& h = part(j);
      const double slope = Reading::turn(a[j], y[j]);
      const double inside = std::clamp(slope, h.least_slope(), h.largest_slope());
      if (std::abs(slope - inside) > rounding_slack(dual_size(h))) return infinity;
      total += h.conjugate(inside) + inside * Reading::origin(y[j]);
    }
    return total;
  }
  void project_dual(Point y, MutPoint a) const {
    for (std::size_t j = 0; j < a.size(); ++j) {
      const H& h = part(j);
      a[j] = Reading::turn(std::clamp(Reading::turn(a[j], y[j]), h.least_slope(), h.largest_slope()), y[j]);
    }
  }
  /// √(Σ_j L_j²): every coordinate can be at its steepest at once.
  double lipschitz() const {
    if (parts_.size() == 1) return std::sqrt(static_cast<double>(outputs_)) * steepest(parts_.front());
    double sum = 0;
    for (const H& h : parts_) sum += steepest(h) * steepest(h);
    return std::sqrt(sum);
  }
  double smoothness() const {
    double largest = 0;
    for (const H& h : parts_) largest = std::max(largest, h.smoothness());
    return largest;
  }
  void balance_dual(Point weights, ConstMatrix /*y*/, MutMatrix a) const { balance_signs(weights, a); }
  bool is_separable() const { return true; }
  std::vector<double> pinball_levels() const requires std::same_as<H, Pinball> {
    std::vector<double> levels;
    for (Index j = 0; j < outputs_; ++j) levels.push_back(part(static_cast<std::size_t>(j)).level);
    return levels;
  }
  const char* target_problem(Point y) const { return Reading::target_problem(y); }

 private:
  static double argument(double f, double y) { return Reading::turn(f, y) - Reading::origin(y); }
  const H& part(std::size_t j) const { return parts_.size() == 1 ? parts_.front() : parts_[j]; }

  std::vector<H> parts_;
  Index outputs_;
};

}  // namespace mercer
