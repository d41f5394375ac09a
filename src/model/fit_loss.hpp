#pragma once
#include <mercer/model.hpp>
#include <mercer/rows.hpp>

#include "loss/loss.hpp"
#include "model/recipe.hpp"
#include "model/state.hpp"

namespace mercer {

/// Fits state.map's features to `rows` (scaled, coded) by the loss of the recipe: to a certified duality gap (admm), or by
/// stochastic subgradients (adam, sgd). Without a penalty, the one with the least loss on a fifth of the rows held out.
void fit_with_loss(RowSource& rows, const Recipe& recipe, const FitOptions& options, Model::State& state);

/// Refuses options that no loss but the square serves: standard deviations, a penalty of 0, solvers of ridge.
void check_certified(const std::string& loss, const FitOptions& options);

/// The mean loss per unit of weight of a function φ(x)ᵀW + c on rows.
double mean_loss(const FeatureMap& map, RowSource& rows, const Loss& loss, ConstMatrix weights, Point intercept);

}  // namespace mercer
