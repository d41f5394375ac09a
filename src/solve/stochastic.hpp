#pragma once
#include <mercer/progress.hpp>
#include <mercer/rows.hpp>

#include "solve/ridge.hpp"

namespace mercer {

struct StochasticOptions {
  double penalty = 1e-6;
  bool intercept = true;
  Uncertainty keep = Uncertainty::automatic;
  int passes = 20;         ///< over the rows
  Index batch = 64;        ///< rows per step
  std::uint64_t seed = 0;  ///< of the order of rows within a block
};

/// Averaged stochastic gradients on problem (P): steps of constant size 1/(L + R²/batch) over shuffled batches, the answer
/// the mean over the second half of the steps (Polyak-Ruppert). Memory is one block of features; the answer is approximate,
/// and `residual` says how far the mean still moved in the last pass.
RidgeSolution solve_stochastic(const FeatureMap& map, RowSource& rows, Precision precision, const StochasticOptions& options,
                               Progress* progress);

}  // namespace mercer
