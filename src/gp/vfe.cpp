#include "gp/vfe.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "gp/contraction.hpp"
#include "gp/factor.hpp"
#include "kernel/evaluate.hpp"
#include "kernel/tile.hpp"

// With K_zz = LLᵀ, A = L⁻¹K_zx, B = I + AAᵀ/v = L_B L_Bᵀ and R the residual of the mean:
//   log|Q + vI| = log|B| + n log v,   tr Q = ‖A‖²,
//   u = B⁻¹AR/v,  r = R - Aᵀu,  α = (Q + vI)⁻¹R = r/v,  RᵀαR = ‖r‖²/v + ‖u‖²  (no difference of large numbers).
// Derivatives of the bound, c = L⁻ᵀAα = K_zz⁻¹K_zx α:
//   in K_zx: -(p/v) L⁻ᵀ(I - B⁻¹)A - cαᵀ,   in K_zz: (p/2) L⁻ᵀ(B - 2I + B⁻¹)L⁻¹ + ½ccᵀ,   in each k(x, x): p/2v,
//   in v: ½(p tr(Q + vI)⁻¹ - ‖α‖²) - (p/2v²) tr(K - Q),  tr(Q + vI)⁻¹ = (n - M + tr B⁻¹)/v.

namespace mercer {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double square_norm(const Matrix<double>& a) {
  double sum = 0;
  for (Index i = 0; i < a.rows(); ++i) {  // by rows: one long sum would lose digits
    double part = 0;
    for (const double v : a.row(i)) part += v * v;
    sum += part;
  }
  return sum;
}

Matrix<double> product(bool transpose_a, ConstMatrix a, ConstMatrix b) {
  Matrix<double> c(transpose_a ? a.cols : a.rows, b.cols);
  gemm<double>(transpose_a, false, 1.0, a, b, 0.0, c);
  return c;
}

Matrix<double> side_by_side(const Matrix<double>& a, const Matrix<double>& b) {
  Matrix<double> result(a.rows(), a.cols() + b.cols());
  for (Index i = 0; i < a.rows(); ++i) {
    std::ranges::copy(a.row(i), result.row(i).begin());
    std::ranges::copy(b.row(i), result.row(i).begin() + a.cols());
  }
  return result;
}

}  // namespace

struct VariationalBound::Parts {
  Matrix<double> l;            ///< lower factor of K_zz and its jitter
  Matrix<double> inner;        ///< B, both triangles
  Matrix<double> l_inner;      ///< L_B
  Matrix<double> alpha;        ///< n × p
  Matrix<double> shrunk;       ///< u, M × p
  Matrix<double> mean_side;    ///< L_B⁻¹AH for the basis H of the mean, M × r
  Matrix<double> mean_factor;  ///< Cholesky of v Hᵀ(Q + vI)⁻¹H
  double jitter = 0;
  double ridge = 0;      ///< jitter·tr K_zz/M
  double trace_gap = 0;  ///< tr(K - Q)
};

VariationalBound::VariationalBound(const Kernel& kernel, Matrix<double> x, Matrix<double> y, MeanForm mean, Matrix<double> z,
                                   Inducing inducing)
    : coordinates_(kernel),
      x_(std::move(x)),
      y_(std::move(y)),
      basis_(mean, x_),
      z_(std::move(z)),
      inducing_(inducing),
      projected_(z_.rows(), x_.rows()),
      weights_(z_.rows(), x_.rows()) {
  check_gram(kernel, x_, z_);
  if (x_.rows() != y_.rows() || y_.cols() == 0 || x_.rows() == 0) {
    fail_argument("a Gaussian process needs as many rows of targets as of inputs, and at least one; got " +
                  std::to_string(x_.rows()) + " rows of inputs and " + std::to_string(y_.rows()) + " × " +
                  std::to_string(y_.cols()) + " targets");
  }
  if (z_.rows() == 0) fail_argument("the variational bound needs at least one inducing input");
}

Index VariationalBound::size() const {
  return coordinates_.size() + 1 + (inducing_ == Inducing::learned ? z_.size() : 0);
}

std::vector<double> VariationalBound::start(const Kernel& kernel, double noise) const {
  std::vector<double> at = coordinates_.coordinates(kernel);
  at.push_back(std::log(noise));
  if (inducing_ == Inducing::learned) at.insert(at.end(), z_.values().begin(), z_.values().end());
  return at;
}

Kernel VariationalBound::kernel(std::span<const double> at) const {
  return coordinates_.kernel(at.first(static_cast<std::size_t>(coordinates_.size())));
}

double VariationalBound::noise(std::span<const double> at) const {
  return std::exp(at[static_cast<std::size_t>(coordinates_.size())]);
}

Matrix<double> VariationalBound::inducing(std::span<const double> at) const {
  Matrix<double> z = z_;
  if (inducing_ == Inducing::learned) {
    std::ranges::copy(at.subspan(static_cast<std::size_t>(coordinates_.size()) + 1), z.data());
  }
  return z;
}

/// L, A (into projected_), B and L_B. False when something is not positive definite.
bool VariationalBound::factorise(const Kernel& kernel, ConstMatrix z, double noise, Parts& parts) {
  const Index m = z.rows;
  const double mean_diagonal = diagonal_sum(kernel, z) / static_cast<double>(m);
  parts.l = Matrix<double>(m, m);
  bool factored = false;
  for (const double jitter : {1e-10, 1e-8, 1e-6}) {
    gram(kernel, z, z, parts.l);
    for (Index i = 0; i < m; ++i) parts.l(i, i) += jitter * mean_diagonal;
    parts.jitter = jitter;
    parts.ridge = jitter * mean_diagonal;
    factored = cholesky(parts.l) < 0 && std::isfinite(parts.l(m - 1, m - 1));
    if (factored) break;
  }
  if (!factored) return false;
  gram(kernel, z, x_, projected_);
  solve_lower(parts.l, projected_);
  parts.inner = Matrix<double>(m, m);
  gemm<double>(false, true, 1 / noise, projected_, projected_, 0.0, parts.inner);
  for (Index i = 0; i < m; ++i) parts.inner(i, i) += 1;
  parts.l_inner = parts.inner;
  parts.trace_gap = diagonal_sum(kernel, x_) - square_norm(projected_);
  return cholesky(parts.l_inner) < 0 && std::isfinite(parts.trace_gap);
}

/// The mean's weights, then α. Returns tr Rᵀ(Q + vI)⁻¹R.
double VariationalBound::fit(double noise, Parts& parts) {
  const Index p = y_.cols();
  const Index r = basis_.columns().cols();
  const Matrix<double> both = side_by_side(y_, basis_.columns());
  Matrix<double> whitened = product(false, projected_, both);  // L_B⁻¹A[Y H]
  solve_lower(parts.l_inner, whitened);
  Matrix<double> weights(r, p);
  Matrix<double> residual = y_;
  Matrix<double>& shrunk = parts.shrunk;
  shrunk = Matrix<double>(std::as_const(whitened).view().col_range(0, p));
  parts.mean_side = Matrix<double>(std::as_const(whitened).view().col_range(p, r));
  parts.mean_factor = Matrix<double>(r, r);
  if (r > 0) {
    const Matrix<double>& side = parts.mean_side;
    parts.mean_factor = product(true, basis_.columns(), basis_.columns());
    gemm<double>(true, false, -1 / noise, side, side, 1.0, parts.mean_factor);
    weights = product(true, basis_.columns(), y_);
    gemm<double>(true, false, -1 / noise, side, shrunk, 1.0, weights);
    if (cholesky(parts.mean_factor) >= 0) return infinity;
    cholesky_solve(parts.mean_factor, weights);
    gemm<double>(false, false, -1.0, basis_.columns(), weights, 1.0, residual);
    gemm<double>(false, false, -1.0, side, weights, 1.0, shrunk);
  }
  solve_lower_transposed(parts.l_inner, shrunk);
  for (double& v : shrunk.values()) v /= noise;
  parts.alpha = std::move(residual);
  gemm<double>(true, false, -1.0, projected_, shrunk, 1.0, parts.alpha);
  const double value = square_norm(parts.alpha) / noise + square_norm(shrunk);
  for (double& v : parts.alpha.values()) v /= noise;
  if (std::isfinite(value)) mean_coefficients_ = basis_.coefficients(weights);
  return value;
}

KernelPosterior VariationalBound::posterior(const Kernel& kernel, double noise, const Matrix<double>& z) {
  Parts parts;
  if (!factorise(kernel, z, noise, parts) || !std::isfinite(fit(noise, parts))) fail_not_factored();
  KernelPosteriorParts result;
  result.kernel = kernel;
  result.noise = noise;
  result.ridge = parts.ridge;
  result.anchors = z;
  result.coefficients = std::move(parts.shrunk);  // L⁻ᵀu = K_zz⁻¹K_zx α
  solve_lower_transposed(parts.l, result.coefficients);
  result.mean = mean_coefficients_;
  result.transform = basis_.transform();
  result.gain = std::move(parts.mean_side);
  solve_lower_transposed(parts.l_inner, result.gain);
  solve_lower_transposed(parts.l, result.gain);
  for (double& g : result.gain.values()) g /= noise;
  result.mean_factor = std::move(parts.mean_factor);
  for (double& value : result.mean_factor.values()) value /= std::sqrt(noise);
  result.factor = std::move(parts.l);
  result.inner = std::move(parts.l_inner);
  return KernelPosterior(std::move(result));
}

void VariationalBound::differentiate(const Kernel& kernel, ConstMatrix z, double noise, Parts& parts,
                                     std::span<double> gradient) {
  const Index m = z.rows;
  const auto n = static_cast<double>(x_.rows());
  const auto p = static_cast<double>(y_.cols());
  Matrix<double> inverse = parts.l_inner;  // B⁻¹
  Matrix<double> work(m, m);
  cholesky_inverse(inverse, work);
  mirror_lower(inverse);
  double trace = 0;
  for (Index i = 0; i < m; ++i) trace += inverse(i, i);
  Matrix<double> shrink(m, m);  // L⁻ᵀ(I - B⁻¹)
  Matrix<double> middle(m, m);  // L⁻ᵀ(B - 2I + B⁻¹)L⁻¹
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < m; ++j) {
      const double unit = i == j ? 1 : 0;
      shrink(i, j) = unit - inverse(i, j);
      middle(i, j) = parts.inner(i, j) - 2 * unit + inverse(i, j);
    }
  }
  solve_lower_transposed(parts.l, shrink);
  solve_lower_transposed(parts.l, middle);
  Matrix<double> square = transposed(middle);
  solve_lower_transposed(parts.l, square);
  Matrix<double> c = product(false, projected_, parts.alpha);
  solve_lower_transposed(parts.l, c);

  gemm<double>(false, false, -p / noise, shrink, projected_, 0.0, weights_);
  gemm<double>(false, true, -1.0, c, parts.alpha, 1.0, weights_);
  gemm<double>(false, true, 0.5, c, c, 0.5 * p, square);
  double jitter_slope = 0;
  for (Index i = 0; i < m; ++i) jitter_slope += square(i, i);
  for (Index i = 0; i < m; ++i) square(i, i) += parts.jitter * jitter_slope / static_cast<double>(m);

  const Contraction cross = contract_gradient(kernel, z, x_, weights_);
  const Contraction inner = contract_gradient(kernel, z, z, square);
  std::vector<double> slopes = diagonal_parameter_gradient(kernel, x_);
  for (std::size_t k = 0; k < slopes.size(); ++k) {
    slopes[k] = cross.parameters[k] + inner.parameters[k] + p / (2 * noise) * slopes[k];
  }
  const auto own = static_cast<std::size_t>(coordinates_.size());
  coordinates_.chain(kernel, slopes, gradient.first(own));
  const double in_noise = 0.5 * (p * (n - static_cast<double>(m) + trace) / noise - square_norm(parts.alpha)) -
                          p / (2 * noise * noise) * parts.trace_gap;
  gradient[own] = noise * in_noise;
  if (inducing_ == Inducing::fixed) return;
  // Z enters K_zz on both sides: twice the derivative in the first.
  for (Index i = 0; i < z_.size(); ++i) {
    gradient[own + 1 + static_cast<std::size_t>(i)] = cross.inputs.data()[i] + 2 * inner.inputs.data()[i];
  }
}

double VariationalBound::evaluate(std::span<const double> at, std::span<double> gradient) {
  std::ranges::fill(gradient, 0.0);
  const double v = noise(at);
  if (!coordinates_.is_defined(at.first(static_cast<std::size_t>(coordinates_.size()))) || !std::isfinite(v) || !(v > 0)) {
    return infinity;
  }
  const Kernel k = kernel(at);
  const Matrix<double> z = inducing(at);
  if (!std::ranges::all_of(z.values(), [](double entry) { return std::isfinite(entry); })) return infinity;
  Parts parts;
  if (!factorise(k, z, v, parts)) return infinity;
  const auto n = static_cast<double>(x_.rows());
  const auto p = static_cast<double>(y_.cols());
  const double value = 0.5 * fit(v, parts) +
                       0.5 * p * (log_determinant(parts.l_inner) + n * std::log(2 * std::numbers::pi * v)) +
                       p / (2 * v) * parts.trace_gap;
  if (!std::isfinite(value)) return infinity;
  jitter_ = parts.jitter;
  differentiate(k, z, v, parts, gradient);
  return value;
}

}  // namespace mercer
