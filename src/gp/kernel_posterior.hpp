#pragma once
#include <mercer/kernel.hpp>

#include <span>
#include <utility>

#include "base/matrix.hpp"
#include "base/random.hpp"
#include "gp/mean_basis.hpp"

namespace mercer {

/// The numbers of an exact or variational posterior. r: functions in the basis of the mean.
struct KernelPosteriorParts {
  Kernel kernel;
  double noise = 0;             ///< v
  double ridge = 0;             ///< what the diagonal of the factorised Gram matrix has besides the kernel
  Matrix<double> anchors;       ///< Z, m × d: the rows themselves, or inducing inputs
  Matrix<double> factor;        ///< L, lower: LLᵀ = k(Z, Z) + ridge·I
  Matrix<double> inner;         ///< L_B of a variational posterior, lower; empty for an exact one
  Matrix<double> coefficients;  ///< m × p
  Matrix<double> mean;          ///< b_0, b_1, … of the mean as rows (0, 1 or 1 + d), a column for each output
  Matrix<double> transform;     ///< (0, 1 or 1 + d) × r: h(x) = [1 x]·transform is an orthonormal basis of the means
  Matrix<double> gain;          ///< G, m × r
  Matrix<double> mean_factor;   ///< lower Cholesky factor of N = HᵀS⁻¹H, r × r
};

/// The posterior of a Gaussian process with given kernel and noise, outputs independent of each other, the mean under a flat
/// prior (Rasmussen and Williams 2.7):
///     E f(x) = m(x) + k(x, Z)C,   Var f(x) = k(x, x) - k(x, Z) W k(Z, x) + u N⁻¹ uᵀ,   u = h(x) - k(x, Z)G.
/// Exact: Z the rows, S = K + vI = LLᵀ, W = S⁻¹, C = S⁻¹R, G = S⁻¹H, N = HᵀS⁻¹H.
/// Variational (Titsias 2009): K_zz = LLᵀ, A = L⁻¹K_zx, B = I + AAᵀ/v, S = AᵀA + vI, W = K_zz⁻¹ - (K_zz + K_zxK_xz/v)⁻¹ =
/// L⁻ᵀ(I - B⁻¹)L⁻¹, C = K_zz⁻¹K_zx S⁻¹R, G = K_zz⁻¹K_zx S⁻¹H.
class KernelPosterior {
 public:
  explicit KernelPosterior(KernelPosteriorParts parts) : parts_(std::move(parts)) {}

  const KernelPosteriorParts& parts() const { return parts_; }
  Index outputs() const { return parts_.coefficients.cols(); }
  Index anchors() const { return parts_.anchors.rows(); }
  double noise() const { return parts_.noise; }
  bool variational() const { return !parts_.inner.empty(); }

  /// The same kernel, noise, form of the mean and inducing inputs, given other rows.
  KernelPosterior conditioned_on(ConstMatrix x, ConstMatrix y) const;

  void mean(ConstMatrix x, MutMatrix out) const;
  /// Var f, the same for every output. O(rows m²).
  void variance(ConstMatrix x, MutMatrix out) const;
  /// Cov(f(x_i), f(x_j)) of one output.
  Matrix<double> covariance(ConstMatrix x) const;

  /// `count` functions drawn from the posterior: out(i, s·p + a) is output a of function s, and the same function wherever
  /// it is asked for. Matheron's rule (Wilson et al. 2020): with f a draw of the prior made of Fourier features,
  ///     f(x) - k(x, Z)(LLᵀ)⁻¹(f(Z) + √ridge ε) [+ k(x, Z)L⁻ᵀL_B⁻ᵀξ] + u N^{-T/2}ζ
  /// has mean 0 and the covariance of the posterior exactly, since each function has frequencies of its own; it is Gaussian
  /// up to the finite number of features. O(m² + (rows + m)(features + m)) a function.
  void sample(ConstMatrix x, Index count, const Stream& stream, MutMatrix out) const;

  /// W, m × m.
  Matrix<double> reduction() const;

 private:
  Matrix<double> mean_slack(ConstMatrix x, const Matrix<double>& cross) const;
  void deviation(ConstMatrix x, const Matrix<double>& cross, const Matrix<double>& slack, const Stream& stream,
                 std::span<double> out) const;

  KernelPosteriorParts parts_;
};

/// The error of a posterior that has no Cholesky factor.
[[noreturn]] void fail_not_factored();

}  // namespace mercer
