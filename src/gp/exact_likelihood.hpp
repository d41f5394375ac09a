#pragma once
#include <mercer/kernel.hpp>

#include "base/matrix.hpp"
#include "gp/kernel_coordinates.hpp"
#include "gp/kernel_posterior.hpp"
#include "gp/mean_basis.hpp"
#include "gp/objective.hpp"

namespace mercer {

/// The negative log marginal likelihood of targets Y (n × p, outputs independent, one kernel and one noise for all) at rows
/// x, S = K + vI, residual R = Y - M with the mean M at its generalised least-squares estimate:
///     ½ tr RᵀS⁻¹R + (p/2) log|S| + (np/2) log 2π.
/// Coordinates: those of the kernel, then log v. Gradient ½ tr((p S⁻¹ - S⁻¹RRᵀS⁻¹) ∂S) (the mean needs no term: it is
/// optimal). n³ flops and one derivative a pair and parameter; 2n² numbers of memory.
///
/// Where S is not positive definite in floating point, jitter·(tr K/n)·I is added, jitter = 1e-10, 1e-8, 1e-6 in turn (its
/// own derivative included); beyond, or where a parameter or an entry overflows, the value is infinite.
class ExactLikelihood : public Objective {
 public:
  /// `kernel` gives the form, and the parameters held at 0 (see KernelCoordinates).
  ExactLikelihood(const Kernel& kernel, Matrix<double> x, Matrix<double> y, MeanForm mean);

  Index size() const override { return coordinates_.size() + 1; }
  double evaluate(std::span<const double> at, std::span<double> gradient) override;

  /// The process of that kernel and noise given the rows; throws Error where it cannot be factored.
  KernelPosterior posterior(const Kernel& kernel, double noise);

  const KernelCoordinates& kernel_coordinates() const { return coordinates_; }
  std::vector<double> start(const Kernel& kernel, double noise) const;
  Kernel kernel(std::span<const double> at) const { return coordinates_.kernel(at.first(at.size() - 1)); }
  double noise(std::span<const double> at) const;
  /// Of the last evaluation with a finite value: b_0, b_1, … as rows, a column for each output (no rows without a mean), and
  /// the jitter that was needed.
  const Matrix<double>& mean_coefficients() const { return mean_coefficients_; }
  double jitter() const { return jitter_; }

 private:
  double factorise(const Kernel& kernel, double noise);
  double fit_mean();

  KernelCoordinates coordinates_;
  Matrix<double> x_;
  Matrix<double> y_;
  MeanBasis basis_;
  Matrix<double> system_;  ///< S, then L, then S⁻¹, then the weights
  Matrix<double> work_;
  Matrix<double> alpha_;        ///< S⁻¹R
  Matrix<double> mean_side_;    ///< L⁻¹H for the basis H of the mean, n × r
  Matrix<double> mean_factor_;  ///< Cholesky of HᵀS⁻¹H
  Matrix<double> mean_coefficients_;
  double jitter_ = 0;
};

}  // namespace mercer
