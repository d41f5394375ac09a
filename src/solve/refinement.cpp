#include "solve/refinement.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <type_traits>

#include "base/parallel.hpp"
#include "base/scale.hpp"
#include "solve/keep_posterior.hpp"
#include "solve/output_weights.hpp"
#include "solve/shifted_factor.hpp"
#include "solve/trace.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// Whether the residuals are so small a part of the targets that their squares want precise products, or are known within
/// `gap` only.
bool little_left(const NormalSystem& system, const RidgeSolution& solution, double gap = 0) {
  const double left = std::max(system.weight - solution.degrees_of_freedom, 0.01 * system.weight);
  for (std::size_t a = 0; a < solution.noise.size(); ++a) {
    const double squares = solution.noise[a] * left;
    if (!(squares >= 1e-3 * system.target_square[a] && gap <= 1e-6 * squares)) return true;
  }
  return false;
}

/// Whether there is a finite right-hand side for every output that has anything to learn.
bool has_products(const NormalSystem& system) {
  constexpr double least = 1e-60;  // of squares beside others: floats, and squares of doubles, must have room for all
  const double largest = system.target_square.empty() ? 0.0 : std::ranges::max(system.target_square);
  for (std::size_t a = 0; a < system.target_square.size(); ++a) {
    if (!std::isfinite(system.target_square[a])) return false;
    if (system.target_square[a] > 0 && system.target_square[a] < least * largest) return false;
    bool any = false;
    for (Index c = 0; c < system.cross.rows(); ++c) {
      if (!std::isfinite(system.cross(c, static_cast<Index>(a)))) return false;
      any = any || system.cross(c, static_cast<Index>(a)) != 0;
    }
    if (!any && system.target_square[a] > 0) return false;
  }
  return true;
}

/// The same operator, or one like it.
template <class To, class From>
std::shared_ptr<RowOperator<To>> in_precision(const std::shared_ptr<RowOperator<From>>& op) {
  if constexpr (std::is_same_v<To, From>) {
    return op;
  } else {
    return std::make_shared<RowOperator<To>>(*op);
  }
}

/// A matrix with so much less on its diagonal, for as long as this lives.
class DiagonalLess {
 public:
  DiagonalLess(MutMatrix a, const std::vector<double>& less) : a_(a), diagonal_(less.size()) {
    for (std::size_t i = 0; i < diagonal_.size(); ++i) {
      double& entry = a_(static_cast<Index>(i), static_cast<Index>(i));
      diagonal_[i] = entry;
      entry -= less[i];
    }
  }
  ~DiagonalLess() {
    for (std::size_t i = 0; i < diagonal_.size(); ++i) a_(static_cast<Index>(i), static_cast<Index>(i)) = diagonal_[i];
  }
  DiagonalLess(const DiagonalLess&) = delete;
  DiagonalLess& operator=(const DiagonalLess&) = delete;

 private:
  MutMatrix a_;
  std::vector<double> diagonal_;
};

/// Of a symmetric matrix, from its lower triangle.
double frobenius(ConstMatrix a) {
  std::vector<double> sums(at(a.rows), 0.0);
  parallel_for(a.rows, [&](Index i) {
    for (Index j = 0; j < i; ++j) sums[at(i)] += 2 * a(i, j) * a(i, j);
    sums[at(i)] += a(i, i) * a(i, i);
  });
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

}  // namespace

std::vector<GramPrecision> worthwhile_grams(const FeatureMap& map, Precision passes, bool weighted_rows) {
  std::vector<GramPrecision> grams;
  if (is_fast(LowNumber::int8) && !weighted_rows && !map.bounds().empty()) grams.push_back(GramPrecision::int8);
  if (is_fast(LowNumber::bf16)) grams.push_back(GramPrecision::bf16);
  // Three products take 1.5 times as long as float32 where bfloat16 is only twice as fast.
  if (active_path(LowNumber::bf16) == PackedPath::amx) grams.push_back(GramPrecision::bf16_three);
  if (passes == Precision::double_) grams.push_back(GramPrecision::float32);
  return grams;
}

/// How far features in float may be off (relative) for passes with them to be of use.
constexpr double roughest = 1e-4;

Refinement::Refinement(const FeatureMap& map, RowSource& rows, const Setup& setup, Progress* progress)
    : gram_(setup.gram), plain_(setup.plain), factor_bytes_(setup.factor_bytes), map_(map), progress_(progress) {
  const bool in_float = setup.passes == Precision::single_;
  unit_ = in_float ? 0x1p-23 : 0x1p-52;
  block_rows_ = RowOperator<double>::block_rows(map, map.outputs() + 1);
  // By the kind of map, not by whether features are kept, which the clock decides: the same command, the same digits.
  // Features without bounds (anchors, polynomials) may cost far more to compute than to keep.
  if (!in_float && !plain_ && !map.bounds().empty()) {
    const bool coarse = gram_ == GramPrecision::int8 || gram_ == GramPrecision::bf16;
    if (coarse ? open_rounded<float>(rows, setup) : open_rounded<double>(rows, setup)) return;
  }
  if (in_float) {
    open<float>(rows, setup);
  } else {
    open<double>(rows, setup);
  }
}

template <class Real>
void Refinement::open(RowSource& rows, const Setup& setup) {
  LowGram low = low_gram(0);
  const auto op = std::make_shared<RowOperator<Real>>(map_, rows, setup.intercept, setup.memory_bytes, map_.outputs() + 1,
                                                      progress_, &low);
  feature_square_ = op->feature_square();
  take(low, op->system());
  apply_ = [op](ConstMatrix v, MutMatrix out, Matrix<double>* uncoupled) { op->apply(v, out, uncoupled); };
  gram_times_ = [op](ConstMatrix w) { return op->gram_times(w); };
  gather_ = [op](LowGram& gram) {
    op->gather(gram);
    return op->system();
  };
}

template <class Real>
bool Refinement::open_rounded(RowSource& rows, const Setup& setup) {
  using Operator = RowOperator<Real>;
  LowGram low = low_gram(map_.outputs());
  const auto op = std::make_shared<Operator>(map_, rows, setup.intercept, 0, map_.outputs() + 1, progress_, &low,
                                             Operator::Summed::as_rounded);
  if (!(op->single_unit() <= roughest) || !has_products(op->system())) return false;
  feature_square_ = op->feature_square();
  take(low, op->system());
  // Of features that hardly vary by more than a step, rounding leaves another problem.
  constexpr double most_noise = 1e-3;
  if (std::accumulate(excess_.begin(), excess_.end(), 0.0) > most_noise * trace(system_.gram)) return false;
  const auto precise = in_precision<double>(op);
  const auto rough = in_precision<float>(op);
  apply_ = [precise](ConstMatrix v, MutMatrix out, Matrix<double>* uncoupled) { precise->apply(v, out, uncoupled); };
  rough_ = [rough](ConstMatrix v, MutMatrix out) { return rough->apply_and_measure(v, out); };
  left_ = [precise, rough](ConstMatrix w, double scale) {
    LeftOfTargets left = precise->left_of_targets(w, scale);
    rough->set_mean_feature(left.mean_feature);
    return left;
  };
  rough_left_ = [precise, rough](ConstMatrix w, double scale, Index columns, const RowOperator<float>::Reduce& reduce,
                                 SampledErrors& errors) {
    LeftOfTargets left = rough->left_and_measured(w, scale, columns, reduce, errors);
    precise->set_mean_feature(left.mean_feature);
    return left;
  };
  gather_ = [precise, rough](LowGram& gram) {
    precise->accumulate(&gram, RowOperator<double>::Summed::as_rounded);
    rough->adopt(*precise);
    return precise->system();
  };
  return true;
}

void Refinement::take(LowGram& low, const NormalSystem& system) {
  system_ = system;
  excess_ = low.move_into(system_);
}

LowGram Refinement::low_gram(Index targets) const {
  return {map_.columns(), block_rows_, gram_, map_.bounds(), targets};
}

void Refinement::improve(GramPrecision gram) {
  gram_ = gram;
  system_.gram = {};
  LowGram low = low_gram(0);
  const NormalSystem system = gather_(low);
  take(low, system);
}

PreconditionedSystems Refinement::prepare(double ridge, Uncertainty kept) {
  const Coupling& coupling = *system_.coupling;
  PreconditionedSystems s;
  s.gram_norm = frobenius(system_.gram);
  if (coupling.is_constant()) {
    s.channels = channels(system_);
    s.rhs = s.channels.rhs;
    s.gain = s.channels.gain;
  } else {
    s.rhs = Matrix<double>(coupling.parameters(), 1);
    coupling.contract(system_.cross, s.rhs.values());
    s.gain = {1.0};
  }
  // A preconditioner may be factored in float where that can be done without a shift, and roughly where G is rough.
  const bool in_float = holds_ridge(s, ridge);
  const bool rough = gram_ == GramPrecision::int8 || gram_ == GramPrecision::bf16;
  const Factoring factoring = !rough ? Factoring::precise : kept != Uncertainty::none ? Factoring::fine : Factoring::rough;
  const auto keep = [&]<class Real>(BasicShiftedFactor<Real>&& f, FactoredGain& found) {
    found.shift = f.jitter;
    found.trace =
        static_cast<double>(found.systems.size()) * (static_cast<double>(f.factor.rows()) - ridge * inverse_trace(f.factor));
    if constexpr (std::is_same_v<Real, float>) {
      found.single_factor = std::move(f.factor);
    } else {
      found.factor = std::move(f.factor);
    }
  };
  const auto without_shift = [&](FactoredGain& found, const auto& with) {
    try {
      if (in_float) {
        keep(with(float{}, Shift::never), found);
      } else {
        keep(with(double{}, Shift::never), found);
      }
      return true;
    } catch (const NotPositiveDefinite&) {
      return false;
    }
  };
  // Of systems that share a gain, with(Real, Shift) being a factor of their preconditioner.
  const auto add_factor = [&](std::vector<Index> systems, double square, const auto& with) {
    constexpr double noticeable = 5e-3;  // of the ridge; far more than is_above lets pass
    const double added = std::accumulate(excess_.begin(), excess_.end(), 0.0) / static_cast<double>(excess_.size() + 1);
    FactoredGain& found = s.factors.emplace_back(FactoredGain{std::move(systems)});
    if (added * square > noticeable * ridge) {  // rows that err alike have less to be taken off
      const DiagonalLess less(system_.gram, excess_);
      if (without_shift(found, with) && found.is_above(ridge)) return;
      found = FactoredGain{std::move(found.systems)};
    }
    if (!(in_float && without_shift(found, with))) keep(with(double{}, Shift::coarse), found);
  };
  if (!coupling.is_constant()) {
    add_factor({0}, coupling_square(s.gain), [&]<class Real>(Real, Shift shift) {
      return factor_shifted<Real>([&] { return coupling.normal_matrix<Real>(system_.gram); }, ridge, shift, factoring);
    });
  } else {
    const auto runs = equal_gain_runs(s.channels);
    const double factor_bytes = (in_float ? 2.0 : 4.0) * std::pow(static_cast<double>(system_.gram.rows()), 2);
    const bool in_eigenbasis =
        runs.size() > 1 &&
        (kept == Uncertainty::full || factor_bytes * static_cast<double>(runs.size()) > static_cast<double>(factor_bytes_));
    if (in_eigenbasis) s.eigen = gram_eigen(system_.gram);  // γ_k U Λ Uᵀ + ridge
    for (std::size_t k = 0; in_eigenbasis && k < s.gain.size(); ++k) {
      for (const double value : s.eigen.values) s.trace += s.gain[k] * value / (s.gain[k] * value + ridge);
    }
    for (std::size_t run = 0; !in_eigenbasis && run < runs.size(); ++run) {
      const double gain = s.gain[at(runs[run].front())];
      add_factor(runs[run], gain, [&]<class Real>(Real, Shift shift) {
        return factor_shifted<Real>(system_.gram, gain, ridge, shift, factoring);
      });
    }
  }
  for (const FactoredGain& f : s.factors) {
    s.shift = std::max(s.shift, f.shift);
    s.trace += f.trace;
  }
  return s;
}

bool Refinement::holds_ridge(const PreconditionedSystems& systems, double ridge) const {
  return systems.gram_norm * coupling_square(systems.gain) <= 1e7 * ridge;
}

double Refinement::coupling_square(const std::vector<double>& gain) const {
  const Coupling& coupling = *system_.coupling;
  if (coupling.is_constant()) return gain.empty() ? 1.0 : *std::ranges::max_element(gain);
  Matrix<double> expanded(coupling.columns(), coupling.outputs());
  coupling.expand(random_signs(coupling.parameters()), expanded);
  double sum = 0;
  for (const double v : expanded.values()) sum += v * v;
  return sum / static_cast<double>(coupling.columns());
}

double Refinement::row_square(const PreconditionedSystems& systems) const {
  double means = 0;
  for (const double mean : system_.mean_feature) means += mean * mean;
  const double scalar_square = std::max(feature_square_, means + trace(system_.gram) / system_.weight);
  return coupling_square(systems.gain) * scalar_square;
}

RoundingModel Refinement::rounding_model(const PreconditionedSystems& systems) const {
  // n rows with m features of mean square k/m, each off by u of itself: Zᵀ(Ed) has norm u·k·√(n/m)·‖d‖ and Eᵀ(Zd) u·√k·‖Zd‖
  // where errors are independent. Rows may err alike (a rounded frequency moves them all one way; some are there twice), and
  // so may the features of a row (a rounded input): then Ed has norm u·√(nk/m)·‖d‖ or u·‖Zd‖, and Zᵀ(Ed) ‖Z‖ times that.
  // ‖Z‖² is at most ‖G‖_F, or a hundredth of nk where G is too coarse to tell.
  constexpr double independent = 16;
  constexpr double alike = 2;
  const double rows = system_.weight;
  const double square = row_square(systems);
  const double share = std::max(0.01, systems.gram_norm * coupling_square(systems.gain) / (rows * square));
  const double dependence = std::max(independent, alike * std::sqrt(rows * share));
  RoundingModel model;
  model.unit = unit_;
  model.norm = dependence * square * std::sqrt(rows / static_cast<double>(systems.rhs.rows()));
  model.energy = dependence * std::sqrt(square);
  return model;
}

int Refinement::choosing_iterations(double tolerance) {
  return static_cast<int>(-0.5 * std::log10(tolerance) + 1e-9);
}

/// The last precise application, mostly to a θ_s near the solution: there ‖Zθ‖² is known to second order by its tangent,
///     w_aᵀGw_a ≥ (2w - w_s)_aᵀ(Gw_s)_a, with a gap of (θ - θ_s)ᵀ(b - Aθ_s) at most in all.
/// Conjugate gradients scale their columns by powers of 2: `rescale` takes that back.
struct Refinement::Seen {
  Matrix<double> in;         ///< θ_s, the first column
  Matrix<double> out;        ///< Aθ_s
  Matrix<double> uncoupled;  ///< Gw_s

  std::vector<double> energy(const Coupling& coupling, ConstMatrix w) const {
    Matrix<double> tangent(w.rows, w.cols);
    coupling.expand(in.values(), tangent);
    for (Index c = 0; c < w.rows; ++c) {
      for (Index a = 0; a < w.cols; ++a) tangent(c, a) = 2 * w(c, a) - tangent(c, a);
    }
    return column_dots(tangent, uncoupled.view().col_range(0, w.cols));
  }
  void rescale(ConstMatrix theta) {
    const double ratio = column_dots(in, in)[0] / column_dots(theta, theta)[0];
    if (!(ratio > 0) || std::isinf(ratio)) return;
    const double scale = std::exp2(-std::round(0.5 * std::log2(ratio)));
    for (Matrix<double>* a : {&in, &out, &uncoupled}) {
      for (double& v : a->values()) v *= scale;
    }
  }
  double gap(ConstMatrix rhs, ConstMatrix theta) const {
    double sum = 0;
    for (Index i = 0; i < rhs.rows; ++i) sum += (theta(i, 0) - in(i, 0)) * (rhs(i, 0) - out(i, 0));
    return std::abs(sum);
  }
};

/// The last precise look at what is left of the targets, with its θ and W, all scaled. For other weights W' near them
///     Σ w e'² = Σ w e² - 2 (W' - W)ᵀ(Σ w φ~e) + ‖Z(W' - W)‖²,
/// and the last, which is left out, is (θ' - θ)ᵀ(b - Aθ) at most.
struct Refinement::LastLook {
  Matrix<double> theta;
  Matrix<double> weights;
  LeftOfTargets left;
  Matrix<double> residual;  ///< b - Aθ

  std::vector<double> squares(ConstMatrix w) const {
    std::vector<double> sums = left.squares;
    for (Index c = 0; c < w.rows; ++c) {
      for (Index a = 0; a < w.cols; ++a) sums[at(a)] -= 2 * (w(c, a) - weights(c, a)) * left.sums(c, a);
    }
    return sums;
  }
  bool tells_squares(ConstMatrix now, ConstMatrix w) const {
    double gap = 0;
    for (Index i = 0; i < now.rows; ++i) {
      for (Index k = 0; k < now.cols; ++k) gap += (now(i, k) - theta(i, k)) * residual(i, k);
    }
    return std::abs(gap) <= 1e-6 * std::ranges::min(squares(w));
  }
};

RidgeSolution Refinement::solve(const Wish& wish) {
  const Coupling& coupling = *system_.coupling;
  const double ridge = wish.penalty * system_.weight;
  const Uncertainty keep = resolve(wish.keep, coupling.is_constant() ? coupling.columns() : coupling.parameters(),
                                   gain_count(coupling) > 1 ? full_eigen_limit : full_posterior_limit);
  PreconditionedSystems systems = prepare(ridge, keep);
  const Index count = systems.rhs.cols();
  const bool rounded = static_cast<bool>(left_);
  const double scale =
      rounded ? power_near_inverse(std::sqrt(std::ranges::max(system_.target_square) / system_.weight)) : 1.0;
  for (double& v : systems.rhs.values()) v *= scale;
  const auto shift = [&](ConstMatrix v, MutMatrix out) {
    for (Index i = 0; i < out.rows; ++i) {
      for (Index k = 0; k < out.cols; ++k) out(i, k) = systems.gain[at(k)] * out(i, k) + ridge * v(i, k);
    }
  };
  Seen seen;
  const BlockOperator apply = [&](ConstMatrix v, MutMatrix out) {
    const bool look = !rounded && !coupling.is_constant();
    apply_(v, out, look ? &seen.uncoupled : nullptr);
    shift(v, out);
    if (!look) return;
    seen.in = Matrix<double>(v.col_range(0, 1));
    seen.out = Matrix<double>(ConstMatrix(out).col_range(0, 1));
  };
  const RoughOperator rough = [&](ConstMatrix v, MutMatrix out) {
    SampledErrors errors = rough_(v, out);
    shift(v, out);
    errors.scale(systems.gain);
    return errors;
  };
  const OutputWeights outputs(coupling, systems.channels, count);
  LastLook look;
  // b - (A + ridge)x of the systems, (A + ridge)v of those that go along.
  const auto to_residual = [&](const LeftOfTargets& left, ConstMatrix v, MutMatrix out) {
    outputs.reduce(left.sums, out);
    for (Index i = 0; i < out.rows; ++i) {
      for (Index k = 0; k < count; ++k) out(i, k) -= ridge * v(i, k);
      for (Index k = count; k < out.cols; ++k) out(i, k) = systems.gain[at(k)] * out(i, k) + ridge * v(i, k);
    }
  };
  const BlockOperator residual = [&](ConstMatrix v, MutMatrix out) {
    look.weights = outputs.weights(v);
    look.left = left_(look.weights, scale);
    to_residual(look.left, v, out);
    look.theta = Matrix<double>(v.col_range(0, count));
    look.residual = Matrix<double>(ConstMatrix(out).col_range(0, count));
  };
  const RoughOperator rough_residual = [&](ConstMatrix v, MutMatrix out) {
    SampledErrors errors;
    const LeftOfTargets left = rough_left_(
        outputs.weights(v), scale, v.cols, [&](ConstMatrix s, MutMatrix g) { outputs.reduce(s, g); }, errors);
    to_residual(left, v, out);
    std::vector<double> gain = systems.gain;
    std::fill_n(gain.begin(), count, 1.0);
    errors.scale(gain);
    return errors;
  };
  const auto precondition = [&](ConstMatrix r, MutMatrix z) { systems.precondition(r, z, ridge); };
  if (keep != Uncertainty::none) systems.add_probe();
  Matrix<double> theta(systems.rhs.rows(), systems.rhs.cols());
  // Predictions of rows far from those learned from: Φ(x)ᵀe for an e that no row saw is ‖Φ‖·‖e‖/√m by chance, beside
  // predictions of √(xᵀb/n).
  const double far = std::sqrt(row_square(systems) * system_.weight / static_cast<double>(theta.rows()));
  BlockCgOutcome outcome =
      block_cg(apply, precondition, systems.rhs, theta,
               {.tolerance = wish.tolerance,
                .most_iterations = wish.most_iterations,
                .patience = wish.patience,
                .judged = count,
                .alike = std::ranges::all_of(systems.gain, [&](double g) { return g == systems.gain[0]; }),
                .rounding = rounding_model(systems),
                .rough = rough_ ? rough : RoughOperator(),
                .residual = rounded ? residual : BlockOperator(),
                .rough_residual = rounded ? rough_residual : RoughOperator(),
                .foresee = !plain_ && holds_ridge(systems, ridge),
                .energy_tolerance = 10 * wish.tolerance,
                .least_eigenvalue = ridge,
                .solution_share = 0.1 * far,
                .most_ratio = 1 + systems.shift / ridge},
               progress_);
  theta = Matrix<double>(theta.view().col_range(0, count));
  RidgeSolution solution;
  solution.solver = "refined";
  solution.gram = words(gram_);
  solution.iterations = outcome.iterations;
  solution.residual = outcome.residual;
  solution.prediction_error = outcome.energy;
  // Ritz values lie inside of the spectrum: on the grid of docs/refinement.md variances were off by up to 1.4 times as much.
  solution.coarseness = 2 * std::max(outcome.largest_ritz - 1, 1 - outcome.least_ritz);
  // Without a column of random signs they are of one or two iterations; what one of those leaves is at most how far M is
  // off.
  if (keep == Uncertainty::none) solution.coarseness = std::max(solution.coarseness, 2 * outcome.gain);
  if (outcome.gave_up) return solution;
  if (rounded) {
    solution.weights = outputs.weights(theta);
    if (look.theta.empty() || !look.tells_squares(theta, solution.weights)) {
      Matrix<double> unused(theta.rows(), count);
      residual(theta, unused);
    }
    system_.mean_feature = look.left.mean_feature;
    std::vector<double> squares = look.squares(solution.weights);
    for (double& square : squares) square = square / scale / scale;
    for (double& w : solution.weights.values()) w /= scale;
    finish_with_squares(system_, squares, systems.trace, solution);
  } else {
    finish_exactly(systems, seen, outcome, theta, ridge, solution);
  }
  keep_posterior_base(system_, ridge, solution.posterior);
  if (keep == Uncertainty::none) return solution;
  if (systems.factors.empty()) keep_eigen(std::move(systems.eigen), solution.posterior);
  for (FactoredGain& f : systems.factors) {
    std::erase(f.systems, count);  // the probe
    f.take([&]<class Real>(Matrix<Real>&& factor) {
      if (coupling.is_constant()) {
        keep_channels(systems.channels, f.systems, keep, std::move(factor), solution.posterior);
      } else {
        keep_coupled(coupling, keep, std::move(factor), solution.posterior);
      }
    });
  }
  return solution;
}

void Refinement::finish_exactly(const PreconditionedSystems& systems, Seen& seen, const BlockCgOutcome& outcome,
                                Matrix<double>& theta, double ridge, RidgeSolution& solution) {
  const Coupling& coupling = *system_.coupling;
  solution.weights = Matrix<double>(coupling.columns(), coupling.outputs());
  if (!coupling.is_constant()) {
    coupling.expand(theta.values(), solution.weights);
    if (!seen.in.empty()) {
      seen.rescale(theta);
      finish(system_, seen.energy(coupling, solution.weights), systems.trace, solution);
    }
    if (seen.in.empty() || little_left(system_, solution, seen.gap(systems.rhs, theta))) {
      finish(system_, column_dots(solution.weights, gram_times_(solution.weights)), systems.trace, solution);
    }
    return;
  }
  gemm<double>(false, true, 1.0, theta, systems.channels.factor, 0.0, solution.weights);
  // Conjugate gradients know Aθ = γGθ + ridge·θ: G W = Gθ Bᵀ needs no further pass, unless little is left of the targets.
  // ΣwᵀGw is off by Σθᵀ(b - Aθ)/γ, which is at most:
  double gap = 0;
  const std::vector<double> tt = column_dots(theta, theta);
  const std::vector<double> bb = column_dots(systems.channels.rhs, systems.channels.rhs);
  for (std::size_t k = 0; k < tt.size(); ++k)
    gap += std::sqrt(tt[k]) * std::sqrt(bb[k]) * outcome.residual / systems.gain[k];
  for (Index i = 0; i < theta.rows(); ++i) {
    for (Index k = 0; k < theta.cols(); ++k) theta(i, k) = (outcome.image(i, k) - ridge * theta(i, k)) / systems.gain[at(k)];
  }
  Matrix<double> gram_weights(coupling.columns(), coupling.outputs());
  gemm<double>(false, true, 1.0, theta, systems.channels.factor, 0.0, gram_weights);
  finish(system_, column_dots(solution.weights, gram_weights), systems.trace, solution);
  if (outcome.vouched && little_left(system_, solution, gap))
    finish(system_, column_dots(solution.weights, gram_times_(solution.weights)), systems.trace, solution);
}

}  // namespace mercer
