#pragma once
#include <mercer/model.hpp>

#include "base/matrix.hpp"
#include "base/random.hpp"
#include "gp/spectral_coordinates.hpp"
#include "model/process_text.hpp"
#include "model/state.hpp"

namespace mercer {

/// All rows, in scaled units.
struct Gathered {
  Matrix<double> x;
  Matrix<double> y;
};

/// Steps of L-BFGS when nobody says how many.
constexpr int lbfgs_steps = 200;

/// A start for training: the empirical spectrum of the residuals, or one near it for later restarts.
SpectralParameters initial_parameters(ConstMatrix x, ConstMatrix y, const ProcessPlan& plan, const Stream& stream,
                                      int restart);

/// Learns a spectrum for each output, or one for all, and conditions the process on the rows.
void fit_spectral(const Gathered& rows, const ProcessPlan& plan, const FitOptions& options, Model::State& state);

}  // namespace mercer
