#pragma once
#include <mercer/view.hpp>

#include "base/matrix.hpp"

namespace mercer {

// d × d and p × p matrices of moments: small, so plain loops.

/// a += factor · b.
void add_scaled(Matrix<double>& a, double factor, const Matrix<double>& b);
/// a += factor · I.
void add_identity(Matrix<double>& a, double factor);
double trace(const Matrix<double>& a);
/// a·b. O(n³).
Matrix<double> product(const Matrix<double>& a, const Matrix<double>& b);
/// ½(a·b + b·a) for symmetric a, b.
Matrix<double> symmetric_product(const Matrix<double>& a, const Matrix<double>& b);
/// Largest |eigenvalue| of a symmetric matrix; infinity when an entry is not finite. O(n³), O(n²) when diagonal.
double symmetric_norm(const Matrix<double>& a);

}  // namespace mercer
