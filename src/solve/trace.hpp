#pragma once
#include <mercer/view.hpp>

namespace mercer {

/// tr((LLᵀ)⁻¹) by 32 Rademacher probes (Hutchinson): its error is far below that of a noise estimate.
double inverse_trace(ConstMatrix factor);

}  // namespace mercer
