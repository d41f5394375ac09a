#pragma once
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "base/matrix.hpp"
#include "solve/posterior.hpp"
#include "solve/statistics.hpp"

namespace mercer {

/// What a solver hands over: the function f(x) = φ(x)ᵀW + c, its spread, and how it was found.
struct RidgeSolution {
  Matrix<double> weights;         ///< columns × p: W_c = B_c θ_c
  std::vector<double> intercept;  ///< p
  std::vector<double> noise;      ///< p: residual variance estimate σ²_a
  double degrees_of_freedom = 0;  ///< trace of the hat matrix per output, mean over outputs, intercept included
  Posterior posterior;
  std::string solver;
  std::string gram;  ///< how the Gram matrix was computed when not in the precision asked for: "bf16 (AMX)"
  /// About how far variances and degrees of freedom, which come from that Gram matrix, may be off: a share of them.
  double coarseness = 0;
  std::string note;  ///< what had to be done differently, in one sentence; "" when nothing
  int iterations = 0;
  double residual = 0;          ///< relative residual of the normal equations (iterative solvers)
  double prediction_error = 0;  ///< of predictions of the rows learned from, relative, by refinement's own account
  double weight = 0;            ///< Σ w of the rows it was learned from
};

/// The decoupled form of constant couplings: with B = V√Γ (eigenvectors of A), channel j solves
/// (γ_j G + nλ I) θ_j = G-independent right-hand side (φᵀY B)_j.  THEORY 3.
struct Channels {
  Matrix<double> factor;     ///< B, p × p'
  std::vector<double> gain;  ///< γ_j = ‖B_j‖²
  Matrix<double> rhs;        ///< m × p': cross · B
  std::vector<Index> order;  ///< channels sorted so that equal gains are neighbours
};
Channels channels(const NormalSystem& system);
/// First channel of each run of equal gains in channels.order.
std::vector<std::vector<Index>> equal_gain_runs(const Channels& channels);
/// How many of them a constant coupling has; 1 for others, which are one system.
Index gain_count(const Coupling& coupling);

/// Of a Gram matrix, which has no negative eigenvalues: rounding leaves tiny ones.
Eigen gram_eigen(ConstMatrix gram);

/// Cholesky of the (structured) normal matrix; recovers by an eigenvalue solve when it is not positive definite.
RidgeSolution solve_cholesky(const NormalSystem& system, double penalty, Uncertainty keep);

/// Eigendecomposition of the scalar Gram (constant coupling) or of the full normal matrix: every penalty from one
/// decomposition.
class EigenSystem {
 public:
  explicit EigenSystem(const NormalSystem& system);
  RidgeSolution solve(double penalty, Uncertainty keep) const;

  const NormalSystem& system() const { return system_; }
  const Eigen& eigen() const { return eigen_; }
  /// Right-hand sides in the eigenbasis: m × p' for constant couplings, parameters × 1 otherwise.
  const Matrix<double>& rotated() const { return rotated_; }

 private:
  /// Noise and degrees of freedom of constant couplings whose functions run through nearly all points, which statistics do
  /// not tell: with V√ΛU the rows and c = Vᵀy, residuals are ridge/(γλ + ridge)·c and what is left of the rows
  /// Σ ridge/(γλ + ridge).
  void tell_little_noise(double ridge, const std::vector<double>& gain, RidgeSolution& solution) const;

  const NormalSystem& system_;
  Eigen eigen_;
  Matrix<double> rotated_;
};

/// Intercept, noise variances and degrees of freedom once solution.weights are known; `energy` is w_aᵀGw_a of every output,
/// and `trace` is tr(M⁻¹M₀) of the whole system (all outputs together).
void finish(const NormalSystem& system, std::span<const double> energy, double trace, RidgeSolution& solution);
/// The same, given Σ w r² of every output.
void finish_with_squares(const NormalSystem& system, std::span<const double> squares, double trace, RidgeSolution& solution);

}  // namespace mercer
