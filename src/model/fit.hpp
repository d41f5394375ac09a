#pragma once
#include <mercer/model.hpp>

#include <memory>

#include "model/recipe.hpp"
#include "model/state.hpp"
#include "solve/ridge.hpp"
#include "solve/statistics.hpp"

namespace mercer {

/// What fit_recipe makes its model of, still open to additions.
std::shared_ptr<Model::State> fit_state(RowSource& raw_rows, const Recipe& recipe, const FitOptions& options);

/// fit() with everything that precedes the features already settled.
Model fit_recipe(RowSource& raw_rows, const Recipe& recipe, const FitOptions& options);

/// The statistics of raw rows under a recipe, for shards.
RidgeStatistics accumulate_recipe(RowSource& raw_rows, const Recipe& recipe, Progress* progress);

/// A model from statistics alone. Without rows there is no leave-one-out: an automatic penalty is the one of least
/// generalised cross-validation error.
Model solve_statistics(const Recipe& recipe, const RidgeStatistics& statistics, const FitOptions& options);

/// What is to be kept for standard deviations: nothing for classes.
Uncertainty wished_uncertainty(const Recipe& recipe, const FitOptions& options);

/// The solver that `auto` takes, with the reason in words.
struct SolverChoice {
  std::string solver;
  std::string reason;
};
SolverChoice choose_solver(const FeatureMap& map, Index rows, const FitOptions& options);

/// Of a penalty that is the least or the largest that was tried.
std::string end_of_range_note(double penalty, bool least);

/// Working memory of a ridge fit: statistics, their factorisation, blocks of features. Not that of the choice of a penalty.
double fit_memory_bytes(const FeatureMap& map, Index rows, const FitOptions& options);
/// What every fit takes of blocks of rows and their features, whatever its solver and budget. Matrices that are no larger
/// are not avoided for a smaller `memory_bytes`.
inline constexpr double blocks_bytes = 96e6;

}  // namespace mercer
