#include "gp/exact_likelihood.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "gp/contraction.hpp"
#include "gp/factor.hpp"
#include "kernel/evaluate.hpp"
#include "kernel/tile.hpp"

namespace mercer {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Lower triangle of S⁻¹ := ½(p S⁻¹ - ααᵀ), the derivative of the likelihood in S.
void weigh(MutMatrix inverse, const Matrix<double>& alpha) {
  const auto outputs = static_cast<double>(alpha.cols());
  parallel_for(inverse.rows, [&](Index i) {
    double* row = inverse.data + i * inverse.stride;
    for (Index j = 0; j <= i; ++j) {
      double product = 0;
      for (Index a = 0; a < alpha.cols(); ++a) product += alpha(i, a) * alpha(j, a);
      row[j] = (outputs * row[j] - product) / 2;
    }
  });
}

}  // namespace

ExactLikelihood::ExactLikelihood(const Kernel& kernel, Matrix<double> x, Matrix<double> y, MeanForm mean)
    : coordinates_(kernel), x_(std::move(x)), y_(std::move(y)), basis_(mean, x_) {
  check_gram(kernel, x_, x_);
  if (x_.rows() != y_.rows() || y_.cols() == 0 || x_.rows() == 0) {
    fail_argument("a Gaussian process needs as many rows of targets as of inputs, and at least one; got " +
                  std::to_string(x_.rows()) + " rows of inputs and " + std::to_string(y_.rows()) + " × " +
                  std::to_string(y_.cols()) + " targets");
  }
  system_ = Matrix<double>(x_.rows(), x_.rows());
  work_ = Matrix<double>(x_.rows(), x_.rows());
}

std::vector<double> ExactLikelihood::start(const Kernel& kernel, double noise) const {
  std::vector<double> at = coordinates_.coordinates(kernel);
  at.push_back(std::log(noise));
  return at;
}

double ExactLikelihood::noise(std::span<const double> at) const {
  return std::exp(at[static_cast<std::size_t>(coordinates_.size())]);
}

/// system_ := L. Returns the jitter used, relative to tr K/n, or infinity.
double ExactLikelihood::factorise(const Kernel& kernel, double noise) {
  const Index n = x_.rows();
  const double mean_diagonal = diagonal_sum(kernel, x_) / static_cast<double>(n);
  for (const double jitter : {0.0, 1e-10, 1e-8, 1e-6}) {
    gram(kernel, x_, x_, system_);
    for (Index i = 0; i < n; ++i) system_(i, i) += noise + jitter * mean_diagonal;
    if (cholesky(system_) < 0 && std::isfinite(system_(n - 1, n - 1))) return jitter;
  }
  return infinity;
}

/// With U = L⁻¹[Y H] for the basis H: weights c = (U_HᵀU_H)⁻¹U_HᵀU_Y, α = L⁻ᵀ(U_Y - U_H c). Returns tr RᵀS⁻¹R.
double ExactLikelihood::fit_mean() {
  const Index n = x_.rows();
  const Index p = y_.cols();
  const Index r = basis_.columns().cols();
  Matrix<double> whitened(n, p + r);
  for (Index i = 0; i < n; ++i) {
    std::ranges::copy(y_.row(i), whitened.row(i).begin());
    std::ranges::copy(basis_.columns().row(i), whitened.row(i).begin() + p);
  }
  solve_lower(system_, whitened);
  alpha_ = Matrix<double>(whitened.view().col_range(0, p));
  mean_side_ = Matrix<double>(std::as_const(whitened).view().col_range(p, r));
  mean_factor_ = Matrix<double>(r, r);
  Matrix<double> weights(r, p);
  if (r > 0) {
    accumulate_gram<double>(mean_side_, mean_factor_);
    if (cholesky(mean_factor_) >= 0) return infinity;
    gemm<double>(true, false, 1.0, mean_side_, alpha_, 0.0, weights);
    cholesky_solve(mean_factor_, weights);
    gemm<double>(false, false, -1.0, mean_side_, weights, 1.0, alpha_);
  }
  const double fit = std::inner_product(alpha_.values().begin(), alpha_.values().end(), alpha_.values().begin(), 0.0);
  if (!std::isfinite(fit)) return infinity;
  solve_lower_transposed(system_, alpha_);
  mean_coefficients_ = basis_.coefficients(weights);
  return fit;
}

KernelPosterior ExactLikelihood::posterior(const Kernel& kernel, double noise) {
  const double jitter = factorise(kernel, noise);
  if (!std::isfinite(jitter) || !std::isfinite(fit_mean())) fail_not_factored();
  KernelPosteriorParts parts;
  parts.kernel = kernel;
  parts.noise = noise;
  parts.ridge = noise + jitter * diagonal_sum(kernel, x_) / static_cast<double>(x_.rows());
  parts.anchors = x_;
  parts.factor = system_;
  parts.coefficients = alpha_;
  parts.mean = mean_coefficients_;
  parts.transform = basis_.transform();
  parts.gain = mean_side_;
  solve_lower_transposed(parts.factor, parts.gain);
  parts.mean_factor = mean_factor_;
  return KernelPosterior(std::move(parts));
}

double ExactLikelihood::evaluate(std::span<const double> at, std::span<double> gradient) {
  std::ranges::fill(gradient, 0.0);
  const double v = noise(at);
  if (!coordinates_.is_defined(at.first(at.size() - 1)) || !std::isfinite(v)) return infinity;
  const Kernel k = kernel(at);
  const double jitter = factorise(k, v);
  if (!std::isfinite(jitter)) return infinity;
  const double fit = fit_mean();
  const auto n = static_cast<double>(x_.rows());
  const auto p = static_cast<double>(y_.cols());
  const double value = 0.5 * fit + 0.5 * p * (log_determinant(system_) + n * std::log(2 * std::numbers::pi));
  if (!std::isfinite(value)) return infinity;
  jitter_ = jitter;

  cholesky_inverse(system_, work_);
  weigh(system_, alpha_);
  double trace = 0;
  for (Index i = 0; i < x_.rows(); ++i) trace += system_(i, i);
  for (Index i = 0; i < x_.rows(); ++i) system_(i, i) += jitter * trace / n;
  const std::vector<double> slopes = contract_parameter_gradient(k, x_, x_, system_);
  coordinates_.chain(k, slopes, gradient.first(gradient.size() - 1));
  gradient.back() = v * trace;
  return value;
}

}  // namespace mercer
