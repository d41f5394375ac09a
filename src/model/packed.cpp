#include "model/packed.hpp"

#include <cmath>

#include "base/fail.hpp"

namespace mercer {

std::vector<double> packed(const Matrix<double>& a) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(a.rows() * (a.rows() + 1) / 2));
  for (Index i = 0; i < a.rows(); ++i) values.insert(values.end(), a.row(i).begin(), a.row(i).begin() + i + 1);
  return values;
}

Matrix<double> unpacked(const std::vector<double>& values, const std::string& path) {
  const auto count = static_cast<double>(values.size());
  const auto n = static_cast<Index>(std::llround((std::sqrt(8 * count + 1) - 1) / 2));
  if (n * (n + 1) / 2 != static_cast<Index>(values.size())) fail_file(path + ": a triangular matrix has the wrong length");
  Matrix<double> a(n, n);
  Index next = 0;
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j) a(i, j) = values[static_cast<std::size_t>(next++)];
  }
  return a;
}

void check_diagonal(const Matrix<double>& factor, const std::string& path) {
  for (Index i = 0; i < factor.rows(); ++i) {
    if (!(factor(i, i) > 0)) fail_file(path + ": a factor in it is singular");
  }
}

}  // namespace mercer
