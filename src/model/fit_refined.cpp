#include <algorithm>
#include <cmath>
#include <optional>

#include "base/progress.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "model/fit_ridge.hpp"
#include "model/ridge_plan.hpp"
#include "model/words.hpp"

namespace mercer {
namespace {

/// Whether the residual variance that a coarse Gram matrix foretold at the penalty it chose is the true one within 1 %:
/// where rounded features are most of the noise, smaller penalties look worse than they are.
bool agree(const std::vector<double>& foretold, const std::vector<double>& noise) {
  for (std::size_t a = 0; a < foretold.size(); ++a) {
    if (!(std::abs(foretold[a] - noise[a]) <= 0.01 * noise[a])) return false;
  }
  return true;
}

/// Passes that cost about as much as a Gram matrix in float64: one pass is n·m, a Gram matrix n·m².
int affordable_iterations(Index columns) {
  return static_cast<int>(std::clamp<Index>(columns / 100, 12, 40));
}

struct Attempt {
  RidgeSolution solution;
  std::string failure;  ///< "" when the answer is as good as was asked for
};

class RefinedFit {
 public:
  RefinedFit(RowSource& rows, const Recipe& recipe, const FitOptions& options, Model::State& state)
      : rows_(rows), recipe_(recipe), options_(options), state_(state) {}

  Attempt attempt(Refinement& refinement) const {
    FitSummary& summary = state_.summary;
    std::vector<double> foretold;
    Refinement::Wish wish;
    // Where the penalty is chosen, iterations to 1e-10 tell whether it can be trusted.
    wish.tolerance = single() ? 1e-6 : options_.penalty ? 1e-9 : 1e-10;
    wish.keep = keep();
    wish.most_iterations =
        options_.penalty ? affordable_iterations(state_.map->columns()) : Refinement::choosing_iterations(wish.tolerance);
    wish.patience = options_.penalty && !single() ? 6 : 0;
    if (!options_.penalty) {
      const NormalSystem& system = refinement.system();
      std::optional<EigenSystem> eigen;
      if (system_size(*system.coupling) <= eigen_limit) eigen.emplace(system);
      summary.penalty = choose_penalty(*state_.map, rows_, system, eigen ? &*eigen : nullptr, options_, summary);
      foretold = (eigen ? eigen->solve(summary.penalty, Uncertainty::none)
                        : solve_cholesky(system, summary.penalty, Uncertainty::none))
                     .noise;
    }
    wish.penalty = summary.penalty;
    Attempt attempt{refinement.solve(wish), ""};
    const RidgeSolution& solution = attempt.solution;
    // Single-precision passes cannot see a residual below about 1e-6 to 1e-5.
    const double acceptable = single() ? 1e-4 : 1e-9;
    if (std::isnan(solution.residual)) {
      attempt.failure = "its numbers or the weights of rows are too large or too small";
    } else if (!(solution.residual <= acceptable)) {
      attempt.failure = "residual " + rounded(solution.residual) + " after " + counted(solution.iterations, "pass");
    } else if (!single() && !(solution.prediction_error <= RidgePlan::most_prediction_error)) {
      attempt.failure = "predictions up to " + rounded(solution.prediction_error) + " off";
    } else if (!agree(foretold, solution.noise)) {
      attempt.failure = "its residual variance is more than 1 % off";
    } else if (keep() != Uncertainty::none && !(solution.coarseness <= RidgePlan::most_coarseness)) {
      attempt.failure = "standard deviations up to " + rounded(50 * solution.coarseness) + " % off";
    }
    return attempt;
  }

  void explain(const Attempt& attempt, GramPrecision gram, const std::string& next) const {
    state_.summary.notes.push_back("a Gram matrix in " + words(gram) + " was too coarse " +
                                   (options_.penalty ? "for this penalty" : "to choose the penalty") + " (" +
                                   attempt.failure + "): computed again in " + next);
  }

  void accept(RidgeSolution&& solution) const {
    const bool none = keep() == Uncertainty::none;
    // Without a right-hand side of random signs, directions that no row has were not seen: degrees of freedom of fields were
    // off by 5 times as much as was measured.
    if (none && solution.coarseness > RidgePlan::most_coarseness / 5) {
      state_.summary.notes.push_back("degrees of freedom and noise are those of the Gram matrix in " + solution.gram +
                                     ", coarse here: use --precision float64 if they matter");
    }
    take(std::move(solution), state_);
    if (none) state_.summary.spread_error = 0;
  }

  Uncertainty keep() const { return wished_uncertainty(recipe_, options_); }

 private:
  bool single() const { return recipe_.precision == Precision::single_; }

  RowSource& rows_;
  const Recipe& recipe_;
  const FitOptions& options_;
  Model::State& state_;
};

}  // namespace

bool fit_refined(RowSource& rows, const Recipe& recipe, const FitOptions& options, Model::State& state) {
  FitSummary& summary = state.summary;
  Stopwatch watch;
  const RefinedFit fit(rows, recipe, options, state);
  const RidgePlan plan = plan_ridge(*state.map, rows, recipe.precision, fit.keep() != Uncertainty::none, options);
  summary.plan = plan.words;
  tell(options.progress, plan.words);
  summary.seconds["plan"] = watch.seconds();
  if (plan.grams.empty()) return false;
  watch = {};
  Refinement refinement(*state.map, rows,
                        {recipe.intercept, recipe.precision, plan.grams.front(), plan.memory_bytes,
                         /*plain=*/!options.penalty.has_value(), factor_bytes(options)},
                        options.progress);
  summary.seconds["accumulate"] = watch.seconds();
  const std::size_t notes = summary.notes.size();
  for (std::size_t k = 0;; ++k) {
    watch = {};
    Attempt attempt = fit.attempt(refinement);
    summary.seconds["solve"] += watch.seconds();
    if (attempt.failure.empty()) {
      if (!options.penalty && rows.row_count() < rows_per_column_to_choose * state.map->columns()) {
        summary.notes.emplace_back(
            "the penalty was chosen on a coarse Gram matrix, which with few rows for each feature may not see that a "
            "smaller "
            "one is better: --solver auto chooses it on a precise one");
      }
      fit.accept(std::move(attempt.solution));
      return true;
    }
    summary.notes.resize(notes + k);  // what a coarse choice of the penalty noted
    const bool last = k + 1 == plan.grams.size();
    fit.explain(attempt, plan.grams[k], last ? summary.precision : words(plan.grams[k + 1]));
    if (last) return false;
    watch = {};
    refinement.improve(plan.grams[k + 1]);
    summary.seconds["accumulate"] += watch.seconds();
  }
}

}  // namespace mercer
