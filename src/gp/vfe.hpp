#pragma once
#include <mercer/kernel.hpp>

#include <vector>

#include "base/matrix.hpp"
#include "base/random.hpp"
#include "gp/kernel_coordinates.hpp"
#include "gp/kernel_posterior.hpp"
#include "gp/mean_basis.hpp"
#include "gp/objective.hpp"

namespace mercer {

/// Titsias' variational bound (2009) on the likelihood of ExactLikelihood, through M inducing inputs Z:
///     -log N(Y | mean, Q + vI) + (p/2v) tr(K - Q),   Q = K_xz K_zz⁻¹ K_zx,
/// never below the negative log marginal likelihood, and equal to it when Z holds all rows. The mean is profiled out by
/// generalised least squares under Q + vI. Coordinates: those of the kernel, log v, then Z row by row unless it is fixed.
/// 5nM² flops, 2nM numbers of memory.
///
/// K_zz always gets jitter·(tr K_zz/M)·I, jitter = 1e-10, 1e-8, 1e-6 in turn until it factorises (its derivative included):
/// inducing values seen through that much noise, so that the bound stays a bound. Beyond, or where a parameter or an entry
/// overflows, the value is infinite.
class VariationalBound : public Objective {
 public:
  enum class Inducing { fixed, learned };
  VariationalBound(const Kernel& kernel, Matrix<double> x, Matrix<double> y, MeanForm mean, Matrix<double> z,
                   Inducing inducing);

  Index size() const override;
  double evaluate(std::span<const double> at, std::span<double> gradient) override;

  /// The variational posterior at that kernel, noise and inducing inputs; throws Error where it cannot be factored.
  KernelPosterior posterior(const Kernel& kernel, double noise, const Matrix<double>& z);

  const KernelCoordinates& kernel_coordinates() const { return coordinates_; }
  /// Coordinates from a kernel, a noise and the inducing inputs given to the constructor.
  std::vector<double> start(const Kernel& kernel, double noise) const;
  Kernel kernel(std::span<const double> at) const;
  double noise(std::span<const double> at) const;
  Matrix<double> inducing(std::span<const double> at) const;
  /// Of the last evaluation with a finite value, as in ExactLikelihood.
  const Matrix<double>& mean_coefficients() const { return mean_coefficients_; }
  double jitter() const { return jitter_; }

 private:
  struct Parts;
  bool factorise(const Kernel& kernel, ConstMatrix z, double noise, Parts& parts);
  double fit(double noise, Parts& parts);
  void differentiate(const Kernel& kernel, ConstMatrix z, double noise, Parts& parts, std::span<double> gradient);

  KernelCoordinates coordinates_;
  Matrix<double> x_;
  Matrix<double> y_;
  MeanBasis basis_;
  Matrix<double> z_;
  Inducing inducing_;
  Matrix<double> projected_;  ///< A = L⁻¹K_zx, M × n, K_zz = LLᵀ
  Matrix<double> weights_;    ///< the derivative of the bound in K_zx, M × n
  Matrix<double> mean_coefficients_;
  double jitter_ = 0;
};

/// Up to M rows of x spread over it: the first at random, each further one drawn with probability proportional to its
/// squared distance to the nearest chosen one (k-means++), inputs scaled by their spread. Fewer when there are fewer
/// different rows. O(n·M·d).
std::vector<Index> choose_inducing(ConstMatrix x, Index most, const Stream& stream);

}  // namespace mercer
