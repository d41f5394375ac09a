#include "solve/convex.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "solve/certificate.hpp"
#include "solve/stiffness.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// Where the order has copies of its own they weigh this much more than the loss's: on five quantiles 3 took the fewest
/// passes.
constexpr double order_weight = 3;

/// Of the steps with float32 features (RidgeStep): a few of their rounding errors.
constexpr double single_inertia = 3e-7;

/// The pass before which rows are all alike; doubled each time their stiffness is measured anew, at n·m² flops.
constexpr int first_stiffening = 64;

/// When to change ρ, and to what: the relative residual of the primal is kept near `balance` times the dual's. Changes
/// become rarer, so that the method converges, and stay within 10⁴ of the first, beyond which only rounding errors drive
/// them.
class StepRule {
 public:
  explicit StepRule(double first) : first_(first) {}
  double next(int pass, double step, const Admm::Pass& last) {
    if (pass - changed_ < std::max(5, pass / 4)) return step;
    const double ratio = std::sqrt(last.primal_residual / (balance_ * last.dual_residual));
    if (!(ratio > 1.5 || ratio < 1 / 1.5) || !std::isfinite(ratio)) return step;
    changed_ = pass;
    return std::clamp(step * std::clamp(ratio, 0.2, 5.0), 1e-4 * first_, 1e4 * first_);
  }
  /// Rows of their own stiffness: with them 0.5 took the fewest passes.
  void stiffened(int pass) {
    changed_ = pass;
    most_ = 0.5;
    balance_ = std::min(balance_, most_);
  }
  /// Where uncrossing costs more than what the dual lacks, the primal residual is the one to lower.
  void weigh(double crossing_cost, double dual_gap) {
    if (crossing_cost > std::max(dual_gap, 0.0)) {
      balance_ = std::max(balance_ / 2, 0.01);
    } else if (crossing_cost < 0.3 * dual_gap) {
      balance_ = std::min(2 * balance_, most_);
    }
  }

 private:
  double first_;
  double balance_ = 1;
  double most_ = 1;
  int changed_ = 0;
};

double mean_loss_of_constant(const SplitProblem& problem, Point c) {
  const FeatureStore& store = problem.store;
  double sum = 0;
  for (Index i = 0; i < store.source_rows(); ++i) {
    if (store.weight(i) > 0) sum += store.weight(i) * problem.loss.value(c, store.target(i));
  }
  return sum / problem.weight;
}

std::vector<double> middle_of_targets(const FeatureStore& store) {
  std::vector<double> middle;
  for (Index a = 0; a < store.outputs(); ++a) {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (Index i = 0; i < store.source_rows(); ++i) {
      if (!(store.weight(i) > 0)) continue;
      low = std::min(low, store.target(i)[at(a)]);
      high = std::max(high, store.target(i)[at(a)]);
    }
    middle.push_back(low / 2 + high / 2);
  }
  return middle;
}

/// What it costs to miss every target by `size`, or to predict 0.
double unit_of_objective(const SplitProblem& problem, double size) {
  const FeatureStore& store = problem.store;
  const double zero = mean_loss_of_constant(problem, std::vector<double>(at(store.outputs()), 0.0));
  if (std::isfinite(problem.loss.lipschitz())) return std::max(zero, problem.loss.lipschitz() * size);
  return std::max(zero, problem.loss.smoothness() * size * size);
}

/// The best function and the best bound so far.
class Record {
 public:
  Record(const SplitProblem& problem, double size)
      : problem_(problem), size_(size), unit_(unit_of_objective(problem, size)) {}

  /// The constant f = c: the optimum where the loss forgives all, which passes would only approach.
  void consider_constant(Point c) {
    if (!problem_.order.empty() && !std::ranges::is_sorted(c)) return;
    const double value = mean_loss_of_constant(problem_, c);
    if (!(value < primal)) return;
    Candidate constant;
    constant.theta.resize(at(problem_.coupling.parameters()));
    constant.weights = Matrix<double>(problem_.store.columns(), problem_.store.outputs());
    constant.intercept.assign(c.begin(), c.end());
    take(value, constant);
  }

  /// A function counts once it is known to be ordered.
  void consider(const Admm::Pass& pass, const Candidate& candidate) {
    if (problem_.order.empty() && pass.objective < primal) take(pass.objective, candidate);
  }
  void certify(const Admm& admm, const Admm::Pass& pass) {
    if (!problem_.order.empty()) {
      Candidate ordered = admm.candidate();
      const bool moved = uncross(pass.crossing, size_, ordered);
      const double value = moved ? objective(problem_, ordered) : pass.objective;
      if (value < primal) take(value, ordered);
      crossing_cost = value - pass.objective;
    }
    auto point = dual_point(problem_, admm.state(), admm.candidate());
    if (point) dual = std::max(dual, bundle_.add(std::move(*point)));
  }
  double gap() const {
    if (!std::isfinite(primal) || !std::isfinite(dual)) return std::numeric_limits<double>::infinity();
    return std::max(0.0, primal - dual) / std::max({std::abs(primal), 1e-8 * unit_, std::numeric_limits<double>::min()});
  }

  double primal = std::numeric_limits<double>::infinity();
  double dual = -std::numeric_limits<double>::infinity();
  double crossing_cost = 0;  ///< of the last certificate
  Candidate best;

 private:
  void take(double value, const Candidate& candidate) {
    primal = value;
    best = candidate;
  }
  const SplitProblem& problem_;
  double size_;  ///< of predictions
  double unit_;  ///< an optimum of 0 is measured against it
  DualBundle bundle_;
};

/// ρ has the unit of a second derivative of the loss: β where there is one, else slope over the spread of the targets.
double first_step(const Loss& loss, Index outputs, double spread) {
  if (std::isfinite(loss.smoothness()) && loss.smoothness() > 0) return loss.smoothness();
  const double slope = std::isfinite(loss.lipschitz()) ? loss.lipschitz() / std::sqrt(static_cast<double>(outputs)) : 1.0;
  return spread > 0 && slope > 0 ? slope / spread : 1.0;
}

std::string shortfall(const ConvexSolution& solution, double tolerance, bool single) {
  return "stopped after " + std::to_string(solution.passes) + " passes at a relative gap of " + shortest(solution.gap) +
         ", above the tolerance " + shortest(tolerance) + ": the answer is within that of the best" +
         (single ? "; float64 features may close it" : "");
}

void check(const FeatureMap& map, const RowSource& rows, const ConvexSetup& setup) {
  if (rows.target_count() != map.outputs()) {
    fail_argument("the map has " + std::to_string(map.outputs()) + " outputs but the rows have " +
                  std::to_string(rows.target_count()) + " targets");
  }
  if (setup.extra_inputs.rows > 0 && setup.extra_inputs.cols != map.inputs()) {
    fail_argument("the map takes " + std::to_string(map.inputs()) + " inputs but the extra rows have " +
                  std::to_string(setup.extra_inputs.cols));
  }
  if (setup.non_crossing && !setup.intercept) {
    fail_argument("outputs that must not cross need an intercept: ordered constants are where crossings are mended");
  }
}

}  // namespace

ConvexSolver::ConvexSolver(const FeatureMap& map, RowSource& rows, const ConvexSetup& setup, Progress* progress)
    : map_(map),
      intercept_(setup.intercept),
      single_(setup.precision == Precision::single_ && !setup.non_crossing),
      non_crossing_(setup.non_crossing) {
  check(map, rows, setup);
  FeatureStore::Options options;
  options.precision = single_ ? Precision::single_ : Precision::double_;
  options.memory_bytes = setup.memory_bytes;
  if (setup.non_crossing) options.extra_inputs = setup.extra_inputs;
  store_ = FeatureStore::make(map, rows, options, progress);
  const Index p = store_->outputs();
  mean_target_.assign(at(p), 0.0);
  double square = 0;
  for (Index i = 0; i < store_->source_rows(); ++i) {
    const double w = store_->weight(i);
    weight_ += w;
    for (Index a = 0; a < p; ++a) mean_target_[at(a)] += w * store_->target(i)[at(a)];
  }
  if (!(weight_ > 0)) fail_argument("the weights of all rows are 0: there is nothing to learn from");
  for (double& mean : mean_target_) mean /= weight_;
  for (Index i = 0; i < store_->source_rows(); ++i) {
    for (Index a = 0; a < p; ++a) {
      const double r = store_->target(i)[at(a)] - mean_target_[at(a)];
      square += store_->weight(i) * r * r;
      shared_target_ = shared_target_ && store_->target(i)[at(a)] == store_->target(i)[0];
    }
  }
  spread_ = std::sqrt(square / (weight_ * static_cast<double>(p)));
  if (!std::isfinite(spread_)) fail_argument("the sums of squared targets overflow: scale the data (standardize)");
  ridge_ = ridge_step({}, progress);
}

std::unique_ptr<RidgeStep> ConvexSolver::ridge_step(const std::vector<double>& stiffness, Progress* progress) const {
  const double usual = weight_ / static_cast<double>(store_->source_rows());
  std::vector<double> metric;
  for (Index i = 0; i < store_->rows(); ++i) {
    const double w = i < store_->source_rows() ? store_->weight(i) : 0;
    metric.push_back((non_crossing_ && !(w > 0) ? usual : w) * (stiffness.empty() ? 1.0 : stiffness[at(i)]));
  }
  return std::make_unique<RidgeStep>(map_.coupling(), store_->moments(metric, progress), intercept_,
                                     single_ ? single_inertia : 0.0);
}

std::unique_ptr<RidgeStep> ConvexSolver::stiffen(SplitProblem& split, Admm& admm) const {
  split.stiffness = row_stiffness(split, admm.state());
  auto ridge = ridge_step(split.stiffness, nullptr);
  split.ridge = ridge.get();
  admm.restart();
  return ridge;
}

SplitProblem ConvexSolver::problem(const Loss& loss, double penalty) const {
  SplitProblem split{*store_, ridge_.get(), map_.coupling(), loss, penalty, weight_, intercept_, {}, {},
                     1,       {},           mean_target_};
  if (!intercept_) std::ranges::fill(split.centre, 0.0);
  if (!non_crossing_) return split;
  if (shared_target_) split.levels = loss.pinball_levels();
  // Two copies at every row multiply the metric by 1 + order_weight, at rows without a loss as well: one ridge serves both.
  const double own = split.levels.empty() ? order_weight : 1.0;
  if (split.levels.empty()) split.scale = 1 + order_weight;
  const double usual = weight_ / static_cast<double>(store_->source_rows());
  for (Index i = 0; i < store_->rows(); ++i) {
    const double w = i < store_->source_rows() ? store_->weight(i) : 0;
    split.order.push_back(w > 0 ? own * w : split.scale * usual);
  }
  return split;
}

ConvexSolution ConvexSolver::solve(const Loss& loss, const ConvexOptions& options, ConvexState start,
                                   Progress* progress) const {
  if (!(options.penalty > 0) || !std::isfinite(options.penalty)) {
    fail_argument("the penalty must be positive, not " + shortest(options.penalty) +
                  ": without one there is no certificate");
  }
  if (options.most_passes < 1) fail_argument("an iterative fit needs at least one pass");
  loss.check_targets(store_->targets());
  SplitProblem split = problem(loss, options.penalty);
  const Stopwatch clock;
  const bool cold = start.empty();
  if (!(start.step > 0)) start.step = first_step(loss, store_->outputs(), spread_);
  Admm admm(split, std::move(start));
  double size = spread_;
  for (const double mean : mean_target_) size = std::max(size, std::abs(mean));
  Record record(split, size);
  record.consider_constant(split.centre);
  if (intercept_) record.consider_constant(middle_of_targets(*store_));
  StepRule rule(admm.step());
  std::unique_ptr<RidgeStep> stiff_ridge;
  int next_stiffening = first_stiffening;
  ConvexSolution solution;
  double step = admm.step();
  double first_gap = 0;
  int next_check = cold ? 8 : 3;
  for (int pass = 1; pass <= options.most_passes; ++pass) {
    const Admm::Pass now = admm.pass(step);
    record.consider(now, admm.candidate());
    step = rule.next(pass, step, now);
    solution.passes = pass;
    if (pass == next_stiffening) {
      next_stiffening *= 2;
      stiff_ridge = stiffen(split, admm);
      rule.stiffened(pass);
    }
    if (pass != next_check && pass != options.most_passes) continue;
    record.certify(admm, now);
    solution.trace.push_back({pass, record.primal, record.dual, clock.seconds()});
    const double gap = record.gap();
    if (gap <= options.tolerance) break;
    if (!split.order.empty()) rule.weigh(record.crossing_cost, now.objective - record.dual);
    if (first_gap == 0 && std::isfinite(gap)) first_gap = gap;
    const double done =
        first_gap > options.tolerance ? std::log(first_gap / gap) / std::log(first_gap / options.tolerance) : 0;
    report(progress, "solving", std::clamp(std::isfinite(done) ? done : 0.0, 0.0, 1.0));
    next_check = std::max(pass + 4, pass + pass / 8);
  }
  if (record.best.weights.empty()) {
    fail_argument("the objective overflows: scale the data (standardize), or choose a larger penalty than " +
                  shortest(options.penalty));
  }
  solution.weights = std::move(record.best.weights);
  solution.intercept = std::move(record.best.intercept);
  solution.primal = record.primal;
  solution.dual = record.dual;
  solution.gap = record.gap();
  solution.state = admm.release();
  if (!(solution.gap <= options.tolerance)) solution.note = shortfall(solution, options.tolerance, single_);
  return solution;
}

}  // namespace mercer
