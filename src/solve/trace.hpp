#pragma once
#include <mercer/view.hpp>

namespace mercer {

double trace(ConstMatrix a);

/// tr((LLᵀ)⁻¹): exactly up to 1000 rows, by 64 Rademacher probes (Hutchinson) above, where their error is far below that of
/// a noise estimate.
double inverse_trace(ConstMatrix factor);
double inverse_trace(MatrixView<const float> factor);

}  // namespace mercer
