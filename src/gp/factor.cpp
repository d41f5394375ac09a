#include "gp/factor.hpp"

#include <cmath>

#include "backend/backend.hpp"

namespace mercer {

double log_determinant(const Matrix<double>& factor) {
  double sum = 0;
  for (Index i = 0; i < factor.rows(); ++i) sum += 2 * std::log(factor(i, i));
  return sum;
}

Matrix<double> inverse_of(const Matrix<double>& factor) {
  Matrix<double> result(factor);
  Matrix<double> work(factor.rows(), factor.cols());
  cholesky_inverse(result, work);
  mirror_lower(result);
  return result;
}

}  // namespace mercer
