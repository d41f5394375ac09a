#include "gp/kernel_posterior.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "gp/exact_likelihood.hpp"
#include "gp/factor.hpp"
#include "gp/prior_function.hpp"
#include "gp/vfe.hpp"
#include "kernel/evaluate.hpp"

namespace mercer {
namespace {

MeanForm form_of(const Matrix<double>& mean) {
  return mean.rows() == 0 ? MeanForm::none : mean.rows() == 1 ? MeanForm::constant : MeanForm::linear;
}

/// [1 x]·weights.
Matrix<double> mean_function(ConstMatrix x, const Matrix<double>& weights) {
  Matrix<double> result(x.rows, weights.cols());
  for (Index i = 0; i < x.rows; ++i) {
    for (Index a = 0; a < weights.cols() && weights.rows() > 0; ++a) {
      result(i, a) = weights(0, a);
      for (Index k = 1; k < weights.rows(); ++k) result(i, a) += x(i, k - 1) * weights(k, a);
    }
  }
  return result;
}

/// sign · Σ over rows of square entries, a number for each column.
void add_column_squares(double sign, const Matrix<double>& a, std::span<double> sums) {
  for (Index i = 0; i < a.rows(); ++i) {
    const std::span<const double> row = a.row(i);
    for (std::size_t j = 0; j < row.size(); ++j) sums[j] += sign * row[j] * row[j];
  }
}

Matrix<double> gram_of(const Kernel& kernel, ConstMatrix x, ConstMatrix z) {
  Matrix<double> k(x.rows, z.rows);
  gram(kernel, x, z, k);
  return k;
}

Matrix<double> normals(Index rows, const Stream& stream) {
  Matrix<double> z(rows, 1);
  for (Index j = 0; j < rows; ++j) z(j, 0) = stream.normal(0, static_cast<std::uint64_t>(j));
  return z;
}

}  // namespace

KernelPosterior KernelPosterior::conditioned_on(ConstMatrix x, ConstMatrix y) const {
  const MeanForm form = form_of(parts_.mean);
  if (!variational()) {
    return ExactLikelihood(parts_.kernel, Matrix<double>(x), Matrix<double>(y), form).posterior(parts_.kernel, parts_.noise);
  }
  VariationalBound bound(parts_.kernel, Matrix<double>(x), Matrix<double>(y), form, parts_.anchors,
                         VariationalBound::Inducing::fixed);
  return bound.posterior(parts_.kernel, parts_.noise, parts_.anchors);
}

void KernelPosterior::mean(ConstMatrix x, MutMatrix out) const {
  const Matrix<double> trend = mean_function(x, parts_.mean);
  gemm<double>(false, false, 1.0, gram_of(parts_.kernel, x, parts_.anchors), parts_.coefficients, 0.0, out);
  for (Index i = 0; i < out.rows; ++i) {
    for (Index a = 0; a < out.cols && parts_.mean.rows() > 0; ++a) out(i, a) += trend(i, a);
  }
}

/// u, rows × r; `cross` is k(Z, x).
Matrix<double> KernelPosterior::mean_slack(ConstMatrix x, const Matrix<double>& cross) const {
  Matrix<double> u = mean_function(x, parts_.transform);
  if (!u.empty()) gemm<double>(true, false, -1.0, cross, parts_.gain, 1.0, u);
  return u;
}

void KernelPosterior::variance(ConstMatrix x, MutMatrix out) const {
  std::vector<double> sums(static_cast<std::size_t>(x.rows));
  for (Index i = 0; i < x.rows; ++i) sums[static_cast<std::size_t>(i)] = value(parts_.kernel, x.row(i), x.row(i));
  Matrix<double> cross = gram_of(parts_.kernel, parts_.anchors, x);
  Matrix<double> slack = transposed(mean_slack(x, cross));
  solve_lower(parts_.factor, cross);
  add_column_squares(-1, cross, sums);
  if (variational()) {
    solve_lower(parts_.inner, cross);
    add_column_squares(1, cross, sums);
  }
  if (!slack.empty()) {
    solve_lower(parts_.mean_factor, slack);
    add_column_squares(1, slack, sums);
  }
  for (Index i = 0; i < x.rows; ++i) std::ranges::fill(out.row(i), std::max(sums[static_cast<std::size_t>(i)], 0.0));
}

Matrix<double> KernelPosterior::covariance(ConstMatrix x) const {
  Matrix<double> result = gram_of(parts_.kernel, x, x);
  Matrix<double> cross = gram_of(parts_.kernel, parts_.anchors, x);
  Matrix<double> slack = transposed(mean_slack(x, cross));
  solve_lower(parts_.factor, cross);
  gemm<double>(true, false, -1.0, cross, cross, 1.0, result);
  if (variational()) {
    solve_lower(parts_.inner, cross);
    gemm<double>(true, false, 1.0, cross, cross, 1.0, result);
  }
  if (!slack.empty()) {
    solve_lower(parts_.mean_factor, slack);
    gemm<double>(true, false, 1.0, slack, slack, 1.0, result);
  }
  return result;
}

/// A draw of the deviation from the posterior mean; `cross` is k(Z, x).
void KernelPosterior::deviation(ConstMatrix x, const Matrix<double>& cross, const Matrix<double>& slack,
                                const Stream& stream, std::span<double> out) const {
  const PriorFunction prior(parts_.kernel, x.cols, stream);
  Matrix<double> pull = normals(anchors(), stream.child("noise"));
  for (double& e : pull.values()) e *= std::sqrt(parts_.ridge);
  prior.add_to(parts_.anchors, pull.values());
  solve_lower(parts_.factor, pull);
  if (variational()) {
    Matrix<double> spread = normals(anchors(), stream.child("inducing"));
    solve_lower_transposed(parts_.inner, spread);
    for (Index j = 0; j < anchors(); ++j) pull(j, 0) -= spread(j, 0);
  }
  solve_lower_transposed(parts_.factor, pull);
  std::ranges::fill(out, 0.0);
  prior.add_to(x, out);
  const MutMatrix column(out.data(), x.rows, 1);
  gemm<double>(true, false, -1.0, cross, pull, 1.0, column);
  if (slack.empty()) return;
  Matrix<double> mean = normals(slack.cols(), stream.child("mean"));
  solve_lower_transposed(parts_.mean_factor, mean);
  gemm<double>(false, false, 1.0, slack, mean, 1.0, column);
}

void KernelPosterior::sample(ConstMatrix x, Index count, const Stream& stream, MutMatrix out) const {
  const Index p = outputs();
  Matrix<double> centre(x.rows, p);
  mean(x, centre);
  const Matrix<double> cross = gram_of(parts_.kernel, parts_.anchors, x);
  const Matrix<double> slack = mean_slack(x, cross);
  std::vector<double> f(static_cast<std::size_t>(x.rows));
  for (Index s = 0; s < count * p; ++s) {
    deviation(x, cross, slack, stream.child("function", static_cast<std::uint64_t>(s)), f);
    for (Index i = 0; i < x.rows; ++i) out(i, s) = centre(i, s % p) + f[static_cast<std::size_t>(i)];
  }
}

Matrix<double> KernelPosterior::reduction() const {
  if (!variational()) return inverse_of(parts_.factor);
  Matrix<double> middle = inverse_of(parts_.inner);  // I - B⁻¹
  for (double& b : middle.values()) b = -b;
  for (Index i = 0; i < anchors(); ++i) middle(i, i) += 1;
  solve_lower_transposed(parts_.factor, middle);
  Matrix<double> result = transposed(middle);
  solve_lower_transposed(parts_.factor, result);
  return result;
}

void fail_not_factored() {
  fail_argument(
      "the posterior of these rows cannot be factored: the noise is too small for the kernel; remove repeated rows");
}

}  // namespace mercer
