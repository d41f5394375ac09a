#pragma once
#include <vector>

#include "base/matrix.hpp"
#include "loss/loss.hpp"
#include "solve/feature_store.hpp"

namespace mercer {

/// An unpenalised intercept asks of dual variables a_i (one per row, in the domain of ℓ*) that Σ_i w_i a_i = total. This
/// finds δ in R^p such that a_i = project_dual(g_i + δ) do, to rounding error: the sum is monotone in δ with slope at most
/// Σ w, so a separable loss needs a bracketed secant per output, other losses Broyden's method. O(n·p) per trial, about ten.
/// Where no δ will do, the nearest found.
std::vector<double> balancing_shift(const FeatureStore& store, const Loss& loss, const Matrix<double>& g, Point total);

}  // namespace mercer
