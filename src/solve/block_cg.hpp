#pragma once
#include <mercer/progress.hpp>

#include <functional>

#include "base/matrix.hpp"

namespace mercer {

using BlockOperator = std::function<void(ConstMatrix in, MutMatrix out)>;

/// How far an application of A to d is off, by roundings of unit u in features and sums that are as good as independent:
///     u·(norm·‖d‖ + energy·√(dᵀAd)).
struct RoundingModel {
  double unit = 0;  ///< of A; 0: not known
  double norm = 0;
  double energy = 0;
  BlockOperator rough;  ///< the same operator at the unit `rough_unit`, faster; or empty
  double rough_unit = 0;
};

struct BlockCgOptions {
  double tolerance = 1e-10;  ///< relative residual to reach, of every column
  int most_iterations = 2000;
  Index judged = -1;  ///< columns from the first on whose residuals count; -1: all. Others go along.
  RoundingModel rounding = {};
};

struct BlockCgOutcome {
  int iterations = 0;
  int rough = 0;  ///< of them
  /// max over columns of ‖b - Ax‖/‖b‖: by a last application of A, or, where the rounding model vouches for it, that of the
  /// recurrence and what it may be off. May be NaN.
  double residual = 0;
  bool vouched = false;   ///< the latter; `image` is then b less the residual of the recurrence
  bool rounding = false;  ///< A is not applied precisely enough for more
  /// The least and the largest eigenvalue of M⁻¹A (M the preconditioner) that the iterations saw, by Lanczos' tridiagonal
  /// matrices: how well M stands for A, for any other use of it. From inside of the true spectrum; 1 and 1 without
  /// iterations.
  double least_ritz = 1;
  double largest_ritz = 1;
  Matrix<double> image;  ///< A x
};

/// Preconditioned conjugate gradients for independent symmetric positive definite systems side by side: column k of x starts
/// at 0 and goes to A_k⁻¹ b_k, with one application of all A_k per iteration.
/// The residual of the recurrence and the true one drift apart by the rounding of A. The true one is looked at every 25
/// iterations: when it lags far behind without falling, precision is exhausted. Where the recurrence claims to be done and
/// is not, iterations start again from the truth.
/// With a rounding model the drift is bounded instead of looked at: the recurrence errs by what every application did, and a
/// small step may err more (relatively) than a large one. So the first applications are precise, later ones rough, and none
/// is spent on the residual as long as the bound leaves the tolerance its place (inexact Krylov methods: Simoncini and
/// Szyld, SIAM J. Sci. Comput. 25, 2003).
BlockCgOutcome block_cg(const BlockOperator& apply, const BlockOperator& precondition, ConstMatrix targets, MutMatrix x,
                        const BlockCgOptions& options, Progress* progress);

}  // namespace mercer
