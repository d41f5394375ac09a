#pragma once
#include <mercer/view.hpp>

#include "base/matrix.hpp"

namespace mercer {

/// The mean of a Gaussian process: 0, b_0, or b_0 + ⟨b, x⟩. Coefficients get a flat prior: they are profiled out by
/// generalised least squares.
enum class MeanForm { none, constant, linear };

/// An orthonormal basis of the means at the rows x. Inputs that are constant or depend on others add nothing to it, so that
/// the least-squares problem is always definite.
class MeanBasis {
 public:
  MeanBasis(MeanForm form, ConstMatrix x);
  /// n × r, r ≤ 0, 1 or 1 + d, orthonormal columns.
  const Matrix<double>& columns() const { return columns_; }
  /// b_0, b_1, …, b_d as rows (0, 1 or 1 + d of them) of the mean whose weights on the columns are `weights` (r × p).
  Matrix<double> coefficients(const Matrix<double>& weights) const;
  /// (0, 1 or 1 + d) × r: columns() = [1 x]·transform().
  const Matrix<double>& transform() const { return transform_; }

 private:
  Matrix<double> columns_;
  Matrix<double> transform_;
};

}  // namespace mercer
