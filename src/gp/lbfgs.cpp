#include "gp/lbfgs.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <vector>

#include "base/fail.hpp"
#include "base/progress.hpp"
#include "gp/line_search.hpp"

namespace mercer {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void add(double factor, const Vector& a, Vector& to) {
  for (std::size_t i = 0; i < a.size(); ++i) to[i] += factor * a[i];
}

double largest(const Vector& a) {
  double result = 0;
  for (const double v : a) result = std::max(result, std::abs(v));
  return result;
}

/// The pairs s = x' - x, y = ∇f' - ∇f of the last iterations, which stand for an inverse Hessian.
class Memory {
 public:
  explicit Memory(int most) : most_(static_cast<std::size_t>(std::max(most, 1))) {}

  bool empty() const { return pairs_.empty(); }
  void clear() { pairs_.clear(); }
  void add_pair(Vector step, Vector change) {
    const double curvature = dot(step, change);
    // Otherwise the inverse Hessian would not stay positive definite.
    if (!(curvature > 1e-14 * std::sqrt(dot(step, step) * dot(change, change)))) return;
    if (pairs_.size() == most_) pairs_.pop_front();
    pairs_.push_back({std::move(step), std::move(change), curvature});
  }
  /// -H·gradient by the two-loop recursion, H starting from (sᵀy/yᵀy) I of the last pair.
  Vector direction(const Vector& gradient) const {
    Vector q = gradient;
    std::vector<double> share(pairs_.size());
    for (std::size_t k = pairs_.size(); k-- > 0;) {
      share[k] = dot(pairs_[k].step, q) / pairs_[k].curvature;
      add(-share[k], pairs_[k].change, q);
    }
    const double scale = empty() ? 1 : pairs_.back().curvature / dot(pairs_.back().change, pairs_.back().change);
    for (double& v : q) v *= -scale;
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      add(-share[k] - dot(pairs_[k].change, q) / pairs_[k].curvature, pairs_[k].step, q);
    }
    return q;
  }

 private:
  struct Pair {
    Vector step;
    Vector change;
    double curvature;
  };
  std::size_t most_;
  std::deque<Pair> pairs_;
};

/// One iteration: a line search along the quasi-Newton direction, or along the gradient when that one gains nothing. False
/// when neither lowers the value.
bool iterate(Objective& objective, Memory& memory, std::span<double> at, Vector& gradient, LbfgsResult& result) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    Vector direction = memory.direction(gradient);
    double slope = dot(direction, gradient);
    if (!(slope < 0) || !std::isfinite(slope)) {
      memory.clear();
      direction = memory.direction(gradient);
      slope = dot(direction, gradient);
    }
    const double first = memory.empty() ? std::min(1.0, 1 / std::sqrt(-slope)) : 1.0;
    LinePoint next = strong_wolfe(objective, at, direction, result.value, slope, first, result.evaluations);
    if (next.step > 0) {
      Vector step = next.at;
      for (std::size_t i = 0; i < step.size(); ++i) step[i] -= at[i];
      Vector change = next.gradient;
      add(-1, gradient, change);
      memory.add_pair(std::move(step), std::move(change));
      std::ranges::copy(next.at, at.begin());
      gradient = std::move(next.gradient);
      result.value = next.value;
      return true;
    }
    if (memory.empty()) return false;
    memory.clear();
  }
  return false;
}

}  // namespace

LbfgsResult minimize_lbfgs(Objective& objective, std::span<double> at, const LbfgsOptions& options) {
  if (static_cast<Index>(at.size()) != objective.size()) {
    fail_argument("L-BFGS starts from " + std::to_string(at.size()) + " numbers, and the objective has " +
                  std::to_string(objective.size()));
  }
  LbfgsResult result;
  const auto stop = [&](bool converged, const char* status) {
    result.converged = converged;
    result.status = status;
    return result;
  };
  Vector gradient(at.size());
  check_stop();
  result.value = objective.evaluate(at, gradient);
  result.evaluations = 1;
  if (!std::isfinite(result.value) || !std::isfinite(largest(gradient))) {
    return stop(false, "the objective is not defined at the start");
  }
  Memory memory(options.memory);
  for (; result.iterations < options.max_iterations;) {
    if (largest(gradient) <= options.gradient_tolerance) return stop(true, "the gradient is small");
    const double before = result.value;
    if (!iterate(objective, memory, at, gradient, result)) return stop(false, "no step lowers the value any more");
    ++result.iterations;
    if (options.on_iteration && !options.on_iteration(result.iterations, result.value, at)) {
      return stop(false, "stopped by the caller");
    }
    if (before - result.value <= options.value_tolerance * std::max(std::abs(result.value), 1.0)) {
      return stop(true, "the value no longer falls");
    }
  }
  if (largest(gradient) <= options.gradient_tolerance) return stop(true, "the gradient is small");
  return stop(false, "the limit on iterations was reached");
}

}  // namespace mercer
