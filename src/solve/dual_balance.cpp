#include "solve/dual_balance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

constexpr int most_trials = 80;
constexpr double enough = 4e-15;  ///< of the mean size of a dual variable

/// F(δ) = (Σ_i w_i project_dual(g_i + δ) - total)/Σ w.
class Excess {
 public:
  Excess(const FeatureStore& store, const Loss& loss, const Matrix<double>& g, Point total)
      : store_(store), loss_(loss), g_(g), total_(total), parts_(store.chunks(), g.cols() + 2) {}

  std::vector<double> operator()(const std::vector<double>& shift) {
    const Index p = g_.cols();
    store_.for_chunks([&](Index chunk, Index first, Index last) {
      std::vector<double> a(at(p));
      auto sum = parts_.row(chunk);
      std::ranges::fill(sum, 0.0);
      for (Index i = first; i < std::min(last, store_.source_rows()); ++i) {
        const double w = store_.weight(i);
        if (w == 0) continue;
        for (Index k = 0; k < p; ++k) a[at(k)] = g_(i, k) + shift[at(k)];
        loss_.project_dual(store_.target(i), a);
        for (Index k = 0; k < p; ++k) {
          sum[at(k)] += w * a[at(k)];
          sum[at(p)] += w * std::abs(a[at(k)]);
        }
        sum[at(p + 1)] += w;
      }
    });
    std::vector<double> f(at(p + 2), 0.0);
    for (Index chunk = 0; chunk < parts_.rows(); ++chunk) {
      for (Index k = 0; k < p + 2; ++k) f[at(k)] += parts_(chunk, k);
    }
    for (Index k = 0; k < p; ++k) f[at(k)] = (f[at(k)] - total_[at(k)]) / f[at(p + 1)];
    size_ = f[at(p)] / f[at(p + 1)];
    f.resize(at(p));
    return f;
  }
  double size() const { return size_; }  ///< mean of Σ_j |a_j| at the last trial

 private:
  const FeatureStore& store_;
  const Loss& loss_;
  const Matrix<double>& g_;
  Point total_;
  Matrix<double> parts_;
  double size_ = 0;
};

/// The root of a non-decreasing function of slope at most 1, one trial at a time.
class MonotoneRoot {
 public:
  double trial() const { return x_; }
  bool done() const { return done_; }
  void tell(double f, double tolerance) {
    if (std::abs(f) <= tolerance) {
      done_ = true;
      return;
    }
    const bool below = f < 0;
    (below ? low_ : high_) = x_;
    (below ? f_low_ : f_high_) = f;
    if (low_ == -infinite || high_ == infinite) {
      x_ -= growth_ * f;  // at growth 1 this cannot pass the root
      growth_ *= 2;
      return;
    }
    const double width = high_ - low_;
    same_side_ = below == last_below_ ? same_side_ + 1 : 0;
    last_below_ = below;
    const double secant = low_ - f_low_ * width / (f_high_ - f_low_);
    x_ = same_side_ >= 2 || !(secant > low_ && secant < high_) ? low_ + 0.5 * width : secant;
    if (!(x_ > low_ && x_ < high_)) done_ = true;  // neighbours in double
  }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  double x_ = 0;
  double low_ = -infinite;
  double high_ = infinite;
  double f_low_ = 0;
  double f_high_ = 0;
  double growth_ = 1;
  int same_side_ = 0;
  bool last_below_ = false;
  bool done_ = false;
};

double norm(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

std::vector<double> separable_shift(Excess& excess, std::size_t p) {
  std::vector<MonotoneRoot> roots(p);
  std::vector<double> shift(p, 0.0);
  for (int trial = 0; trial < most_trials; ++trial) {
    const std::vector<double> f = excess(shift);
    bool done = true;
    for (std::size_t k = 0; k < p; ++k) {
      if (!roots[k].done()) roots[k].tell(f[k], enough * excess.size());
      shift[k] = roots[k].trial();
      done = done && roots[k].done();
    }
    if (done) break;
  }
  return shift;
}

/// Broyden's method from the Jacobian I, which is exact where no row is at the edge of its domain.
std::vector<double> coupled_shift(Excess& excess, std::size_t p) {
  std::vector<double> shift(p, 0.0);
  std::vector<double> f = excess(shift);
  std::vector<double> best = shift;
  double best_norm = norm(f);
  Matrix<double> h(static_cast<Index>(p), static_cast<Index>(p));
  const auto reset = [&] {
    std::ranges::fill(h.values(), 0.0);
    for (Index k = 0; k < h.rows(); ++k) h(k, k) = 1;
  };
  const auto apply = [&](const std::vector<double>& v, bool transposed) {
    std::vector<double> out(p, 0.0);
    for (Index a = 0; a < h.rows(); ++a) {
      for (Index b = 0; b < h.cols(); ++b) out[at(a)] += (transposed ? h(b, a) : h(a, b)) * v[at(b)];
    }
    return out;
  };
  reset();
  for (int trial = 1; trial < most_trials && best_norm > enough * excess.size(); ++trial) {
    std::vector<double> step = apply(f, false);
    for (std::size_t k = 0; k < p; ++k) shift[k] -= step[k];
    const std::vector<double> next = excess(shift);
    if (norm(next) > 2 * best_norm || !std::isfinite(norm(next))) {
      reset();
      shift = best;
      f = excess(shift);
      for (std::size_t k = 0; k < p; ++k) shift[k] -= f[k];
      f = excess(shift);
    } else {
      std::vector<double> change(p);
      for (std::size_t k = 0; k < p; ++k) {
        change[k] = next[k] - f[k];
        step[k] = -step[k];
      }
      const std::vector<double> moved = apply(change, false);
      const std::vector<double> row = apply(step, true);
      double inner = 0;
      for (std::size_t k = 0; k < p; ++k) inner += step[k] * moved[k];
      if (std::abs(inner) > 1e-300) {
        for (Index a = 0; a < h.rows(); ++a) {
          for (Index b = 0; b < h.cols(); ++b) h(a, b) += (step[at(a)] - moved[at(a)]) * row[at(b)] / inner;
        }
      }
      f = next;
    }
    if (norm(f) < best_norm) {
      best_norm = norm(f);
      best = shift;
    }
  }
  return best;
}

}  // namespace

std::vector<double> balancing_shift(const FeatureStore& store, const Loss& loss, const Matrix<double>& g, Point total) {
  Excess excess(store, loss, g, total);
  const auto p = static_cast<std::size_t>(g.cols());
  return loss.is_separable() || p == 1 ? separable_shift(excess, p) : coupled_shift(excess, p);
}

}  // namespace mercer
