#pragma once
#include <mercer/model.hpp>

#include <optional>
#include <vector>

#include "base/matrix.hpp"
#include "gp/mixture.hpp"
#include "model/state.hpp"

namespace mercer {

// What a Gaussian process has learned, whichever kind it is.

/// The spectrum of an output, in scaled units; nothing for kernels that are no spectral mixture, and for other models.
std::optional<Mixture> learned_mixture(const Model::State& state, Index output);

/// The mean of an output in the user's units: its value where every input is at scaling.input_shift, then its slope in each
/// input when it is linear. Empty for other models.
std::vector<double> learned_mean(const Model::State& state, Index output);

/// B of outputs that share a spectrum, in units of the targets; empty for others.
Matrix<double> output_covariance(const Model::State& state);

}  // namespace mercer
