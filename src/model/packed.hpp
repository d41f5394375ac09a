#pragma once
#include <string>
#include <vector>

#include "base/matrix.hpp"

namespace mercer {

/// The lower triangle of a matrix as files keep it, row after row.
std::vector<double> packed(const Matrix<double>& a);
/// Back again, zeros above the diagonal; throws Error(file) naming `path` when the length is no triangle's.
Matrix<double> unpacked(const std::vector<double>& values, const std::string& path);
/// Refuses a Cholesky factor whose diagonal is not positive.
void check_diagonal(const Matrix<double>& factor, const std::string& path);

}  // namespace mercer
