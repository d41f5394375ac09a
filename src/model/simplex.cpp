#include "model/simplex.hpp"

#include <cmath>

#include "base/fail.hpp"

namespace mercer {

// Built coordinate by coordinate: in coordinate j, vertex j takes what is left of its unit norm, and all later vertices take
// the common value that makes their inner product with vertex j equal to -1/(K-1).
Matrix<double> simplex_codes(Index classes) {
  if (classes < 2) fail_argument("classification needs at least two classes, the target has " + std::to_string(classes));
  const Index dimensions = classes - 1;
  const double inner = -1.0 / static_cast<double>(dimensions);
  Matrix<double> codes(classes, dimensions);
  for (Index j = 0; j < dimensions; ++j) {
    double used = 0;
    for (Index k = 0; k < j; ++k) used += codes(j, k) * codes(j, k);
    codes(j, j) = std::sqrt(1 - used);
    for (Index i = j + 1; i < classes; ++i) {
      double dot = 0;
      for (Index k = 0; k < j; ++k) dot += codes(j, k) * codes(i, k);
      codes(i, j) = (inner - dot) / codes(j, j);
    }
  }
  return codes;
}

void simplex_scores(const Matrix<double>& codes, std::span<const double> f, std::span<double> scores) {
  for (Index k = 0; k < codes.rows(); ++k) {
    double dot = 0;
    for (Index j = 0; j < codes.cols(); ++j) dot += codes(k, j) * f[static_cast<std::size_t>(j)];
    scores[static_cast<std::size_t>(k)] = dot;
  }
}

}  // namespace mercer
