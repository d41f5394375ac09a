#pragma once
#include <mercer/view.hpp>

namespace mercer {

double trace(ConstMatrix a);

/// tr((LLᵀ)⁻¹): exactly up to 1000 rows, by Rademacher probes (Hutchinson) above, 64 up to 4000 rows and fewer beyond, where
/// their error is far below that of a noise estimate.
double inverse_trace(ConstMatrix factor);
double inverse_trace(MatrixView<const float> factor);

}  // namespace mercer
