#pragma once
#include <mercer/model.hpp>

#include "model/fit_spectral.hpp"
#include "model/process_text.hpp"
#include "model/state.hpp"

namespace mercer {

/// Learns the parameters of a kernel and the noise by exact likelihood or by Titsias' bound, for each output or for all
/// together, and conditions the process on the rows.
void fit_kernel_process(const Gathered& rows, const ProcessPlan& plan, const FitOptions& options, Model::State& state);

}  // namespace mercer
