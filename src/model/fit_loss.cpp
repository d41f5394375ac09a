#include "model/fit_loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "io/split.hpp"
#include "loss/make_loss.hpp"
#include "model/fit.hpp"
#include "model/folds.hpp"
#include "solve/convex.hpp"
#include "solve/feature_rows.hpp"
#include "solve/subgradient.hpp"

namespace mercer {
namespace {

constexpr double default_gap = 1e-4;

ConvexSetup setup_of(const Recipe& recipe, const FitOptions& options) {
  ConvexSetup setup;
  setup.intercept = recipe.intercept;
  setup.precision = recipe.precision;
  setup.memory_bytes = options.memory_bytes / 2;
  return setup;
}

double total_weight(RowSource& rows) {
  double sum = 0;
  RowBlock block;
  rows.rewind();
  while (rows.next(4096, block)) {
    for (Index i = 0; i < block.rows(); ++i) sum += block.weights.empty() ? 1.0 : block.weights[static_cast<std::size_t>(i)];
  }
  return sum;
}

/// Up to so many rows a fifth of them is too few to choose a penalty by, and five fits cost little.
constexpr Index folded_rows = 2000;

/// Rows that are fitted, and others that are asked how well.
struct Trial {
  Trial(RowSource& all, const Folds& folds, Index fold, const FeatureMap& map, const ConvexSetup& setup, Progress* progress)
      : train(folds.training(all, fold)),
        test(folds.validation(all, fold)),
        weight(total_weight(test)),
        solver(map, train, setup, progress) {}

  ChosenRows train;
  ChosenRows test;
  double weight;  ///< of the rows that are asked
  ConvexSolver solver;
  ConvexState warm;
};

/// λ by five folds, or by one held-out fifth of many rows: decades from 1 to 1e-9, each solve started from the last, then
/// the half decades beside the best. The certificate need not be sharper than the noise of such a choice; stopping early
/// would mistake the plateau of large penalties for the best.
double penalty_by_holdout(RowSource& rows, const Recipe& recipe, const FitOptions& options, const Loss& loss,
                          Model::State& state) {
  constexpr int decades = 10;
  constexpr double coarse_gap = 1e-2;
  FitSummary& summary = state.summary;
  const Index n = rows.row_count();
  if (n < 5) {
    summary.notes.emplace_back("too few rows to choose a penalty by: 1e-3 was taken");
    return 1e-3;
  }
  FoldPlan plan;
  plan.seed = options.seed;
  if (n > folded_rows) plan.holdout = 0.2;
  const Folds folds = make_folds(n, plan);
  std::vector<std::unique_ptr<Trial>> trials;
  for (Index fold = 0; fold < folds.count; ++fold) {
    trials.push_back(std::make_unique<Trial>(rows, folds, fold, *state.map, setup_of(recipe, options), options.progress));
  }
  double best = std::numeric_limits<double>::infinity();
  double chosen = 1;
  const auto attempt = [&](double penalty) {
    ConvexOptions convex;
    convex.penalty = penalty;
    convex.tolerance = coarse_gap;
    convex.most_passes = 500;
    double sum = 0;
    double weight = 0;
    for (const auto& trial : trials) {
      ConvexSolution solution = trial->solver.solve(loss, convex, std::move(trial->warm), nullptr);
      trial->warm = std::move(solution.state);
      if (trial->weight == 0) continue;
      sum += trial->weight * mean_loss(*state.map, trial->test, loss, solution.weights, solution.intercept);
      weight += trial->weight;
    }
    const double held_out = sum / weight;
    summary.penalty_path.emplace_back(penalty, held_out);
    if (held_out < best) {
      best = held_out;
      chosen = penalty;
    }
  };
  for (int decade = 0; decade < decades; ++decade) {
    report(options.progress, "choosing the penalty", static_cast<double>(decade) / decades);
    attempt(std::pow(10.0, -decade));
  }
  const double decade = chosen;
  for (const double factor : {1 / std::sqrt(10.0), std::sqrt(10.0)}) attempt(decade * factor);
  std::ranges::sort(summary.penalty_path);
  summary.penalty_chosen = true;
  summary.notes.push_back(folds.count > 1 ? "the penalty was chosen by " + std::to_string(folds.count) + " random folds"
                                          : "the penalty was chosen on " + counted(trials.front()->test.row_count(), "row") +
                                                " held out at random");
  if (chosen == summary.penalty_path.front().first || chosen == summary.penalty_path.back().first) {
    summary.notes.push_back(end_of_range_note(chosen, chosen == summary.penalty_path.front().first));
  }
  return chosen;
}

void descend(RowSource& rows, const Recipe& recipe, const FitOptions& options, const Loss& loss, Model::State& state) {
  SubgradientOptions descent;
  descent.method = options.solver == "sgd" ? DescentMethod::sgd : DescentMethod::adam;
  descent.penalty = state.summary.penalty;
  descent.intercept = recipe.intercept;
  descent.passes = options.passes;
  descent.seed = options.seed;
  SubgradientSolution solution = solve_subgradient(*state.map, rows, loss, recipe.precision, descent, options.progress);
  state.summary.solver = options.solver;
  state.summary.iterations = options.passes;
  state.summary.objective = solution.objective;
  state.summary.status = "approximate";
  state.summary.notes.emplace_back(
      "stochastic subgradients come without a certificate; --solver admm says how far from the optimum it is");
  state.weights = std::move(solution.weights);
  state.intercept = std::move(solution.intercept);
}

/// options.grid in scaled units.
Matrix<double> scaled_grid(const Recipe& recipe, const FitOptions& options) {
  const Index d = recipe.inputs();
  const auto numbers = static_cast<Index>(options.grid.size());
  if (numbers == 0) return {};
  if (!recipe.non_crossing) fail_argument("a grid is where quantiles must not cross; it goes with --non-crossing");
  if (numbers % d != 0) {
    fail_argument("the grid for --non-crossing has " + std::to_string(numbers) + " numbers, which are no rows of " +
                  std::to_string(d) + " inputs");
  }
  Matrix<double> grid(numbers / d, d);
  for (Index i = 0; i < numbers; ++i) {
    const auto k = static_cast<std::size_t>(i % d);
    const double scaled =
        (options.grid[static_cast<std::size_t>(i)] - recipe.scaling.input_shift[k]) / recipe.scaling.input_scale[k];
    if (!std::isfinite(scaled))
      fail_argument("row " + std::to_string(i / d + 1) + " of the grid for --non-crossing holds a value that is not finite");
    grid(i / d, i % d) = scaled;
  }
  return grid;
}

void certify(RowSource& rows, const Recipe& recipe, const FitOptions& options, const Loss& loss, Model::State& state) {
  FitSummary& summary = state.summary;
  ConvexSetup setup = setup_of(recipe, options);
  setup.non_crossing = recipe.non_crossing;
  const Matrix<double> grid = scaled_grid(recipe, options);
  setup.extra_inputs = grid;
  const ConvexSolver solver(*state.map, rows, setup, options.progress);
  ConvexOptions convex;
  convex.penalty = summary.penalty;
  convex.tolerance = options.tolerance.value_or(default_gap);
  ConvexSolution solution = solver.solve(loss, convex, {}, options.progress);
  summary.solver = "admm";
  summary.iterations = solution.passes;
  summary.objective = solution.primal;
  summary.gap = solution.gap;
  if (!solution.note.empty()) {
    summary.notes.push_back(solution.note);
    summary.status = "approximate";
  }
  state.weights = std::move(solution.weights);
  state.intercept = std::move(solution.intercept);
}

}  // namespace

double mean_loss(const FeatureMap& map, RowSource& rows, const Loss& loss, ConstMatrix weights, Point intercept) {
  FeatureRows<double> blocks(map, rows);
  blocks.rewind();
  double sum = 0;
  double weight = 0;
  while (blocks.next()) {
    Matrix<double> f(blocks.count(), weights.cols);
    gemm<double>(false, false, 1.0, blocks.features(), weights, 0.0, f);
    for (Index i = 0; i < f.rows(); ++i) {
      for (Index a = 0; a < f.cols(); ++a) f(i, a) += intercept[static_cast<std::size_t>(a)];
      const double w = blocks.weight(i);
      if (w > 0) sum += w * loss.value(f.row(i), blocks.targets().row(i));
      weight += w;
    }
  }
  return weight > 0 ? sum / weight : 0;
}

void check_certified(const std::string& loss, const FitOptions& options) {
  if (options.uncertainty == "full" || options.uncertainty == "samples") {
    fail_argument(loss == "square"
                      ? "standard deviations come from the solvers of ridge; leave --solver " + options.solver + " out"
                      : "standard deviations come with the square loss; with " + loss +
                            " fit quantiles (--quantiles 0.1,0.5,0.9) or --conformal 0.9 for a spread");
  }
  if (options.penalty && !(*options.penalty > 0)) fail_argument("the loss " + loss + " needs a penalty above 0");
  const std::vector<std::string> of_ridge = {"eigen", "cholesky", "refined", "cg"};
  if (std::ranges::find(of_ridge, options.solver) != of_ridge.end())
    fail_argument("--solver " + options.solver + " is for the square loss; " + loss + " takes admm, adam or sgd");
}

void fit_with_loss(RowSource& rows, const Recipe& recipe, const FitOptions& options, Model::State& state) {
  FitSummary& summary = state.summary;
  const std::unique_ptr<Loss> loss = make_loss(recipe.loss, recipe.outputs());
  if (options.map == "exact")
    summary.notes.emplace_back("exact: every row is an anchor, so the features span the exact solution");
  Stopwatch watch;
  summary.weight = total_weight(rows);
  if (!options.penalty) {
    summary.penalty = penalty_by_holdout(rows, recipe, options, *loss, state);
    summary.seconds["penalty"] = watch.seconds();
    watch = {};
  }
  if (options.solver == "adam" || options.solver == "sgd") {
    if (recipe.non_crossing) fail_argument("--non-crossing goes with --solver admm");
    descend(rows, recipe, options, *loss, state);
  } else {
    certify(rows, recipe, options, *loss, state);
  }
  state.noise.assign(static_cast<std::size_t>(recipe.outputs()), 0.0);
  summary.seconds["solve"] = watch.seconds();
}

}  // namespace mercer
