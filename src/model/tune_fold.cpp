#include "model/tune_fold.hpp"

#include <algorithm>

#include "base/fail.hpp"
#include "loss/make_loss.hpp"
#include "model/build_map.hpp"
#include "model/fit_ridge.hpp"
#include "solve/convex.hpp"
#include "solve/feature_rows.hpp"

namespace mercer {
namespace {

/// Enough for a comparison: the noise of a fold is larger than this gap.
constexpr double coarse_gap = 1e-2;
constexpr int most_passes = 500;

struct Function {
  Matrix<double> weights;
  std::vector<double> intercept;
};

/// One fold as the solvers see it.
struct Fold {
  const Recipe& recipe;
  const TargetCoding& coding;
  Metric metric;
  ScaledRows& train;
  ScaledRows& validation;
};

std::vector<double> values(const std::vector<MetricSum>& sums) {
  std::vector<double> result;
  for (const MetricSum& sum : sums) result.push_back(sum.value());
  return result;
}

/// Features of the validation rows are computed once for all functions.
std::vector<double> evaluate(const Fold& fold, const Recipe& recipe, const FeatureMap& map,
                             const std::vector<Function>& functions, const Loss& loss) {
  std::vector<MetricSum> sums(functions.size(), MetricSum(fold.metric, recipe, fold.coding, loss));
  FeatureRows<double> blocks(map, fold.validation);
  blocks.rewind();
  while (blocks.next()) {
    Matrix<double> f(blocks.count(), recipe.outputs());
    for (std::size_t k = 0; k < functions.size(); ++k) {
      gemm<double>(false, false, 1.0, blocks.features(), functions[k].weights, 0.0, f);
      for (Index i = 0; i < f.rows(); ++i) {
        for (Index a = 0; a < f.cols(); ++a) f(i, a) += functions[k].intercept[static_cast<std::size_t>(a)];
        sums[k].add(blocks.weight(i), f.row(i), blocks.targets().row(i));
      }
    }
  }
  return values(sums);
}

std::vector<double> evaluate_exact(const Fold& fold, const Model::State& state, const Loss& loss) {
  constexpr Index block_rows = 1024;
  std::vector<MetricSum> sums = {MetricSum(fold.metric, state.recipe, fold.coding, loss)};
  RowBlock block;
  fold.validation.rewind();
  while (fold.validation.next(block_rows, block)) {
    Matrix<double> f(block.rows(), state.recipe.outputs());
    predict_exact(*state.problem, state.exact, block.inputs, f);
    for (Index i = 0; i < block.rows(); ++i) {
      const double w = block.weights.empty() ? 1.0 : block.weights[static_cast<std::size_t>(i)];
      sums.front().add(w, f.row(i), block.targets.row(i));
    }
  }
  return values(sums);
}

/// One decomposition for every penalty, or one factorisation each where that is too large.
std::vector<double> ridge_path(const Fold& fold, const FeatureMap& map, const std::string& solver,
                               const std::vector<double>& penalties, const Loss& loss) {
  const NormalSystem system =
      normal_system(accumulate(map, fold.train, fold.recipe.precision), map.coupling(), fold.recipe.intercept);
  std::optional<EigenSystem> eigen;
  if (solver == "eigen") eigen.emplace(system);
  std::vector<Function> functions;
  for (const double penalty : penalties) {
    RidgeSolution s = eigen ? eigen->solve(penalty, Uncertainty::none) : solve_cholesky(system, penalty, Uncertainty::none);
    functions.push_back({std::move(s.weights), std::move(s.intercept)});
  }
  return evaluate(fold, fold.recipe, map, functions, loss);
}

/// From the largest penalty down, each solve started from the last.
std::vector<double> convex_path(const Fold& fold, const Recipe& recipe, const FeatureMap& map, const ConvexSolver& solver,
                                const std::vector<double>& penalties, const Loss& loss) {
  std::vector<double> scores;
  ConvexState warm;
  for (const double penalty : penalties) {
    ConvexOptions convex;
    convex.penalty = penalty;
    convex.tolerance = coarse_gap;
    convex.most_passes = most_passes;
    ConvexSolution s = solver.solve(loss, convex, std::move(warm));
    warm = std::move(s.state);
    std::vector<Function> function(1);
    function.front() = {std::move(s.weights), std::move(s.intercept)};
    scores.push_back(evaluate(fold, recipe, map, function, loss).front());
  }
  return scores;
}

/// A whole fit for each penalty: exact models, and solvers that never see a Gram matrix.
std::vector<double> separate_fits(const Fold& fold, const Recipe& recipe, RowSource& train, FitOptions options,
                                  const std::vector<double>& penalties, const Loss& loss) {
  std::vector<double> scores;
  options.uncertainty = "none";
  options.conformal.reset();
  for (const double penalty : penalties) {
    options.penalty = penalty;
    const auto state = fit_state(train, recipe, options);
    if (state->problem) {
      scores.push_back(evaluate_exact(fold, *state, loss).front());
      continue;
    }
    std::vector<Function> function(1);
    function.front() = {std::move(state->weights), std::move(state->intercept)};
    scores.push_back(evaluate(fold, recipe, *state->map, function, loss).front());
  }
  return scores;
}

}  // namespace

std::vector<std::vector<double>> fold_scores(RowSource& raw_train, RowSource& raw_validation, const FitOptions& options,
                                             const std::vector<std::string>& losses, const std::vector<double>& penalties,
                                             const std::string& metric) {
  std::vector<std::vector<double>> scores;
  FitOptions inner = options;
  inner.progress = nullptr;
  inner.penalty.reset();
  inner.loss = losses.front();
  const Recipe recipe = prepare(raw_train, inner);
  const TargetCoding coding = recipe.coding();
  ScaledRows train(raw_train, recipe.scaling, coding);
  ScaledRows validation(raw_validation, recipe.scaling, coding);
  const Fold fold{recipe, coding, parse_metric(metric, recipe), train, validation};
  std::vector<std::string> ignored;
  const auto map = recipe.exact() ? nullptr : build_map(recipe, train, inner, ignored);
  const bool descent = inner.solver == "adam" || inner.solver == "sgd";
  const bool convex = map && !descent && (recipe.loss != "square" || inner.solver == "admm");
  std::optional<ConvexSolver> solver;
  if (convex) {
    if (inner.solver != "auto" && inner.solver != "admm")
      fail_argument("--solver " + inner.solver + " is for the square loss; " + recipe.loss + " takes admm, adam or sgd");
    ConvexSetup setup;
    setup.intercept = recipe.intercept;
    setup.precision = recipe.precision;
    setup.memory_bytes = options.memory_bytes / 2;
    setup.non_crossing = recipe.non_crossing;
    solver.emplace(*map, train, setup);
  }
  std::string ridge = map && !descent && !convex ? choose_solver(*map, train.row_count(), inner).solver : "";
  if (ridge == "refined")  // one Gram matrix serves all penalties, so it had better be a precise one
    ridge = system_size(map->coupling()) <= eigen_limit ? "eigen" : "cholesky";
  for (const std::string& text : losses) {
    Recipe with_loss = recipe;  // losses that differ in a parameter share everything else
    const auto loss = make_loss(text == losses.front() ? recipe.loss : text, recipe.outputs());
    with_loss.loss = loss->text();
    if (convex) {
      scores.push_back(convex_path(fold, with_loss, *map, *solver, penalties, *loss));
    } else if (ridge == "eigen" || ridge == "cholesky") {
      scores.push_back(ridge_path(fold, *map, ridge, penalties, *loss));
    } else {
      scores.push_back(separate_fits(fold, with_loss, raw_train, inner, penalties, *loss));
    }
  }
  return scores;
}

}  // namespace mercer
