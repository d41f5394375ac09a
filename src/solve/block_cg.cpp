#include "solve/block_cg.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/backend.hpp"
#include "base/progress.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

std::vector<double> column_dots(ConstMatrix a, ConstMatrix b) {
  std::vector<double> dots(at(a.cols), 0.0);
  for (Index i = 0; i < a.rows; ++i) {
    for (Index k = 0; k < a.cols; ++k) dots[at(k)] += a(i, k) * b(i, k);
  }
  return dots;
}

/// max_k ‖r_k‖/‖b_k‖ over the first columns; not a number when any of them is not.
double largest_ratio(ConstMatrix r, const std::vector<double>& bb, Index judged) {
  const std::vector<double> rr = column_dots(r, r);
  double ratio = 0;
  for (std::size_t k = 0; k < at(judged); ++k) {
    if (bb[k] == 0) continue;
    const double one = std::sqrt(rr[k] / bb[k]);
    if (!(one <= ratio)) ratio = one;
    if (std::isnan(ratio)) break;
  }
  return ratio;
}

/// Powers of 2 near 1/max|b_k|: squares of tiny or huge targets would leave the range of doubles.
std::vector<double> column_scales(ConstMatrix b) {
  std::vector<double> scales(at(b.cols), 0.0);
  for (Index i = 0; i < b.rows; ++i) {
    for (Index k = 0; k < b.cols; ++k) scales[at(k)] = std::max(scales[at(k)], std::abs(b(i, k)));
  }
  for (double& s : scales) s = s > 0 && std::isfinite(s) ? std::ldexp(1.0, -std::clamp(std::ilogb(s), -1000, 1000)) : 1.0;
  return scales;
}

void scale_columns(MutMatrix a, const std::vector<double>& scales, bool invert) {
  for (Index i = 0; i < a.rows; ++i) {
    for (Index k = 0; k < a.cols; ++k) a(i, k) = invert ? a(i, k) / scales[at(k)] : a(i, k) * scales[at(k)];
  }
}

/// The coefficients of conjugate gradients are those of a Lanczos process on M⁻¹A: with steps α_k and β_k = rz_{k+1}/rz_k,
///     T_kk = 1/α_k + β_{k-1}/α_{k-1},   T_{k,k+1} = √β_k/α_k.
class Lanczos {
 public:
  explicit Lanczos(Index columns) : columns_(at(columns)) {}

  /// After an iteration with these steps, and rᵀz before and after it. Columns that have come to rest are not followed any
  /// more.
  void add(const std::vector<double>& step, const std::vector<double>& rz, const std::vector<double>& next) {
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      Column& c = columns_[k];
      const double beta = next[k] / rz[k];
      if (c.at_rest || c.diagonal.size() >= most) continue;
      if (!(step[k] > 0) || !std::isfinite(beta)) {
        c.at_rest = true;
        continue;
      }
      c.diagonal.push_back(1 / step[k] + c.carry);
      c.carry = beta / step[k];
      c.beside.push_back(std::sqrt(std::max(beta, 0.0)) / step[k]);
    }
  }
  void stop() {
    for (Column& c : columns_) c.at_rest = true;
  }

  void extremes(double& least, double& largest) const {
    for (const Column& c : columns_) {
      const auto n = static_cast<Index>(c.diagonal.size());
      if (n == 0) continue;
      Matrix<double> t(n, n);
      for (Index i = 0; i < n; ++i) {
        t(i, i) = c.diagonal[at(i)];
        if (i > 0) t(i, i - 1) = c.beside[at(i - 1)];
      }
      const std::vector<double> values = eigh(t).values;
      least = std::min(least, values.front());
      largest = std::max(largest, values.back());
    }
  }

 private:
  static constexpr std::size_t most = 50;
  struct Column {
    std::vector<double> diagonal;
    std::vector<double> beside;
    double carry = 0;
    bool at_rest = false;
  };
  std::vector<Column> columns_;
};

/// How far the residual of the recurrence may be from the true one, of every column.
class Drift {
 public:
  Drift(const RoundingModel& model, Index columns) : model_(model), bound_(at(columns), 0.0) {}

  /// What an application to d errs by, at unit 1.
  double error(double square, double energy) const {
    return model_.norm * std::sqrt(square) + model_.energy * std::sqrt(std::max(energy, 0.0));
  }
  /// Whether a rough application to these directions leaves half of the tolerance to the recurrence. With a good
  /// preconditioner dᵀAd is about rᵀz, and the step about 1.
  bool rough_will_do(ConstMatrix d, const std::vector<double>& rz, const std::vector<double>& bb,
                     const BlockCgOptions& options, Index judged) const {
    if (!model_.rough || !trusted_) return false;
    const std::vector<double> dd = column_dots(d, d);
    for (std::size_t k = 0; k < at(judged); ++k) {
      const double after = bound_[k] + 1.5 * model_.rough_unit * error(dd[k], rz[k]);
      if (!(after <= 0.5 * options.tolerance * std::sqrt(bb[k])) && bb[k] > 0) return false;
    }
    return true;
  }
  void add(double unit, ConstMatrix d, const std::vector<double>& curvature, const std::vector<double>& step) {
    const std::vector<double> dd = column_dots(d, d);
    for (std::size_t k = 0; k < bound_.size(); ++k) bound_[k] += unit * std::abs(step[k]) * error(dd[k], curvature[k]);
  }
  /// After a residual b - Ax was computed from `image` = Ax and found larger than the bound said: what that is off by is all
  /// there is, and nothing rough is trusted any more.
  void restart(ConstMatrix x, ConstMatrix image) {
    const std::vector<double> xx = column_dots(x, x);
    const std::vector<double> energy = column_dots(x, image);
    for (std::size_t k = 0; k < bound_.size(); ++k) bound_[k] = model_.unit * error(xx[k], energy[k]);
    trusted_ = false;
  }

  /// Of the judged columns, relative; infinite without a model.
  double relative(const std::vector<double>& bb, Index judged) const {
    if (model_.unit == 0) return std::numeric_limits<double>::infinity();
    double largest = 0;
    for (std::size_t k = 0; k < at(judged); ++k) {
      const double one = bb[k] > 0 ? bound_[k] / std::sqrt(bb[k]) : 0.0;
      if (!(one <= largest)) largest = one;  // not a number stays so
    }
    return largest;
  }

 private:
  const RoundingModel& model_;
  std::vector<double> bound_;
  bool trusted_ = true;
};

void subtract(ConstMatrix a, ConstMatrix b, MutMatrix out) {
  for (Index i = 0; i < a.rows; ++i) {
    for (Index k = 0; k < a.cols; ++k) out(i, k) = a(i, k) - b(i, k);
  }
}

}  // namespace

BlockCgOutcome block_cg(const BlockOperator& apply, const BlockOperator& precondition, ConstMatrix targets, MutMatrix x,
                        const BlockCgOptions& options, Progress* progress) {
  constexpr int check_every = 25;
  const Index judged = options.judged < 0 ? targets.cols : options.judged;
  const std::vector<double> scales = column_scales(targets);
  Matrix<double> scaled{targets};
  scale_columns(scaled, scales, false);
  const ConstMatrix b = scaled;
  Matrix<double> r{b};
  Matrix<double> z(b.rows, b.cols);
  precondition(r, z);
  Matrix<double> direction = z;
  Matrix<double> image(b.rows, b.cols);
  std::vector<double> rz = column_dots(r, z);
  const std::vector<double> bb = column_dots(b, b);
  BlockCgOutcome outcome;
  double last_true = std::numeric_limits<double>::infinity();
  Lanczos lanczos(b.cols);
  Drift drift(options.rounding, b.cols);
  for (;; ++outcome.iterations) {
    outcome.residual = largest_ratio(r, bb, judged);
    report(progress, "conjugate gradients",
           outcome.residual < 1 ? std::log(std::max(outcome.residual, 1e-300)) / std::log(options.tolerance) : 0.0);
    const double vouched = outcome.residual + drift.relative(bb, judged);
    if (vouched <= options.tolerance) {
      outcome.residual = vouched;
      outcome.vouched = true;
      subtract(b, r, image);
      break;
    }
    const bool claims_done = outcome.residual <= options.tolerance;
    const bool last = outcome.iterations >= options.most_iterations || std::isnan(outcome.residual);
    if (claims_done || last || (outcome.iterations > 0 && outcome.iterations % check_every == 0)) {
      const double claimed = outcome.residual;
      apply(x, image);
      subtract(b, image, z);
      outcome.residual = largest_ratio(z, bb, judged);
      outcome.rounding = outcome.residual > 2 * claimed && outcome.residual > 0.5 * last_true;
      last_true = outcome.residual;
      if (!(outcome.residual > options.tolerance) || outcome.rounding || last) break;
      if (claims_done) {
        lanczos.stop();
        drift.restart(x, image);
        r = z;
        precondition(r, z);
        direction = z;
        rz = column_dots(r, z);
      }
    }
    const bool rough = drift.rough_will_do(direction, rz, bb, options, judged);
    (rough ? options.rounding.rough : apply)(direction, image);
    if (rough) ++outcome.rough;
    const std::vector<double> curvature = column_dots(direction, image);
    std::vector<double> step(curvature.size(), 0.0);
    for (std::size_t k = 0; k < step.size(); ++k) step[k] = curvature[k] > 0 ? rz[k] / curvature[k] : 0.0;
    drift.add(rough ? options.rounding.rough_unit : options.rounding.unit, direction, curvature, step);
    for (Index i = 0; i < b.rows; ++i) {
      for (Index k = 0; k < b.cols; ++k) {
        x(i, k) += step[at(k)] * direction(i, k);
        r(i, k) -= step[at(k)] * image(i, k);
      }
    }
    precondition(r, z);
    const std::vector<double> next = column_dots(r, z);
    lanczos.add(step, rz, next);
    for (Index i = 0; i < b.rows; ++i) {
      for (Index k = 0; k < b.cols; ++k) {
        direction(i, k) = z(i, k) + (rz[at(k)] > 0 ? next[at(k)] / rz[at(k)] : 0.0) * direction(i, k);
      }
    }
    rz = next;
  }
  lanczos.extremes(outcome.least_ritz, outcome.largest_ritz);
  scale_columns(x, scales, true);
  scale_columns(image, scales, true);
  outcome.image = std::move(image);
  return outcome;
}

}  // namespace mercer
