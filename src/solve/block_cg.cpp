#include "solve/block_cg.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "backend/backend.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "base/scale.hpp"
#include "solve/lanczos.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// max_k ‖r_k‖/‖b_k‖ over the first columns, of squares.
double largest_ratio(const std::vector<double>& rr, const std::vector<double>& bb, Index judged) {
  return largest_of(judged, [&](std::size_t k) { return bb[k] == 0 ? 0.0 : std::sqrt(rr[k] / bb[k]); });
}

/// Powers of 2 near 1/max|b_k|.
std::vector<double> column_scales(ConstMatrix b) {
  std::vector<double> scales(at(b.cols), 0.0);
  for (Index i = 0; i < b.rows; ++i) {
    for (Index k = 0; k < b.cols; ++k) scales[at(k)] = std::max(scales[at(k)], std::abs(b(i, k)));
  }
  std::ranges::transform(scales, scales.begin(), power_near_inverse);
  return scales;
}

void scale_columns(MutMatrix a, const std::vector<double>& scales, bool invert) {
  for (Index i = 0; i < a.rows; ++i) {
    for (Index k = 0; k < a.cols; ++k) a(i, k) = invert ? a(i, k) / scales[at(k)] : a(i, k) * scales[at(k)];
  }
}

void subtract(ConstMatrix a, ConstMatrix b, MutMatrix out) {
  for (Index i = 0; i < a.rows; ++i) {
    for (Index k = 0; k < a.cols; ++k) out(i, k) = a(i, k) - b(i, k);
  }
}

bool all_finite(const Matrix<double>& a) {
  return std::ranges::all_of(a.values(), [](double v) { return std::isfinite(v); });
}

class BlockCg {
 public:
  BlockCg(const BlockOperator& apply, const BlockOperator& precondition, ConstMatrix b, MutMatrix x,
          const BlockCgOptions& options)
      : apply_(apply),
        precondition_(precondition),
        options_(options),
        judged_(options.judged < 0 ? b.cols : options.judged),
        b_(b),
        x_(x),
        r_(b),
        z_(b.rows, b.cols),
        direction_(b.rows, b.cols),
        image_(b.rows, b.cols),
        bb_(column_dots(b, b)),
        largest_(bb_.size(), 0.0),
        rate_(bb_.size(), 0.0),
        step_(at(b.cols), 1.0),
        lanczos_(b.cols),
        drift_(options.rounding, options.least_eigenvalue, b.cols),
        trusts_rough_(static_cast<bool>(options.rough)) {
    precondition_(r_, z_);
    direction_ = z_;
    rz_ = column_dots(r_, z_);
    first_rz_ = rz_;
    if (!options_.residual) return;
    for (Index i = 0; i < x_.rows; ++i) std::copy_n(z_.row(i).begin(), judged_, x_.row(i).begin());
  }

  BlockCgOutcome run(Progress* progress) {
    if (options_.residual) {
      begin();
      ++outcome_.iterations;
    }
    while (!done(progress)) {
      outcome_.gave_up = hopeless();
      if (outcome_.gave_up) break;
      if (wants_truth()) {
        if (from_truth()) break;
      } else if (exhausted()) {
        break;
      } else {
        iterate();
      }
      ++outcome_.iterations;
    }
    // What was good enough before is better than what roundings made of it.
    if (!kept_.x.empty() && !(outcome_.residual <= options_.tolerance)) {
      for (Index i = 0; i < x_.rows; ++i) std::ranges::copy(kept_.x.row(i), x_.row(i).begin());
      image_ = std::move(kept_.image);
      outcome_.residual = kept_.residual;
      outcome_.energy = kept_.energy;
      outcome_.vouched = kept_.vouched;
    }
    lanczos_.extremes(outcome_.least_ritz, outcome_.largest_ritz);
    outcome_.gain = gain_;
    outcome_.image = std::move(image_);
    return std::move(outcome_);
  }

 private:
  static constexpr int check_every = 25;
  /// The slowest gain per iteration (in the norm of M⁻¹) with which applications may be rough and the next step be foreseen.
  /// One iteration is not enough to know it: what there is of b is smooth, and what remains of it is not.
  static constexpr double slowest = 0.1;

  /// An x whose residual is within the tolerance, but not its energy.
  struct Kept {
    Matrix<double> x;
    Matrix<double> image;
    double residual = 0;
    double energy = 0;
    bool vouched = false;
  };

  double off() const { return drift_.relative(bb_, judged_); }
  bool foresees() const { return steps_ >= 2 && gain_ < slowest; }
  /// How much more a step may leave than others have left. Of some 5000 problems drawn at random (a program that is not
  /// kept) it was up to 2.2 times as much where two or three steps had been seen of one column, 1.3 times beside another
  /// whose steps are by the same M, and 1.15 times beside two or more; once 4.1 times, beside one of another M.
  double caution() const { return std::max(1.6, (steps_ == 2 ? 4.6 : 3.0) - 1.4 * (independent_ - 1)); }
  /// p²/Σ cos² of the angles between residuals: p where they are perpendicular, 1 where they are all the same.
  double independent_columns() const {
    const Matrix<double> r(r_.view().col_range(0, judged_));
    Matrix<double> products(judged_, judged_);
    gemm<double>(true, false, 1.0, r, r, 0.0, products);
    double sum = 0;
    double columns = 0;
    for (Index j = 0; j < judged_; ++j) {
      if (!(products(j, j) > 0)) continue;
      ++columns;
      for (Index k = 0; k < judged_; ++k) {
        if (products(k, k) > 0) sum += products(j, k) / products(j, j) * (products(j, k) / products(k, k));
      }
    }
    return sum > 0 ? columns * columns / sum : 1.0;
  }
  /// What is to be expected of a step that is taken unseen.
  double foreseen() const {
    if (!options_.foresee || !foresees() || steps_since_ == 0) return std::numeric_limits<double>::infinity();
    return caution() * largest_of(judged_, [&](std::size_t k) {
             return bb_[k] == 0 ? 0.0 : gain_ * std::sqrt(rz_[k] * largest_[k] / bb_[k]);
           });
  }
  /// What energies are made of, of every column, with z_ = M⁻¹r.
  struct Sizes {
    std::vector<double> rz;
    std::vector<double> zz;
    std::vector<double> xb;
  };
  Sizes sizes(std::vector<double> rz) const { return {std::move(rz), column_dots(z_, z_), column_dots(x_, b_)}; }
  /// max over the judged columns of √(rᵀM⁻¹r/xᵀb), of `share` of r and the drift, and of what is wished of ‖M⁻¹r‖; not a
  /// number where x or M is none.
  double relative_energy(const Sizes& now, double share = 1, bool drifts = false) const {
    return largest_of(judged_, [&](std::size_t k) {
      if (bb_[k] == 0) return 0.0;
      const double energy = share * std::sqrt(options_.most_ratio * now.rz[k]) + (drifts ? drift_.energy(k) : 0.0);
      const double solution = share * options_.most_ratio * std::sqrt(now.zz[k]) + (drifts ? drift_.solution(k) : 0.0);
      return std::max(energy, options_.solution_share * solution) / std::sqrt(now.xb[k]);
    });
  }
  bool within(double residual, double energy) const {
    return residual <= options_.tolerance && (energy <= options_.energy_tolerance || std::isinf(options_.energy_tolerance));
  }
  bool hopeless() const {
    if (options_.patience == 0 || outcome_.iterations < options_.patience) return false;
    const double energy =
        largest_of(judged_, [&](std::size_t k) { return first_rz_[k] > 0 ? std::sqrt(rz_[k] / first_rz_[k]) : 0.0; });
    const double gained = -std::log(std::min(outcome_.residual, energy)) / outcome_.iterations;
    return 1.5 * gained * options_.most_iterations < -std::log(options_.tolerance);
  }
  bool last() const { return outcome_.iterations >= options_.most_iterations || std::isnan(outcome_.residual); }
  /// Errors of rough applications are estimates: nothing is claimed on them alone.
  bool may_claim() const { return outcome_.rough == 0 || truth_seen_; }

  bool done(Progress* progress) {
    rr_ = column_dots(r_, r_);
    independent_ = options_.alike ? independent_columns() : 1.0;
    for (std::size_t k = 0; k < rr_.size(); ++k) {
      if (outcome_.iterations > 0 && rz_[k] > 0) largest_[k] = std::max(largest_[k], rr_[k] / rz_[k]);
    }
    outcome_.residual = largest_ratio(rr_, bb_, judged_);
    if (outcome_.residual < 1)
      digits_ = std::max(digits_, std::log(std::max(outcome_.residual, options_.tolerance)) / std::log(options_.tolerance));
    report(progress, "conjugate gradients", digits_);
    const Sizes now = sizes(rz_);
    outcome_.energy = relative_energy(now);
    const double claim = outcome_.residual + off();
    const double expected = std::hypot(foreseen(), off());  // both of them with caution, and strangers to each other
    double energy = 0;
    double next_energy = 0;
    bool here = false;
    const auto judge = [&] {
      energy = relative_energy(now, 1, true);
      next_energy = relative_energy(now, caution() * gain_, true);
      here = within(claim, energy);
      near_ = here || within(expected, next_energy);
    };
    judge();
    if (!may_claim()) return false;
    if (!near_ && std::min(claim, expected) <= options_.tolerance && drift_.can_be_weighed()) {
      drift_.weigh(precondition_, options_.most_ratio);
      judge();
    }
    if (!near_) {
      if (claim <= options_.tolerance && (kept_.x.empty() || energy < kept_.energy)) {
        kept_ = {Matrix<double>(ConstMatrix(x_)), Matrix<double>(b_), claim, energy, true};
        subtract(b_, r_, kept_.image);
      }
      return false;
    }
    outcome_.vouched = true;
    if (!here || expected < claim) {
      step_on();
      image_ = Matrix<double>(b_);
    } else {
      subtract(b_, r_, image_);
    }
    // No more is claimed than has to be.
    if (here) {
      outcome_.residual = claim;
      outcome_.energy = energy;
    } else {
      outcome_.residual = claim <= options_.tolerance ? std::max(claim, expected) : expected;
      outcome_.energy = next_energy;
    }
    return true;
  }

  /// The step that would come next, at the length of the one before.
  void step_on() {
    for (Index i = 0; i < x_.rows; ++i) {
      for (Index k = 0; k < judged_; ++k) x_(i, k) += step_[at(k)] * direction_(i, k);
    }
  }

  /// The start x = M⁻¹ of the targets, and what it leaves of b. Where that is too much, the targets may be far from b, or M
  /// far from A: then b is asked for, which is what 0 leaves.
  void begin() {
    constexpr double least_share = 0.98;  // of ‖b‖² in ‖targets‖²
    if (trusts_rough_) {
      SampledErrors errors = options_.rough_residual(direction_, image_);
      if (all_finite(image_)) {
        update(judged_, image_);
        std::vector<double> step = step_;
        std::fill_n(step.begin(), judged_, 1.0);
        rough_taken(std::move(errors), step, column_dots(r_, r_), column_dots(x_, x_));
      } else {
        trusts_rough_ = false;
      }
    }
    if (outcome_.rough == 0) start_again(true_residual(direction_), false);
    const std::vector<double> rr = column_dots(r_, r_);
    const double left = std::max(largest_ratio(rr, bb_, judged_), largest_ratio(rz_, first_rz_, judged_));
    if (left < slowest) {
      for (std::size_t k = 0; k < at(judged_); ++k) bb_[k] *= least_share;
      gain_ = left;  // for want of a better guess
      starts_near_ = true;
    } else {
      begin_at_zero();
    }
  }

  void begin_at_zero() {
    Matrix<double> in = direction_;
    for (Index i = 0; i < x_.rows; ++i) {
      std::fill_n(x_.row(i).begin(), judged_, 0.0);
      std::fill_n(in.row(i).begin(), judged_, 0.0);
    }
    const Matrix<double> b = true_residual(in);
    for (Index i = 0; i < b_.rows(); ++i) std::copy_n(b.row(i).begin(), judged_, b_.row(i).begin());
    bb_ = column_dots(b_, b_);
    start_again(b, false);
    ++outcome_.iterations;
    first_rz_ = rz_;
    rough_since_ = 0;
    truth_seen_ = false;  // not of anything that rough applications have led to
    trusts_rough_ = static_cast<bool>(options_.rough);
  }

  /// Whether a step can be trusted to lead on.
  bool leads_on() const { return gain_ < slowest && (steps_ > 0 || starts_near_); }

  /// Whether the truth can be looked at now and no more after it: what the next rough application will be off by is
  /// harmless. Of the directions they are applied to they are off by much the same share, within a factor of two on the jobs
  /// of `mercer bench`.
  bool early_truth_will_do() const {
    constexpr double harmless = 0.3;
    constexpr double likely_gain = 0.01;
    if (truth_seen_ || rough_since_ == 0 || !trusts_rough_ || !leads_on()) return false;
    const double gain = outcome_.rough == 1 ? std::max(gain_, likely_gain) : gain_;
    const std::vector<double> dd = column_dots(direction_, direction_);
    const double next =
        largest_of(judged_, [&](std::size_t k) { return bb_[k] == 0 ? 0.0 : gain * rate_[k] * std::sqrt(dd[k] / bb_[k]); });
    return next <= harmless * options_.tolerance;
  }

  bool wants_truth() const {
    if (within(outcome_.residual, outcome_.energy) || near_ || last() || early_truth_will_do()) return true;
    // One more rough application costs half as much, where a claim will do after it.
    if (truth_seen_ && trusts_rough_ && outcome_.residual + off() > options_.tolerance &&
        gain_ * outcome_.residual + off() <= 0.8 * options_.tolerance) {
      return false;
    }
    const double harmless = std::max(gain_ * outcome_.residual, 0.25 * options_.tolerance);
    return rough_since_ > 0 && (!trusts_rough_ || !(off() <= harmless));
  }

  /// b - Ax, given x in the judged columns; `image_` and the residual are known after it.
  Matrix<double> true_residual(ConstMatrix in) {
    Matrix<double> truth(b_.rows(), b_.cols());
    if (options_.residual) {
      options_.residual(in, image_);
      for (Index i = 0; i < b_.rows(); ++i) {
        for (Index k = 0; k < judged_; ++k) {
          truth(i, k) = image_(i, k);
          image_(i, k) = b_(i, k) - truth(i, k);
        }
      }
    } else {
      apply_(in, image_);
      subtract(b_, image_, truth);
    }
    outcome_.residual = largest_ratio(column_dots(truth, truth), bb_, judged_);
    return truth;
  }

  /// One application to x itself, and conjugate gradients from there; whether they are at an end. Columns that are not
  /// judged go on as if nothing were.
  bool from_truth() {
    const double claimed = outcome_.residual;
    const double allowed = 2 * (claimed + (rough_since_ > 0 ? off() : 0.0));
    std::vector<double> allowed_energy(at(judged_));
    for (std::size_t k = 0; k < at(judged_); ++k) allowed_energy[k] = 2 * (std::sqrt(rz_[k]) + drift_.energy(k));
    const bool steps_on = leads_on() && !last();
    if (steps_on) step_on();
    const std::vector<double> before = rz_;
    const double drift = off();
    Matrix<double> in = direction_;
    for (Index i = 0; i < in.rows(); ++i) std::copy_n(x_.row(i).begin(), judged_, in.row(i).begin());
    const Matrix<double> truth = true_residual(in);
    if (rough_since_ > 0) {
      trusts_rough_ = trusts_rough_ && outcome_.residual <= allowed;
    } else {
      outcome_.rounding = outcome_.residual > allowed && outcome_.residual > 0.5 * last_true_;
    }
    rough_since_ = 0;
    if (settled(truth) || outcome_.rounding || last()) return true;
    const bool seen = steps_on && drift <= outcome_.residual;  // what the step has led to, not what drift has
    start_again(truth, seen);
    if (seen && steps_ == 0) {
      for (std::size_t k = 0; k < at(judged_); ++k) {
        if (before[k] > 0) gain_ = std::max(gain_, std::sqrt(rz_[k] / before[k]));
      }
      ++steps_;
    }
    for (std::size_t k = 0; k < at(judged_); ++k)
      trusts_rough_ = trusts_rough_ && (std::sqrt(rz_[k]) <= allowed_energy[k] || bb_[k] == 0);
    return false;
  }

  /// From b - Ax; after a step along d that has led from r to it, with d among the directions still. Of z = M⁻¹r and d, the
  /// best step is along z + βd, with Ad = (r before - r)/step, zᵀAz taken for zᵀr, and
  ///     β = (dᵀr - zᵀAd)/dᵀAd,
  /// which is rᵀz after/before where the step was that of conjugate gradients.
  void start_again(const Matrix<double>& truth, bool after_step) {
    truth_seen_ = true;
    last_true_ = outcome_.residual;
    drift_.restart(x_, image_);
    if (!after_step) return update(judged_, truth);
    const Matrix<double> d(direction_.view().col_range(0, judged_));
    const Matrix<double> before(r_.view().col_range(0, judged_));
    update(judged_, truth);
    const ConstMatrix z = z_.view().col_range(0, judged_);
    const std::vector<double> d_before = column_dots(d, before);
    const std::vector<double> d_now = column_dots(d, r_.view().col_range(0, judged_));
    const std::vector<double> z_before = column_dots(z, before);
    for (Index k = 0; k < judged_; ++k) {
      const double step = step_[at(k)];
      const double d_curvature = (d_before[at(k)] - d_now[at(k)]) / step;
      const double beta = (d_now[at(k)] - (z_before[at(k)] - rz_[at(k)]) / step) / d_curvature;
      if (!(std::abs(beta) < slowest)) continue;
      for (Index i = 0; i < d.rows(); ++i) direction_(i, k) += beta * d(i, k);
    }
  }

  /// Every so often, whether the truth is lagging behind.
  bool exhausted() {
    if (trusts_rough_ || outcome_.iterations == 0 || outcome_.iterations % check_every != 0) return false;
    const double claimed = outcome_.residual;
    const Matrix<double> truth = true_residual(x_);
    outcome_.rounding = outcome_.residual > 2 * claimed && outcome_.residual > 0.5 * last_true_;
    last_true_ = outcome_.residual;
    return settled(truth) || outcome_.rounding;
  }

  /// Whether this residual, which is the true one, is small enough, and its energy is or no longer falls. Not a number is.
  bool settled(const Matrix<double>& truth) {
    if (outcome_.residual > options_.tolerance) return false;
    precondition_(truth, z_);
    outcome_.energy = relative_energy(sizes(column_dots(truth, z_)));
    const bool falls = outcome_.energy < 0.5 * least_energy_;
    least_energy_ = outcome_.energy;
    if (within(outcome_.residual, outcome_.energy) || !falls) return true;
    kept_ = {Matrix<double>(ConstMatrix(x_)), image_, outcome_.residual, outcome_.energy, false};
    return false;
  }

  void iterate() {
    if (!trusts_rough_) {
      apply_(direction_, image_);
      const Matrix<double> d = direction_;
      const std::vector<double> curvature = column_dots(d, image_);
      update(0, {});
      drift_.add(d, curvature, step_);
      return;
    }
    SampledErrors errors = options_.rough(direction_, image_);
    if (!all_finite(image_)) {  // float has overflown
      trusts_rough_ = false;
      iterate();
      return;
    }
    const std::vector<double> dd = column_dots(direction_, direction_);
    update(0, {});
    // Where iterations gain little, they need the directions that starting again forgets.
    trusts_rough_ = gain_ < slowest;
    rough_taken(std::move(errors), step_, rr_, dd);
  }

  /// A rough application to d, off by these errors, was taken by these steps, and rᵀr was this before.
  void rough_taken(SampledErrors&& errors, const std::vector<double>& step, const std::vector<double>& rr,
                   const std::vector<double>& dd) {
    const std::vector<double> norms = errors.norms();
    drift_.add(std::move(errors), norms, step);
    ++outcome_.rough;
    ++rough_since_;
    for (std::size_t k = 0; k < at(judged_); ++k) {
      if (bb_[k] == 0) continue;
      if (dd[k] > 0) rate_[k] = std::max(rate_[k], norms[k] / std::sqrt(dd[k]));
      // One that is off by more than a tenth of the residual gains nothing.
      trusts_rough_ = trusts_rough_ && norms[k] <= 0.1 * std::sqrt(rr[k]);
    }
  }

  /// By `image_`: the first columns have a new residual and start afresh, the others take the step along their direction.
  void update(Index fresh, ConstMatrix residual) {
    const std::vector<double> curvature = column_dots(direction_, image_);
    const std::vector<double> slope = column_dots(direction_, r_);
    if (fresh < judged_) {
      ++steps_;
      ++steps_since_;
    } else {
      steps_since_ = 0;
    }
    for (std::size_t k = at(fresh); k < step_.size(); ++k) step_[k] = curvature[k] > 0 ? slope[k] / curvature[k] : 0.0;
    parallel_rows(r_.rows(), 4 * r_.cols(), [&](Index first, Index end) {
      for (Index i = first; i < end; ++i) {
        for (Index k = 0; k < fresh; ++k) r_(i, k) = residual(i, k);
        for (Index k = fresh; k < r_.cols(); ++k) {
          x_(i, k) += step_[at(k)] * direction_(i, k);
          r_(i, k) -= step_[at(k)] * image_(i, k);
        }
      }
    });
    precondition_(r_, z_);
    const std::vector<double> next = column_dots(r_, z_);
    std::vector<double> beta(next.size(), 0.0);
    for (std::size_t k = 0; k < beta.size(); ++k) {
      if (k < at(fresh)) {
        lanczos_.restart(k);
        continue;
      }
      lanczos_.add(k, step_[k], rz_[k], next[k]);
      if (!(rz_[k] > 0)) continue;
      beta[k] = next[k] / rz_[k];
      if (k < at(judged_)) gain_ = std::max(gain_, std::sqrt(std::max(beta[k], 0.0)));
    }
    parallel_rows(r_.rows(), 2 * r_.cols(), [&](Index first, Index end) {
      for (Index i = first; i < end; ++i) {
        for (Index k = 0; k < r_.cols(); ++k) direction_(i, k) = z_(i, k) + beta[at(k)] * direction_(i, k);
      }
    });
    rz_ = next;
  }

  const BlockOperator& apply_;
  const BlockOperator& precondition_;
  const BlockCgOptions& options_;
  Index judged_;
  Matrix<double> b_;
  MutMatrix x_;
  Matrix<double> r_;
  Matrix<double> z_;  ///< M⁻¹r
  Matrix<double> direction_;
  Matrix<double> image_;
  std::vector<double> bb_;
  std::vector<double> rr_;
  double independent_ = 1;       ///< columns of r_ that tell of each other, at least 1
  std::vector<double> largest_;  ///< ‖r‖²/rᵀz, of any iteration
  std::vector<double> rate_;     ///< what rough applications to d are off by, of ‖d‖: the most of any of them
  std::vector<double> rz_;
  std::vector<double> first_rz_;
  std::vector<double> step_;  ///< the last ones
  int steps_ = 0;             ///< of the judged columns
  int steps_since_ = 0;       ///< those since they started afresh
  bool starts_near_ = false;  ///< at an x that leaves little of b
  double gain_ = 0;           ///< √(rᵀz after / before), the largest of any of them
  bool near_ = false;         ///< a claim, with or without a step unseen, would be within the tolerance
  bool truth_seen_ = false;   ///< b - Ax was computed from x
  double last_true_ = std::numeric_limits<double>::infinity();
  double least_energy_ = std::numeric_limits<double>::infinity();  ///< of a true residual within the tolerance
  Kept kept_;
  double digits_ = 0;  ///< of those of the tolerance, reached at any time
  Lanczos lanczos_;
  Drift drift_;
  bool trusts_rough_;
  int rough_since_ = 0;  ///< rough applications since the residual was last computed from x
  BlockCgOutcome outcome_;
};

}  // namespace

BlockCgOutcome block_cg(const BlockOperator& apply, const BlockOperator& precondition, ConstMatrix targets, MutMatrix x,
                        const BlockCgOptions& options, Progress* progress) {
  // What is left of targets is in their own units.
  const std::vector<double> scales = options.residual ? std::vector<double>(at(targets.cols), 1.0) : column_scales(targets);
  Matrix<double> scaled{targets};
  scale_columns(scaled, scales, false);
  BlockCgOutcome outcome = BlockCg(apply, precondition, scaled, x, options).run(progress);
  scale_columns(x, scales, true);
  scale_columns(outcome.image, scales, true);
  return outcome;
}

}  // namespace mercer
