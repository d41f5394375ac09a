#pragma once
#include <mercer/model.hpp>
#include <mercer/rows.hpp>

#include <string>

#include "model/recipe.hpp"
#include "model/state.hpp"

namespace mercer {

/// Ridge on the features of state.map by the normal equations, solver "eigen" or "cholesky"; rows are scaled.
void fit_direct(RowSource& rows, const Recipe& recipe, const FitOptions& options, const std::string& solver,
                Model::State& state);
/// Ridge on the kernel itself.
void fit_exact(RowSource& rows, const Recipe& recipe, const FitOptions& options, Model::State& state);

}  // namespace mercer
