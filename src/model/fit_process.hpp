#pragma once
#include <mercer/model.hpp>
#include <mercer/rows.hpp>

#include "model/recipe.hpp"
#include "model/state.hpp"

namespace mercer {

/// Learns the hyperparameters that options.gp asks for from the rows (scaled), which are kept in memory, and conditions the
/// process on them. Fills the recipe's kernel, the parts and the summary of `state`.
void fit_process(RowSource& rows, const FitOptions& options, Model::State& state);

/// The process of a model, its hyperparameters and points unchanged, conditioned on other rows (raw).
Model conditioned_on(const Model& model, RowSource& raw_rows, Index memory_bytes);

}  // namespace mercer
