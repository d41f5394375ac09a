#include "model/fit.hpp"

#include <algorithm>
#include <cmath>

#include "backend/bfloat.hpp"
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
#include "model/process_text.hpp"
#include "model/state.hpp"
#include "model/words.hpp"
#include "solve/conjugate_gradient.hpp"
#include "solve/leave_one_out.hpp"
#include "solve/refinement.hpp"
#include "solve/stochastic.hpp"

namespace mercer {
namespace {

/// Above this an eigendecomposition costs more than a Cholesky factorisation for each of some eighteen penalties.
constexpr Index eigen_limit = 5000;
/// Rows whose leave-one-out error is computed when every penalty needs a factorisation of its own.
constexpr Index factored_loo_rows = 1000;
/// Above this the factorisation itself takes minutes and gigabytes.
constexpr Index direct_limit = 12000;

Index system_size(const Coupling& coupling) {
  return coupling.is_constant() ? coupling.columns() : coupling.parameters();
}

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

void record_path(const PenaltyPath& path, FitSummary& summary) {
  summary.penalty_chosen = true;
  const PenaltyScore& best = path.scores[path.best];
  summary.leave_one_out_rmse = std::sqrt(best.mean_square / static_cast<double>(best.per_output.size()));
  if (!std::isfinite(*summary.leave_one_out_rmse)) {
    fail_argument(
        "the leave-one-out error overflows: the targets or inputs are too large to square; divide them by a power of ten");
  }
  summary.leave_one_out_rows = path.rows;
  summary.penalty_path.clear();  // of a coarser Gram matrix
  for (const PenaltyScore& score : path.scores) summary.penalty_path.emplace_back(score.penalty, score.mean_square);
  if (!path.all_rows) {
    summary.notes.push_back("the penalty was chosen by leave-one-out on " + counted(path.rows, "row") + " drawn at random");
  }
  if (path.best == 0 || path.best + 1 == path.scores.size()) {
    summary.notes.push_back("the best penalty is at the end of the range that was tried (" + rounded(best.penalty) +
                            "): the length scale may be far from right");
  }
}

void take(RidgeSolution&& solution, Model::State& state) {
  FitSummary& summary = state.summary;
  summary.solver = solution.solver;
  summary.gram = solution.gram;
  summary.iterations = solution.iterations;
  summary.residual = solution.residual;
  summary.degrees_of_freedom = solution.degrees_of_freedom;
  summary.weight = solution.weight;
  if (!solution.note.empty()) {
    summary.notes.push_back(solution.note);
    summary.status = solution.iterations > 0 ? "approximate" : "recovered";
  }
  state.weights = std::move(solution.weights);
  state.intercept = std::move(solution.intercept);
  state.noise = std::move(solution.noise);
  state.posterior = std::move(solution.posterior);
}

/// λ from a smaller map of the same kernel, for solvers that never see a Gram matrix.
double pilot_penalty(RowSource& rows, const Recipe& recipe, const FitOptions& options, FitSummary& summary) {
  Recipe pilot = recipe;
  const Index field_factor = is_vector_field(recipe.kernel) ? recipe.inputs() : 1;
  pilot.fourier.frequencies = std::min<Index>(recipe.fourier.frequencies, std::max<Index>(100, 600 / field_factor));
  pilot.sketch.size = std::min<Index>(recipe.sketch.size, 600);
  std::vector<std::string> ignored;
  const std::shared_ptr<const FeatureMap> map = build_map(pilot, rows, options, ignored);
  const RidgeStatistics statistics = accumulate(*map, rows, Precision::double_, options.progress);
  const NormalSystem system = normal_system(statistics, map->coupling(), recipe.intercept);
  const LeaveOneOutRows kept = leave_one_out_rows(*map, rows, system, options.seed, options.progress);
  const PenaltyPath path = leave_one_out(EigenSystem(system), kept, penalty_grid(system, 2));
  record_path(path, summary);
  summary.notes.push_back("the penalty was chosen with a pilot of " +
                          (recipe.map == MapKind::sketch ? std::to_string(map->columns()) + " features"
                                                         : std::to_string(pilot.fourier.frequencies) + " frequencies"));
  return path.scores[path.best].penalty;
}

/// Coarse decades first, then the neighbourhood of the best in steps of about 2.
PenaltyPath search_penalty(const NormalSystem& system, const LeaveOneOutRows& kept, Progress* progress) {
  PenaltyPath path = leave_one_out(system, kept, penalty_grid(system, 10), progress);
  if (path.scores.empty()) fail_internal("no penalty gave a solvable system");
  const double best = path.scores[path.best].penalty;
  PenaltyPath fine = leave_one_out(system, kept, {best * 0.2, best * 0.5, best * 2, best * 5}, progress);
  std::ranges::copy(fine.scores, std::back_inserter(path.scores));
  std::ranges::sort(path.scores, {}, &PenaltyScore::penalty);
  path.best =
      static_cast<std::size_t>(std::ranges::min_element(path.scores, {}, &PenaltyScore::mean_square) - path.scores.begin());
  return path;
}

void fit_direct(RowSource& rows, const Recipe& recipe, const FitOptions& options, const std::string& solver,
                Model::State& state) {
  FitSummary& summary = state.summary;
  const Uncertainty keep = recipe.classes.empty() ? parse_uncertainty(options.uncertainty) : Uncertainty::none;
  Stopwatch watch;
  NormalSystem system = [&] {
    const RidgeStatistics statistics = accumulate(*state.map, rows, recipe.precision, options.progress);
    summary.rows = statistics.rows;
    return normal_system(statistics, state.map->coupling(), recipe.intercept);
  }();
  summary.seconds["accumulate"] = watch.seconds();
  if (options.penalty) summary.penalty = *options.penalty;
  watch = {};
  std::optional<LeaveOneOutRows> kept;
  if (!options.penalty) {
    const Index most = solver == "eigen" ? summary.rows : factored_loo_rows;
    kept = leave_one_out_rows(*state.map, rows, system, options.seed, options.progress, most);
  }
  report(options.progress, "solving", 0);
  if (solver == "eigen") {
    const EigenSystem eigen(system);
    if (kept) {
      const PenaltyPath path = leave_one_out(eigen, *kept, penalty_grid(system, 2));
      record_path(path, summary);
      summary.penalty = path.scores[path.best].penalty;
    }
    take(eigen.solve(summary.penalty, keep), state);
  } else {
    if (kept) {
      const PenaltyPath path = search_penalty(system, *kept, options.progress);
      record_path(path, summary);
      summary.penalty = path.scores[path.best].penalty;
      kept.reset();
    }
    take(solve_cholesky(system, summary.penalty, keep), state);
  }
  summary.seconds["solve"] = watch.seconds();
}

/// Whether the residual variance that a coarse Gram matrix foretold at the penalty it chose is the true one within 1 %:
/// where rounded features are most of the noise, smaller penalties look worse than they are.
bool agree(const std::vector<double>& foretold, const std::vector<double>& noise) {
  for (std::size_t a = 0; a < foretold.size(); ++a) {
    if (!(std::abs(foretold[a] - noise[a]) <= 0.01 * noise[a])) return false;
  }
  return true;
}

/// The Gram matrix in bfloat16, the answer refined on the rows; false when that did not get there.
bool fit_refined(RowSource& rows, const Recipe& recipe, const FitOptions& options, Model::State& state) {
  FitSummary& summary = state.summary;
  // Single-precision passes cannot see a residual below about 1e-6 to 1e-5.
  const double tolerance = recipe.precision == Precision::single_ ? 1e-6 : 1e-10;
  const double acceptable = recipe.precision == Precision::single_ ? 1e-4 : 1e-9;
  const std::size_t notes = summary.notes.size();
  std::vector<double> coarse_noise;
  Stopwatch watch;
  Refinement refinement(*state.map, rows, recipe.intercept, recipe.precision, options.progress);
  summary.seconds["accumulate"] = watch.seconds();
  watch = {};
  if (!options.penalty) {
    const LeaveOneOutRows kept = leave_one_out_rows(*state.map, rows, refinement.system(), options.seed, options.progress);
    const EigenSystem eigen(refinement.system());
    const PenaltyPath path = leave_one_out(eigen, kept, penalty_grid(refinement.system(), 2));
    record_path(path, summary);
    summary.penalty = path.scores[path.best].penalty;
    coarse_noise = eigen.solve(summary.penalty, Uncertainty::none).noise;
  }
  // Where leverages are not faithful, neither is the penalty chosen by them: on the energy set of UCI it was 2¹⁰ too large.
  RidgeSolution solution =
      refinement.solve(summary.penalty, tolerance,
                       options.penalty ? Refinement::most_iterations : Refinement::choosing_iterations(tolerance));
  summary.seconds["solve"] = watch.seconds();
  const bool reached = solution.residual <= acceptable;
  if (!reached || !agree(coarse_noise, solution.noise)) {
    const std::string why =
        reached ? "its residual variance is more than 1 % off"
                : "residual " + rounded(solution.residual) + " after " + std::to_string(solution.iterations) + " passes";
    summary.notes.resize(notes);
    summary.notes.push_back(std::string("a Gram matrix in bf16 was too coarse ") +
                            (options.penalty ? "for this penalty" : "to choose the penalty") + " (" + why +
                            "): computed again in " + summary.precision);
    return false;
  }
  if (solution.iterations > Refinement::faithful_iterations(tolerance)) {
    summary.notes.emplace_back(
        "degrees of freedom and noise are those of the bf16 Gram matrix, coarse here: use --solver cholesky if they matter");
  }
  take(std::move(solution), state);
  return true;
}

void fit_iterative(RowSource& rows, const Recipe& recipe, const FitOptions& options, const std::string& solver,
                   Model::State& state) {
  FitSummary& summary = state.summary;
  const Uncertainty keep = recipe.classes.empty() ? parse_uncertainty(options.uncertainty) : Uncertainty::none;
  Stopwatch watch;
  if (!options.penalty) summary.penalty = pilot_penalty(rows, recipe, options, summary);
  summary.seconds["penalty"] = watch.seconds();
  watch = {};
  if (solver == "cg") {
    IterativeOptions cg;
    cg.penalty = summary.penalty;
    cg.intercept = recipe.intercept;
    cg.keep = keep;
    cg.memory_bytes = options.memory_bytes;
    cg.tolerance = options.tolerance.value_or(cg.tolerance);
    if (cg.penalty <= 0) fail_argument("the cg solver needs a penalty above 0");
    take(solve_conjugate_gradient(*state.map, rows, recipe.precision, cg, options.progress), state);
  } else {
    StochasticOptions sgd;
    sgd.penalty = summary.penalty;
    sgd.intercept = recipe.intercept;
    sgd.keep = keep;
    sgd.passes = options.passes;
    sgd.seed = options.seed;
    take(solve_stochastic(*state.map, rows, recipe.precision, sgd, options.progress), state);
  }
  summary.seconds["solve"] = watch.seconds();
}

void fit_exact(RowSource& rows, const Recipe& recipe, const FitOptions& options, Model::State& state) {
  FitSummary& summary = state.summary;
  const Index n = rows.row_count();
  const Index p = recipe.outputs();
  const Index size = is_decomposable(recipe.kernel) ? n : checked_product(n, p);
  const double bytes = 3.0 * 8.0 * static_cast<double>(size) * static_cast<double>(size);
  if (bytes > static_cast<double>(options.memory_bytes)) {
    fail_argument("an exact model of " + human_count(static_cast<double>(n)) + " rows needs " + human_bytes(bytes) +
                  ", more than the budget of " + human_bytes(static_cast<double>(options.memory_bytes)) +
                  "; use --map fourier:2000, or raise --memory");
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
  const Uncertainty keep = recipe.classes.empty() ? parse_uncertainty(options.uncertainty) : Uncertainty::none;
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
    if (options.uncertainty == "full" || options.uncertainty == "samples") {
      fail_argument(
          "the refined solver keeps nothing for standard deviations; use --solver cholesky, or --uncertainty none");
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

double fit_memory_bytes(Index columns, Index parameters, Index outputs, bool constant) {
  const auto square = [](Index side) { return 8.0 * static_cast<double>(side) * static_cast<double>(side); };
  // moments + centred Gram, then Gram + its factor (+ the full normal matrix and its factor).
  const double accumulate = square(columns + 1 + outputs) + square(columns);
  const double solve = 3 * square(columns) + (constant ? 0.0 : 2 * square(parameters));
  return std::max(accumulate, solve) + 96e6;
}

namespace {

/// Below this the Gram matrix takes no time.
constexpr Index refinement_columns = 1000;
/// With fewer rows the factorisation costs as much as the Gram matrix, and rounding leaves more of the spectrum uncertain.
constexpr Index rows_per_column = 4;

/// Standard deviations need the factor of a precise Gram matrix; without them a coarse one will do, where it is faster.
bool wants_refinement(const FeatureMap& map, Index rows, const FitOptions& options) {
  return options.penalty && *options.penalty > 0 && options.uncertainty == "none" && map.columns() >= refinement_columns &&
         rows >= rows_per_column * map.columns() && bfloat_is_fast();
}

}  // namespace

SolverChoice choose_solver(const FeatureMap& map, Index rows, const FitOptions& options) {
  if (options.solver != "auto") return {options.solver, "asked for"};
  const Coupling& coupling = map.coupling();
  const Index size = system_size(coupling);
  const double bytes =
      fit_memory_bytes(coupling.columns(), coupling.parameters(), coupling.outputs(), coupling.is_constant());
  if (size > direct_limit) return {"cg", std::to_string(size) + " unknowns are too many to factor"};
  if (bytes > static_cast<double>(options.memory_bytes)) {
    return {"cg", "the normal matrix needs " + human_bytes(bytes) + ", more than the memory budget"};
  }
  if (!options.penalty && size <= eigen_limit) return {"eigen", "one decomposition gives every penalty"};
  if (wants_refinement(map, rows, options))
    return {"refined", "a bf16 Gram matrix and a few passes cost half of a full one"};
  return {"cholesky", "the normal matrix of " + std::to_string(size) + " unknowns fits"};
}

std::shared_ptr<Model::State> fit_state(RowSource& raw_rows, const Recipe& recipe, const FitOptions& options) {
  const Stopwatch total;
  check_options(options, recipe.exact());
  if (by_loss(recipe, options)) check_certified(recipe.loss, options);  // before the map is built
  auto state = start_state(recipe);
  state->summary.penalty = options.penalty.value_or(0);
  ScaledRows rows(raw_rows, state->recipe.scaling, state->coding);
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
  const SolverChoice choice = choose_solver(*state->map, raw_rows.row_count(), options);
  if (choice.solver == "cg" || choice.solver == "sgd") {
    fit_iterative(rows, recipe, options, choice.solver, *state);
  } else if (choice.solver == "refined") {
    if (!fit_refined(rows, recipe, options, *state)) {
      const bool search = !options.penalty && system_size(state->map->coupling()) <= eigen_limit;
      fit_direct(rows, recipe, options, search ? "eigen" : "cholesky", *state);
    }
  } else {
    fit_direct(rows, recipe, options, choice.solver, *state);
  }
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
  const Uncertainty keep = recipe.classes.empty() ? parse_uncertainty(options.uncertainty) : Uncertainty::none;
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
