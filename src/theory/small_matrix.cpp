#include "theory/small_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/backend.hpp"

namespace mercer {

void add_scaled(Matrix<double>& a, double factor, const Matrix<double>& b) {
  std::ranges::transform(a.values(), b.values(), a.values().begin(), [=](double x, double y) { return x + factor * y; });
}

void add_identity(Matrix<double>& a, double factor) {
  for (Index i = 0; i < a.rows(); ++i) a(i, i) += factor;
}

double trace(const Matrix<double>& a) {
  double sum = 0;
  for (Index i = 0; i < a.rows(); ++i) sum += a(i, i);
  return sum;
}

Matrix<double> product(const Matrix<double>& a, const Matrix<double>& b) {
  Matrix<double> c(a.rows(), b.cols());
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index k = 0; k < a.cols(); ++k) {
      for (Index j = 0; j < b.cols(); ++j) c(i, j) += a(i, k) * b(k, j);
    }
  }
  return c;
}

Matrix<double> symmetric_product(const Matrix<double>& a, const Matrix<double>& b) {
  const Matrix<double> ab = product(a, b);
  Matrix<double> c(ab.rows(), ab.cols());
  for (Index i = 0; i < c.rows(); ++i) {
    for (Index j = 0; j < c.cols(); ++j) c(i, j) = 0.5 * (ab(i, j) + ab(j, i));
  }
  return c;
}

double symmetric_norm(const Matrix<double>& a) {
  bool diagonal = true;
  double largest = 0;
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index j = 0; j < a.cols(); ++j) {
      if (!std::isfinite(a(i, j))) return std::numeric_limits<double>::infinity();
      if (i == j) largest = std::max(largest, std::abs(a(i, i)));
      if (i != j && a(i, j) != 0) diagonal = false;
    }
  }
  if (diagonal) return largest;
  const Eigen spectrum = eigh(a.view());
  return std::max(std::abs(spectrum.values.front()), std::abs(spectrum.values.back()));
}

}  // namespace mercer
