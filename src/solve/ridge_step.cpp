#include "solve/ridge_step.hpp"

#include <algorithm>
#include <cmath>

#include "base/fail.hpp"

namespace mercer {
namespace {
std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}
}  // namespace

RidgeStep::RidgeStep(const Coupling& coupling, const Matrix<double>& moments, bool intercept, double inertia)
    : coupling_(coupling), intercept_(intercept), inertia_(inertia) {
  const Index m = coupling.columns();
  weight_ = moments(m, m);
  for (Index i = 0; i <= m; ++i) {
    if (!std::isfinite(moments(i, i))) {
      fail_argument("the sums of squared features overflow: scale the data (standardize) or lower the degree of the kernel");
    }
  }
  if (!(weight_ > 0)) fail_argument("the weights of all rows are 0: there is nothing to learn from");
  for (Index c = 0; c < m; ++c) mean_feature_.push_back(moments(m, c) / weight_);
  Matrix<double> gram(m, m);
  for (Index i = 0; i < m; ++i) {
    const double mean = intercept ? weight_ * mean_feature_[at(i)] : 0;
    for (Index j = 0; j <= i; ++j) gram(i, j) = moments(i, j) - mean * mean_feature_[at(j)];
  }
  if (coupling.is_constant()) {
    const Matrix<double>& b = coupling.constant_factor();
    for (Index j = 0; j < b.cols(); ++j) {
      double gain = 0;
      for (Index a = 0; a < b.rows(); ++a) gain += b(a, j) * b(a, j);
      gain_.push_back(gain);
    }
    eigen_ = eigh(gram);
  } else {
    gain_ = {1.0};
    eigen_ = eigh(coupling.normal_matrix(gram));
  }
  // Rounding leaves tiny negative eigenvalues; a Gram matrix has none.
  for (double& value : eigen_.values) value = std::max(value, 0.0);
}

void RidgeStep::solve(ConstMatrix cross, Point sum, double ridge, std::span<double> theta, MutMatrix weights,
                      MutPoint c) const {
  const Index m = cross.rows;
  const Index p = cross.cols;
  Matrix<double> centred(cross);
  for (Index k = 0; intercept_ && k < m; ++k) {
    for (Index a = 0; a < p; ++a) centred(k, a) -= mean_feature_[at(k)] * sum[at(a)];
  }
  const auto width = static_cast<Index>(gain_.size());
  const Index size = static_cast<Index>(theta.size()) / width;
  const MutMatrix system(theta.data(), size, width);
  const double top = eigen_.values.empty() ? 0.0 : eigen_.values.back();
  std::vector<double> rhs(theta.size());
  coupling_.contract(centred, rhs);
  for (std::size_t k = 0; k < rhs.size(); ++k) {
    rhs[k] += inertia_ * top * gain_[k % gain_.size()] * theta[k];
  }
  Matrix<double> rotated(size, width);
  gemm<double>(false, false, 1.0, eigen_.vectors, ConstMatrix(rhs.data(), size, width), 0.0, rotated);
  for (Index k = 0; k < size; ++k) {
    for (Index j = 0; j < width; ++j) rotated(k, j) /= gain_[at(j)] * (eigen_.values[at(k)] + inertia_ * top) + ridge;
  }
  gemm<double>(true, false, 1.0, eigen_.vectors, rotated, 0.0, system);
  coupling_.expand(theta, weights);
  for (Index a = 0; a < p; ++a) {
    c[at(a)] = 0;
    if (!intercept_) continue;
    c[at(a)] = sum[at(a)] / weight_;
    for (Index k = 0; k < m; ++k) c[at(a)] -= mean_feature_[at(k)] * weights(k, a);
  }
}

}  // namespace mercer
