#include "model/fit.hpp"

#include <algorithm>
#include <cmath>

#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "map/anchor_map.hpp"
#include "model/build_map.hpp"
#include "model/conformal.hpp"
#include "model/fit_loss.hpp"
#include "model/fit_process.hpp"
#include "model/fit_ridge.hpp"
#include "model/process_text.hpp"
#include "model/state.hpp"
#include "model/words.hpp"

namespace mercer {
namespace {

std::shared_ptr<Model::State> start_state(const Recipe& recipe) {
  auto state = std::make_shared<Model::State>();
  state->recipe = recipe;
  state->coding = recipe.coding();
  FitSummary& summary = state->summary;
  summary.inputs = recipe.inputs();
  summary.outputs = recipe.outputs();
  summary.loss = recipe.loss;
  summary.kernel = to_string(recipe.kernel);
  summary.map = recipe.map_text();
  summary.precision = recipe.precision == Precision::single_ ? "float32" : "float64";
  return state;
}

void fit_exact(RowSource& rows, const Recipe& recipe, const FitOptions& options, Model::State& state) {
  FitSummary& summary = state.summary;
  const Index n = rows.row_count();
  const Index p = recipe.outputs();
  const Index size = is_decomposable(recipe.kernel) ? n : checked_product(n, p);
  const double bytes = 3.0 * 8.0 * static_cast<double>(size) * static_cast<double>(size);
  // One that nobody asked for was chosen since all else takes more.
  const auto budget = static_cast<double>(options.memory_bytes);
  if (bytes > (options.map == "auto" ? std::max(budget, blocks_bytes) : budget)) {
    fail_argument("an exact model of " + human_count(static_cast<double>(n)) + " rows needs " + human_bytes(bytes) +
                  ", more than the budget of " + human_bytes(budget) + "; use --map fourier:2000, or raise --memory");
  }
  ExactProblem problem;
  problem.kernel = recipe.kernel;
  problem.intercept = recipe.intercept;
  Matrix<double> inputs(n, recipe.inputs());
  Matrix<double> targets(n, p);
  RowBlock block;
  rows.rewind();
  Index kept = 0;
  while (rows.next(4096, block)) {
    for (Index i = 0; i < block.rows(); ++i) {
      const double w = block.weights.empty() ? 1.0 : block.weights[static_cast<std::size_t>(i)];
      if (w == 0) continue;
      std::ranges::copy(block.inputs.row(i), inputs.row(kept).begin());
      std::ranges::copy(block.targets.row(i), targets.row(kept).begin());
      problem.weights.push_back(w);
      summary.weight += w;
      ++kept;
    }
  }
  problem.inputs = Matrix<double>(ConstMatrix(inputs.data(), kept, recipe.inputs()));
  problem.targets = Matrix<double>(ConstMatrix(targets.data(), kept, p));
  const Uncertainty keep = wished_uncertainty(recipe, options);
  PenaltyPath path;
  Stopwatch watch;
  state.exact = solve_exact(problem, options.penalty, keep, &path, options.progress);
  summary.seconds["solve"] = watch.seconds();
  if (!options.penalty) record_path(path, summary);
  if (!state.exact.note.empty()) {
    summary.notes.push_back(state.exact.note);
    summary.status = "recovered";
  }
  summary.rows = n;
  summary.penalty = state.exact.penalty;
  summary.solver = "exact";
  summary.features = kept;
  summary.parameters = kept * p;
  summary.degrees_of_freedom = state.exact.degrees_of_freedom;
  state.noise = state.exact.noise;
  state.problem = std::move(problem);
}

bool is_loss_solver(const std::string& solver) {
  return solver == "admm" || solver == "adam";
}

/// Ridge has solvers of its own; admm and adam serve it too.
bool by_loss(const Recipe& recipe, const FitOptions& options) {
  return recipe.loss != "square" || is_loss_solver(options.solver);
}

void check_options(const FitOptions& options, bool exact) {
  const std::vector<std::string> solvers = {"auto", "eigen", "cholesky", "refined", "cg", "sgd", "admm", "adam"};
  if (std::ranges::find(solvers, options.solver) == solvers.end()) {
    fail_argument("unknown solver " + mercer::quoted(options.solver) + did_you_mean(options.solver, solvers) +
                  "; it is one of " + join(solvers, ", "));
  }
  if (exact && options.solver != "auto")
    fail_argument("--solver " + options.solver + " goes with a feature map; --map exact has its own");
  if (options.penalty && (!(*options.penalty >= 0) || !std::isfinite(*options.penalty))) {
    fail_argument("the penalty must be a finite number not below 0, got " + shortest(*options.penalty));
  }
  if (options.tolerance && !(*options.tolerance > 0 && *options.tolerance < 1))
    fail_argument("the tolerance must lie between 0 and 1, got " + shortest(*options.tolerance));
  if (options.solver == "refined") {
    if (options.penalty == 0.0) fail_argument("the refined solver needs a penalty above 0");
    if (options.precision == "float64") {
      fail_argument(
          "the refined solver makes its Gram matrix in lower precision, and --precision float64 allows none; leave one "
          "of them at auto");
    }
    if (options.uncertainty == "full") {
      fail_argument(
          "the refined solver keeps standard deviations of a coarse Gram matrix, not exact ones; use --solver cholesky, or "
          "--uncertainty auto");
    }
  }
  if (options.passes < 1) fail_argument("sgd needs at least one pass, got " + std::to_string(options.passes));
}

std::shared_ptr<Model::State> finished(std::shared_ptr<Model::State> state, const Stopwatch& total) {
  if (state->map) {
    state->summary.features = state->map->columns();
    state->summary.parameters = state->map->coupling().parameters();
    state->summary.sampling = state->map->sampling_name();
    if (const auto* sketched = dynamic_cast<const AnchorMap*>(state->map.get()))
      state->summary.anchors = sketched->parts().anchors.rows();
  }
  state->summary.seconds["total"] = total.seconds();
  state->summary.peak_memory_bytes = peak_memory_bytes();
  return state;
}

}  // namespace

std::shared_ptr<Model::State> fit_state(RowSource& raw_rows, const Recipe& recipe, const FitOptions& options) {
  const Stopwatch total;
  check_options(options, recipe.exact());
  if (by_loss(recipe, options)) check_certified(recipe.loss, options);  // before the map is built
  auto state = start_state(recipe);
  state->summary.penalty = options.penalty.value_or(0);
  // Solvers with feature maps pass over the rows several times; the others take them once.
  constexpr Index most_kept_bytes = Index{1} << 26;
  const bool once = !options.gp.kind.empty() || recipe.exact();
  ScaledRows rows(raw_rows, state->recipe.scaling, state->coding,
                  once ? 0 : std::min(most_kept_bytes, options.memory_bytes / 16));
  if (!options.gp.kind.empty()) {
    fit_process(rows, options, *state);
    return finished(std::move(state), total);
  }
  if (recipe.exact()) {
    fit_exact(rows, recipe, options, *state);
    return finished(std::move(state), total);
  }
  const Stopwatch mapping;
  state->map = build_map(recipe, rows, options, state->summary.notes);
  state->summary.seconds["map"] = mapping.seconds();
  state->summary.rows = raw_rows.row_count();
  if (by_loss(recipe, options)) {
    fit_with_loss(rows, recipe, options, *state);
    return finished(std::move(state), total);
  }
  fit_ridge(rows, recipe, options, *state);
  return finished(std::move(state), total);
}

Model fit_recipe(RowSource& raw_rows, const Recipe& recipe, const FitOptions& options) {
  return Model(fit_state(raw_rows, recipe, options));
}

RidgeStatistics accumulate_recipe(RowSource& raw_rows, const Recipe& recipe, Progress* progress) {
  if (recipe.loss != "square") fail_argument("statistics serve the square loss alone, not " + recipe.loss);
  if (recipe.exact()) fail_argument("an exact model has no statistics to accumulate; use --map fourier:D");
  if (recipe.map == MapKind::sketch) {
    fail_argument("a sketch is drawn from all rows, so shards cannot be accumulated apart with --map " + recipe.map_text() +
                  "; use --map fourier:D");
  }
  const TargetCoding coding = recipe.coding();
  ScaledRows rows(raw_rows, recipe.scaling, coding);
  const FourierMap map(recipe.kernel, recipe.inputs(), recipe.outputs(), recipe.fourier);
  return accumulate(map, rows, recipe.precision, progress);
}

Uncertainty wished_uncertainty(const Recipe& recipe, const FitOptions& options) {
  return recipe.classes.empty() ? parse_uncertainty(options.uncertainty) : Uncertainty::none;
}

Model solve_statistics(const Recipe& recipe, const RidgeStatistics& statistics, const FitOptions& options) {
  const Stopwatch total;
  check_options(options, false);
  auto state = start_state(recipe);
  if (recipe.map != MapKind::fourier) fail_argument("statistics belong to a Fourier map, and this recipe has another");
  state->map = std::make_shared<FourierMap>(recipe.kernel, recipe.inputs(), recipe.outputs(), recipe.fourier);
  if (state->map->columns() != statistics.columns || recipe.outputs() != statistics.outputs) {
    fail_argument("the statistics do not belong to this recipe: their shape is different");
  }
  const NormalSystem system = normal_system(statistics, state->map->coupling(), recipe.intercept);
  const Uncertainty keep = wished_uncertainty(recipe, options);
  FitSummary& summary = state->summary;
  summary.rows = statistics.rows;
  if (options.penalty) {
    summary.penalty = *options.penalty;
    take(options.solver == "eigen" ? EigenSystem(system).solve(summary.penalty, keep)
                                   : solve_cholesky(system, summary.penalty, keep),
         *state);
  } else {
    const EigenSystem eigen(system);
    double best = 0;
    for (const double penalty : penalty_grid(system, 2)) {
      // GCV = n RSS/(n - df)², summed over outputs (noise·(n - df) is RSS).
      const RidgeSolution trial = eigen.solve(penalty, Uncertainty::none);
      const double left = std::max(system.weight - trial.degrees_of_freedom, 1e-9 * system.weight);
      double score = 0;
      for (const double noise : trial.noise) score += noise * system.weight / left;
      summary.penalty_path.emplace_back(penalty, score);
      if (summary.penalty_path.size() == 1 || score <= best) {
        best = score;
        summary.penalty = penalty;
      }
    }
    summary.penalty_chosen = true;
    summary.notes.emplace_back(
        "the penalty was chosen by generalised cross-validation, since statistics hold no rows to leave out");
    take(eigen.solve(summary.penalty, keep), *state);
  }
  return Model(finished(std::move(state), total));
}

Model fit(RowSource& rows, const FitOptions& options) {
  check_options(options, false);
  if (options.conformal) {
    ConformalRows parts(rows, options);
    Recipe recipe = prepare(parts.train, options);
    set_timeline(rows, recipe);
    return fit_calibrated(parts, recipe, options);
  }
  Recipe recipe = prepare(rows, options);
  set_timeline(rows, recipe);
  return fit_recipe(rows, recipe, options);
}

}  // namespace mercer
