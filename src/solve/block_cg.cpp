#include "solve/block_cg.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "backend/backend.hpp"
#include "base/progress.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// max_k ‖r_k‖/‖b_k‖ over the first columns, of squares; not a number when any of them is not.
double largest_ratio(const std::vector<double>& rr, const std::vector<double>& bb, Index judged) {
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

  /// After an iteration of column k with this step, and rᵀz before and after it.
  void add(std::size_t k, double step, double rz, double next) {
    Column& c = columns_[k];
    const double beta = next / rz;
    if (c.at_rest || c.diagonal.size() >= most) return;
    if (!(step > 0) || !std::isfinite(beta)) {
      c.at_rest = true;
      return;
    }
    c.diagonal.push_back(1 / step + c.carry);
    c.carry = beta / step;
    c.beside.push_back(std::sqrt(std::max(beta, 0.0)) / step);
  }
  /// Column k goes on from another vector.
  void restart(std::size_t k) {
    look(columns_[k]);
    columns_[k] = {};
  }

  void extremes(double& least, double& largest) {
    for (const Column& c : columns_) look(c);
    least = least_;
    largest = largest_;
  }

 private:
  static constexpr std::size_t most = 50;
  struct Column {
    std::vector<double> diagonal;
    std::vector<double> beside;
    double carry = 0;
    bool at_rest = false;  ///< what follows is rounding
  };
  void look(const Column& c) {
    const auto n = static_cast<Index>(c.diagonal.size());
    if (n == 0) return;
    Matrix<double> t(n, n);
    for (Index i = 0; i < n; ++i) {
      t(i, i) = c.diagonal[at(i)];
      if (i > 0) t(i, i - 1) = c.beside[at(i - 1)];
    }
    const std::vector<double> values = eigh(t).values;
    least_ = std::min(least_, values.front());
    largest_ = std::max(largest_, values.back());
  }

  std::vector<Column> columns_;
  double least_ = 1;
  double largest_ = 1;
};

/// How far the residual of the recurrence may be from the true one, of every column: e, in norm and in energy √(eᵀM⁻¹e).
class Drift {
 public:
  Drift(const RoundingModel& model, double least_eigenvalue, Index columns)
      : model_(model),
        most_(least_eigenvalue > 0 ? 1 / std::sqrt(least_eigenvalue) : 0.0),
        bound_(at(columns), 0.0),
        rough_(at(columns), 0.0),
        rough_energy_(at(columns), 0.0) {}

  /// After precise applications to d, taken by these steps.
  void add(ConstMatrix d, const std::vector<double>& curvature, const std::vector<double>& step) {
    const std::vector<double> dd = column_dots(d, d);
    for (std::size_t k = 0; k < bound_.size(); ++k) bound_[k] += std::abs(step[k]) * error(dd[k], curvature[k]);
  }
  /// After others, off by these errors, whose norms are known already.
  void add(SampledErrors&& errors, const std::vector<double>& norms, const std::vector<double>& step) {
    for (std::size_t k = 0; k < bound_.size(); ++k) {
      bound_[k] += std::abs(step[k]) * norms[k];
      rough_[k] += std::abs(step[k]) * norms[k];
      rough_energy_[k] = rough_[k] * most_;
    }
    if (most_ > 0) errors_.add(std::move(errors), step);
  }
  /// After b - Ax was computed from `image` = Ax.
  void restart(ConstMatrix x, ConstMatrix image) {
    const std::vector<double> xx = column_dots(x, x);
    const std::vector<double> energy = column_dots(x, image);
    for (std::size_t k = 0; k < bound_.size(); ++k) bound_[k] = error(xx[k], energy[k]);
    std::ranges::fill(rough_, 0.0);
    std::ranges::fill(rough_energy_, 0.0);
    errors_ = {};
  }

  /// √(eᵀM⁻¹e); 0 where nothing is known.
  double energy(std::size_t k) const { return (bound_[k] - rough_[k]) * most_ + rough_energy_[k]; }
  bool can_be_weighed() const { return !errors_.groups.empty(); }
  /// From now on the energy of rough applications is that of their errors, which roundings spread over all eigenvectors. As
  /// if they were all along the one of the least eigenvalue, it is up to a hundred times as much.
  void weigh(const BlockOperator& precondition) {
    const std::vector<double> energy = errors_.norms(precondition);
    for (std::size_t k = 0; k < energy.size(); ++k) {
      if (energy[k] < rough_energy_[k]) rough_energy_[k] = energy[k];
    }
  }
  /// Of the judged columns, relative; infinite without a model.
  double relative(const std::vector<double>& bb, Index judged) const {
    if (model_.unit == 0) return std::numeric_limits<double>::infinity();
    double largest = 0;
    for (std::size_t k = 0; k < at(judged); ++k) {
      const double one = bb[k] > 0 ? bound_[k] / std::sqrt(bb[k]) : 0.0;
      if (!(one <= largest)) largest = one;
      if (std::isnan(largest)) break;
    }
    return largest;
  }

 private:
  double error(double square, double energy) const {
    return model_.unit * (model_.norm * std::sqrt(square) + model_.energy * std::sqrt(std::max(energy, 0.0)));
  }
  const RoundingModel& model_;
  double most_;  ///< the energy of a vector of length 1, at most
  std::vector<double> bound_;
  std::vector<double> rough_;         ///< of it, by rough applications
  std::vector<double> rough_energy_;  ///< of them
  SampledErrors errors_;              ///< of them
};

void subtract(ConstMatrix a, ConstMatrix b, MutMatrix out) {
  for (Index i = 0; i < a.rows; ++i) {
    for (Index k = 0; k < a.cols; ++k) out(i, k) = a(i, k) - b(i, k);
  }
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
        step_(at(b.cols), 1.0),
        lanczos_(b.cols),
        drift_(options.rounding, options.least_eigenvalue, b.cols),
        trusts_rough_(static_cast<bool>(options.rough)) {
    precondition_(r_, z_);
    direction_ = z_;
    rz_ = column_dots(r_, z_);
  }

  BlockCgOutcome run(Progress* progress) {
    while (!done(progress)) {
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
  /// What is to be expected of a step that is taken unseen.
  double foreseen() const {
    if (!options_.foresee || !foresees() || steps_since_ == 0) return std::numeric_limits<double>::infinity();
    double largest = 0;
    for (std::size_t k = 0; k < at(judged_); ++k) {
      if (bb_[k] == 0) continue;
      const double one = 3 * gain_ * std::sqrt(rz_[k] * largest_[k] / bb_[k]);
      if (!(one <= largest)) largest = one;
      if (std::isnan(largest)) break;
    }
    return largest;
  }
  /// max over the judged columns of √(rᵀM⁻¹r/xᵀb), of `share` of r and the drift, and of what is wished of ‖M⁻¹r‖, with
  /// z_ = M⁻¹r; not a number where x or M is none.
  double relative_energy(const std::vector<double>& rz, double share = 1, bool drifts = false) const {
    const std::vector<double> xb = column_dots(x_, b_);
    const std::vector<double> zz = column_dots(z_, z_);
    double largest = 0;
    for (std::size_t k = 0; k < at(judged_); ++k) {
      if (bb_[k] == 0) continue;
      const double energy = share * std::sqrt(options_.most_ratio * rz[k]) + (drifts ? drift_.energy(k) : 0.0);
      const double solution = options_.solution_share * options_.most_ratio * share * std::sqrt(zz[k]);
      const double one = std::max(energy, solution) / std::sqrt(xb[k]);
      if (!(one <= largest)) largest = one;
      if (std::isnan(largest)) break;
    }
    return largest;
  }
  bool within(double residual, double energy) const {
    return residual <= options_.tolerance && (energy <= options_.energy_tolerance || std::isinf(options_.energy_tolerance));
  }
  bool last() const { return outcome_.iterations >= options_.most_iterations || std::isnan(outcome_.residual); }
  /// Errors of rough applications are estimates: nothing is claimed on them alone.
  bool may_claim() const { return outcome_.rough == 0 || truth_seen_; }

  bool done(Progress* progress) {
    rr_ = column_dots(r_, r_);
    for (std::size_t k = 0; k < rr_.size(); ++k) {
      if (outcome_.iterations > 0 && rz_[k] > 0) largest_[k] = std::max(largest_[k], rr_[k] / rz_[k]);
    }
    outcome_.residual = largest_ratio(rr_, bb_, judged_);
    if (outcome_.residual < 1)
      digits_ = std::max(digits_, std::log(std::max(outcome_.residual, options_.tolerance)) / std::log(options_.tolerance));
    report(progress, "conjugate gradients", digits_);
    outcome_.energy = relative_energy(rz_);
    const double claim = outcome_.residual + off();
    const double expected = foreseen() + off();
    double energy = 0;
    double next_energy = 0;
    bool here = false;
    const auto judge = [&] {
      energy = relative_energy(rz_, 1, true);
      next_energy = relative_energy(rz_, 3 * gain_, true);
      here = within(claim, energy);
      near_ = here || within(expected, next_energy);
    };
    judge();
    if (!may_claim()) return false;
    if (!near_ && std::min(claim, expected) <= options_.tolerance && drift_.can_be_weighed()) {
      drift_.weigh(precondition_);
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

  bool wants_truth() const {
    if (within(outcome_.residual, outcome_.energy) || near_ || last()) return true;
    // One more rough application costs half as much, where a claim will do after it.
    if (truth_seen_ && trusts_rough_ && outcome_.residual + off() > options_.tolerance &&
        gain_ * outcome_.residual + off() <= 0.8 * options_.tolerance) {
      return false;
    }
    const double harmless = std::max(gain_ * outcome_.residual, 0.25 * options_.tolerance);
    return rough_since_ > 0 && (!trusts_rough_ || !(off() <= harmless));
  }

  /// One application to x itself, and conjugate gradients from there; whether they are at an end. Columns that are not
  /// judged go on as if nothing were.
  bool from_truth() {
    const double claimed = outcome_.residual;
    const double allowed = 2 * (claimed + (rough_since_ > 0 ? off() : 0.0));
    std::vector<double> allowed_energy(at(judged_));
    for (std::size_t k = 0; k < at(judged_); ++k) allowed_energy[k] = 2 * (std::sqrt(rz_[k]) + drift_.energy(k));
    if (foresees() && !last()) step_on();
    Matrix<double> in = direction_;
    for (Index i = 0; i < in.rows(); ++i) std::copy_n(x_.row(i).begin(), judged_, in.row(i).begin());
    apply_(in, image_);
    Matrix<double> truth(b_.rows, b_.cols);
    subtract(b_, image_, truth);
    outcome_.residual = largest_ratio(column_dots(truth, truth), bb_, judged_);
    truth_seen_ = true;
    if (rough_since_ > 0) {
      trusts_rough_ = trusts_rough_ && outcome_.residual <= allowed;
    } else {
      outcome_.rounding = outcome_.residual > allowed && outcome_.residual > 0.5 * last_true_;
    }
    last_true_ = outcome_.residual;
    rough_since_ = 0;
    if (settled(truth) || outcome_.rounding || last()) return true;
    drift_.restart(x_, image_);
    update(judged_, truth);
    for (std::size_t k = 0; k < at(judged_); ++k)
      trusts_rough_ = trusts_rough_ && (std::sqrt(rz_[k]) <= allowed_energy[k] || bb_[k] == 0);
    return false;
  }

  /// Every so often, whether the truth is lagging behind.
  bool exhausted() {
    if (trusts_rough_ || outcome_.iterations == 0 || outcome_.iterations % check_every != 0) return false;
    const double claimed = outcome_.residual;
    apply_(x_, image_);
    Matrix<double> truth(b_.rows, b_.cols);
    subtract(b_, image_, truth);
    outcome_.residual = largest_ratio(column_dots(truth, truth), bb_, judged_);
    outcome_.rounding = outcome_.residual > 2 * claimed && outcome_.residual > 0.5 * last_true_;
    last_true_ = outcome_.residual;
    return settled(truth) || outcome_.rounding;
  }

  /// Whether this residual, which is the true one, is small enough, and its energy is or no longer falls. Not a number is.
  bool settled(const Matrix<double>& truth) {
    if (outcome_.residual > options_.tolerance) return false;
    precondition_(truth, z_);
    outcome_.energy = relative_energy(column_dots(truth, z_));
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
    if (!std::ranges::all_of(image_.values(), [](double v) { return std::isfinite(v); })) {  // float has overflown
      trusts_rough_ = false;
      iterate();
      return;
    }
    update(0, {});
    const std::vector<double> norms = errors.norms();
    drift_.add(std::move(errors), norms, step_);
    ++outcome_.rough;
    ++rough_since_;
    // An application that is off by more than a tenth of the residual gains nothing; and where iterations gain little, they
    // need the directions that starting again forgets.
    trusts_rough_ = gain_ < slowest;
    for (std::size_t k = 0; k < at(judged_); ++k) {
      trusts_rough_ = trusts_rough_ && (norms[k] <= 0.1 * std::sqrt(rr_[k]) || bb_[k] == 0);
    }
  }

  /// By `image_`: the first columns have a new residual and start afresh, the others take the step along their direction.
  void update(Index fresh, ConstMatrix residual) {
    const std::vector<double> curvature = column_dots(direction_, image_);
    if (fresh < judged_) {
      ++steps_;
      ++steps_since_;
    } else {
      steps_since_ = 0;
    }
    for (std::size_t k = at(fresh); k < step_.size(); ++k) step_[k] = curvature[k] > 0 ? rz_[k] / curvature[k] : 0.0;
    for (Index i = 0; i < r_.rows(); ++i) {
      for (Index k = 0; k < fresh; ++k) r_(i, k) = residual(i, k);
      for (Index k = fresh; k < r_.cols(); ++k) {
        x_(i, k) += step_[at(k)] * direction_(i, k);
        r_(i, k) -= step_[at(k)] * image_(i, k);
      }
    }
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
    for (Index i = 0; i < r_.rows(); ++i) {
      for (Index k = 0; k < r_.cols(); ++k) direction_(i, k) = z_(i, k) + beta[at(k)] * direction_(i, k);
    }
    rz_ = next;
  }

  const BlockOperator& apply_;
  const BlockOperator& precondition_;
  const BlockCgOptions& options_;
  Index judged_;
  ConstMatrix b_;
  MutMatrix x_;
  Matrix<double> r_;
  Matrix<double> z_;  ///< M⁻¹r
  Matrix<double> direction_;
  Matrix<double> image_;
  std::vector<double> bb_;
  std::vector<double> rr_;
  std::vector<double> largest_;  ///< ‖r‖²/rᵀz, of any iteration
  std::vector<double> rz_;
  std::vector<double> step_;  ///< the last ones
  int steps_ = 0;             ///< of the judged columns
  int steps_since_ = 0;       ///< those since they started afresh
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
  const std::vector<double> scales = column_scales(targets);
  Matrix<double> scaled{targets};
  scale_columns(scaled, scales, false);
  BlockCgOutcome outcome = BlockCg(apply, precondition, scaled, x, options).run(progress);
  scale_columns(x, scales, true);
  scale_columns(outcome.image, scales, true);
  return outcome;
}

}  // namespace mercer
