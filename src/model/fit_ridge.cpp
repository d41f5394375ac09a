#include "model/fit_ridge.hpp"

#include <algorithm>
#include <cmath>

#include "backend/packed_rows.hpp"
#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "model/build_map.hpp"
#include "model/words.hpp"
#include "solve/conjugate_gradient.hpp"
#include "solve/refinement.hpp"
#include "solve/stochastic.hpp"
#include "solve/trace.hpp"

namespace mercer {
namespace {

/// Rows whose leave-one-out error is computed when every penalty needs a factorisation of its own.
constexpr Index factored_loo_rows = 1000;
/// Above this the factorisation itself takes minutes and gigabytes.
constexpr Index direct_limit = 12000;

/// λ from a smaller map of the same kernel, for solvers that never see a Gram matrix.
double pilot_penalty(RowSource& rows, const Recipe& recipe, const FeatureMap& whole, const FitOptions& options,
                     FitSummary& summary) {
  Recipe pilot = recipe;
  const Index field_factor = is_vector_field(recipe.kernel) ? recipe.inputs() : 1;
  pilot.fourier.frequencies = std::min<Index>(recipe.fourier.frequencies, std::max<Index>(100, 600 / field_factor));
  pilot.sketch.size = std::min<Index>(recipe.sketch.size, 600);
  std::vector<std::string> ignored;
  const std::shared_ptr<const FeatureMap> map = build_map(pilot, rows, options, ignored);
  const RidgeStatistics statistics = accumulate(*map, rows, Precision::double_, options.progress);
  const NormalSystem system = normal_system(statistics, map->coupling(), recipe.intercept);
  const LeaveOneOutRows kept =
      leave_one_out_rows(*map, rows, system, options.seed, options.progress, leave_one_out_limits(options, true));
  const PenaltyPath path = leave_one_out(EigenSystem(system), kept, penalty_grid(system, 2));
  record_path(path, summary);
  if (map->columns() < whole.columns()) {
    const bool may_be_factored = options.solver != "auto" && system_size(whole.coupling()) <= direct_limit;
    summary.notes.push_back("the penalty is the best one of a smaller model of " + std::to_string(map->columns()) +
                            " features; more of them may want another" +
                            (may_be_factored ? ": --solver cholesky chooses it with all" : ""));
  }
  return path.scores[path.best].penalty;
}

/// Coarse decades first, then the neighbourhood of the best in steps of about 2.
PenaltyPath search_penalty(const NormalSystem& system, const LeaveOneOutRows& kept, Progress* progress) {
  PenaltyPath path = leave_one_out(system, kept, penalty_grid(system, 10), progress);
  if (path.scores.empty()) fail_internal("no penalty gave a solvable system");
  const double best = path.scores[path.best].penalty;
  PenaltyPath fine = leave_one_out(system, kept, {best * 0.2, best * 0.5, best * 2, best * 5}, progress);
  std::ranges::copy(fine.scores, std::back_inserter(path.scores));
  find_best(path);
  return path;
}

/// Penalties, as a share of mean ‖φ~(x)‖², below which float32 sums gave predictions more than 1e-5 off (20 000 rows, five
/// inputs: 1.5e-4 at 1e-6, 3e-3 at 1e-7).
constexpr double single_penalty = 1e-5;

void fit_direct(RowSource& rows, const Recipe& recipe, const FitOptions& options, const std::string& solver,
                Model::State& state) {
  FitSummary& summary = state.summary;
  const Uncertainty keep = wished_uncertainty(recipe, options);
  Stopwatch watch;
  const NormalSystem system = [&] {
    const RidgeStatistics statistics = accumulate(*state.map, rows, recipe.precision, options.progress);
    summary.rows = statistics.rows;
    return normal_system(statistics, state.map->coupling(), recipe.intercept);
  }();
  summary.seconds["accumulate"] = watch.seconds();
  watch = {};
  report(options.progress, "solving", 0);
  std::optional<EigenSystem> eigen;
  if (solver == "eigen") eigen.emplace(system);
  summary.penalty = options.penalty ? *options.penalty
                                    : choose_penalty(*state.map, rows, system, eigen ? &*eigen : nullptr, options, summary);
  take(eigen ? eigen->solve(summary.penalty, keep) : solve_cholesky(system, summary.penalty, keep), state);
  if (recipe.precision == Precision::single_ && summary.penalty * system.weight < single_penalty * trace(system.gram)) {
    summary.notes.push_back("sums in float32 are too coarse for a penalty of " + rounded(summary.penalty) +
                            ": predictions may be off by far more than 1e-5; --precision auto is not");
  }
  summary.seconds["solve"] = watch.seconds();
}

void fit_iterative(RowSource& rows, const Recipe& recipe, const FitOptions& options, const std::string& solver,
                   Model::State& state) {
  FitSummary& summary = state.summary;
  const Uncertainty keep = wished_uncertainty(recipe, options);
  if (keep == Uncertainty::full) {
    const std::string precision = solver == "cg" ? ", right to about 9 %," : "";
    summary.notes.push_back("standard deviations will be of " + std::to_string(posterior_samples) + " draws" + precision +
                            " since iterative solvers have no factor to keep; --solver cholesky has");
  }
  Stopwatch watch;
  if (!options.penalty) summary.penalty = pilot_penalty(rows, recipe, *state.map, options, summary);
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

/// Below this the Gram matrix takes no time: features, and multiply-adds (a fifth of a second on two cores).
constexpr Index refinement_columns = 1000;
constexpr double refinement_products = 2e10;
/// Passes multiply by the weights of every target: of 1200 features, 64 targets took 0.60 in place of 0.70 s (float64), 128
/// of them 0.97 in place of 0.73.
constexpr Index columns_per_target = 14;
/// Where low precision can save time at no loss. Standard deviations "in full" need the factor of a precise Gram matrix;
/// with fewer rows than features the factorisation costs more than any Gram matrix.
bool wants_refinement(const FeatureMap& map, Index rows, const FitOptions& options) {
  if (options.precision == "float64" || options.penalty == 0.0) return false;
  if (options.uncertainty == "full") return false;
  if (map.columns() < refinement_columns || map.columns() < columns_per_target * map.outputs()) return false;
  if (!options.penalty) return is_fast(LowNumber::bf16) && rows >= rows_per_column_to_choose * map.columns();
  const Precision passes = options.precision == "float32" ? Precision::single_ : Precision::double_;
  const auto m = static_cast<double>(map.columns());
  return rows >= map.columns() && static_cast<double>(rows) * m * m >= refinement_products &&
         !worthwhile_grams(map, passes, false).empty();
}

}  // namespace

Index system_size(const Coupling& coupling) {
  return coupling.is_constant() ? coupling.columns() : coupling.parameters();
}

double choose_penalty(const FeatureMap& map, RowSource& rows, const NormalSystem& system, const EigenSystem* eigen,
                      const FitOptions& options, FitSummary& summary) {
  const LeaveOneOutRows kept =
      leave_one_out_rows(map, rows, system, options.seed, options.progress, leave_one_out_limits(options, eigen != nullptr));
  const PenaltyPath path = eigen != nullptr ? leave_one_out(*eigen, kept, penalty_grid(system, 2))
                                            : search_penalty(system, kept, options.progress);
  record_path(path, summary);
  return path.scores[path.best].penalty;
}

std::string end_of_range_note(double penalty, bool least) {
  return std::string("the best penalty is the ") + (least ? "least" : "largest") + " that was tried (" + rounded(penalty) +
         "): " + (least ? "the targets may have no noise" : "the inputs may tell nothing of the targets") +
         ", or the length scale is far from right";
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
  if (path.best == 0 || path.best + 1 == path.scores.size())
    summary.notes.push_back(end_of_range_note(best.penalty, path.best == 0));
}

void take(RidgeSolution&& solution, Model::State& state) {
  if (!std::ranges::all_of(solution.noise, [](double v) { return std::isfinite(v); }) ||
      !std::isfinite(solution.posterior.intercept_variance)) {
    fail_argument(
        "variances are beyond the range of numbers: the weights of rows or the targets are too small or too large; scale "
        "them to around 1");
  }
  FitSummary& summary = state.summary;
  summary.solver = solution.solver;
  summary.gram = solution.gram;
  summary.iterations = solution.iterations;
  summary.residual = solution.residual;
  summary.spread_error = solution.coarseness / 2;
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

namespace {

/// The matrices of a fit by this solver at the time when they take most. Of symmetric ones and factors, half is never
/// touched. An eigendecomposition takes the matrix, its vectors and twice as much to work in.
double matrices_bytes(const FeatureMap& map, const std::string& solver, const FitOptions& options) {
  const auto squares = [](Index side) { return static_cast<double>(side) * static_cast<double>(side); };
  const Coupling& coupling = map.coupling();
  const Index size = system_size(coupling);
  const double gram = 4 * squares(coupling.columns());  // half of it, in double
  const Index gains = gain_count(coupling);
  const bool in_full = resolve(parse_uncertainty(options.uncertainty), size,
                               gains > 1 ? full_eigen_limit : full_posterior_limit) == Uncertainty::full;
  const double eigen = 7 * gram;
  if (solver == "refined" && options.penalty) {
    // Counts in 32 bits and the Gram matrix made of them; then that and a factor in float, which is kept in double.
    const double factors = 2 * squares(size) * static_cast<double>(gains);
    if (gains > 1 && (in_full || factors > static_cast<double>(factor_bytes(options)))) return eigen;
    return std::max(2 * gram, gram + factors + (in_full ? 4 : 0) * squares(size));
  }
  if (solver == "cholesky" && !(gains > 1 && in_full)) {
    // Moments, the Gram matrix and its factor, or the normal matrix that becomes its own (where the penalty is to be chosen,
    // for every one of them anew); what is kept beside.
    return coupling.is_constant() ? (in_full ? 3.75 : 2.5) * gram : gram + (options.penalty ? 4 : 8) * squares(size);
  }
  return coupling.is_constant() ? eigen : gram + 28 * squares(size);
}

std::string direct_solver(const FeatureMap& map, Index rows, const FitOptions& options) {
  if (wants_refinement(map, rows, options)) return "refined";
  return !options.penalty && system_size(map.coupling()) <= eigen_limit ? "eigen" : "cholesky";
}

}  // namespace

Index factor_bytes(const FitOptions& options) {
  return options.memory_bytes / 4;
}

LeaveOneOutLimits leave_one_out_limits(const FitOptions& options, bool eigen) {
  constexpr Index share = 8;
  LeaveOneOutLimits most;
  most.values = std::min(most.values, options.memory_bytes / (left_out_bytes * share));
  if (!eigen) most.rows = factored_loo_rows;
  return most;
}

double fit_memory_bytes(const FeatureMap& map, Index rows, const FitOptions& options) {
  const std::string solver = choose_solver(map, rows, options).solver;
  const auto columns = static_cast<double>(map.columns());
  if (solver == "cg" || solver == "sgd") {  // features where there is room for them, and columns for the posterior's draws
    const double features = 8 * static_cast<double>(rows) * columns;
    const double kept = solver == "cg" && features <= static_cast<double>(options.memory_bytes) ? features : 0.0;
    constexpr double vectors = posterior_samples * 8 * 8;
    constexpr double sampled = 1500 * 8;  // rows of the preconditioner, and as many again for n just below a multiple
    const Coupling& coupling = map.coupling();
    const auto outputs = static_cast<double>(coupling.is_constant() ? coupling.outputs() : 1);
    return kept + (vectors * outputs + (solver == "cg" ? sampled : 0.0)) * static_cast<double>(system_size(coupling)) +
           2 * blocks_bytes;
  }
  constexpr double program = 30e6;
  const double blocks = std::min(blocks_bytes, program + 8 * static_cast<double>(rows) * columns);
  return matrices_bytes(map, solver, options) + blocks;
}

SolverChoice choose_solver(const FeatureMap& map, Index rows, const FitOptions& options) {
  const Coupling& coupling = map.coupling();
  if (coupling.parameters() == 0) return {"cholesky", "outputs without variance have nothing to be learned"};
  if (options.solver != "auto") return {options.solver, "asked for"};
  const Index size = system_size(coupling);
  if (size > direct_limit) return {"cg", std::to_string(size) + " unknowns are too many to factor"};
  // Conjugate gradients take blocks of rows too, and sums of many columns: matrices no larger than these are not worth
  // avoiding, however small the budget (with 20 MB, 500 features of 20 000 rows took ten times as long and twice the
  // memory).
  const std::string direct = direct_solver(map, rows, options);
  const double matrices = matrices_bytes(map, direct, options);
  const auto budget = static_cast<double>(options.memory_bytes);
  if (matrices > std::max(budget - blocks_bytes, blocks_bytes)) {
    return {"cg", "the normal matrix and its factor need " + human_bytes(matrices) +
                      ", more than the memory budget leaves beside blocks of rows"};
  }
  if (direct == "refined") return {direct, "a coarse Gram matrix and a few passes cost half of a full one"};
  if (direct == "eigen") return {direct, "one decomposition gives every penalty"};
  return {direct, "the normal matrix of " + std::to_string(size) + " unknowns fits"};
}

void fit_ridge(RowSource& rows, const Recipe& recipe, const FitOptions& options, Model::State& state) {
  const SolverChoice choice = choose_solver(*state.map, rows.row_count(), options);
  std::string solver = choice.solver;
  if (solver == "cg" || solver == "sgd") {
    if (options.solver == "auto") state.summary.notes.push_back("solved by conjugate gradients: " + choice.reason);
    fit_iterative(rows, recipe, options, solver, state);
    return;
  }
  FitOptions coarse = options;
  coarse.uncertainty = "auto";
  if (options.solver == "auto" && options.uncertainty == "full" && wants_refinement(*state.map, rows.row_count(), coarse)) {
    state.summary.notes.emplace_back(
        "--uncertainty full wants a Gram matrix in float64, which takes several times as long as one refined; --uncertainty "
        "auto would give standard deviations within 2 %");
  }
  if (solver == "refined") {
    if (fit_refined(rows, recipe, options, state)) return;
    const bool search = !options.penalty && system_size(state.map->coupling()) <= eigen_limit;
    solver = search ? "eigen" : "cholesky";
  }
  fit_direct(rows, recipe, options, solver, state);
}

}  // namespace mercer
