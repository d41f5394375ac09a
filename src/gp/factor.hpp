#pragma once
#include "base/matrix.hpp"

namespace mercer {

/// log|LLᵀ| of a Cholesky factor.
double log_determinant(const Matrix<double>& factor);
/// (LLᵀ)⁻¹, both triangles. 2n³/3 flops.
Matrix<double> inverse_of(const Matrix<double>& factor);

}  // namespace mercer
