#pragma once
#include <mercer/progress.hpp>

#include <functional>

#include "base/matrix.hpp"

namespace mercer {

struct BlockCgOptions {
  double tolerance = 1e-10;  ///< relative residual to reach, of every column
  int most_iterations = 2000;
  Index judged = -1;  ///< columns from the first on whose residuals count; -1: all. Others go along.
};

struct BlockCgOutcome {
  int iterations = 0;
  double residual = 0;    ///< max over columns of ‖b - Ax‖/‖b‖, as computed by a last application of A; may be NaN
  bool rounding = false;  ///< A is not applied precisely enough for more
  /// The least and the largest eigenvalue of M⁻¹A (M the preconditioner) that the iterations saw, by Lanczos' tridiagonal
  /// matrices: how well M stands for A, for any other use of it. From inside of the true spectrum; 1 and 1 without
  /// iterations.
  double least_ritz = 1;
  double largest_ritz = 1;
  Matrix<double> image;  ///< A x
};

using BlockOperator = std::function<void(ConstMatrix in, MutMatrix out)>;

/// Preconditioned conjugate gradients for independent symmetric positive definite systems side by side: column k of x starts
/// at 0 and goes to A_k⁻¹ b_k, with one application of all A_k per iteration.
/// The residual of the recurrence and the true one drift apart by the rounding of A. The true one is looked at every 25
/// iterations: when it lags far behind without falling, precision is exhausted. Where the recurrence claims to be done and
/// is not, iterations start again from the truth.
BlockCgOutcome block_cg(const BlockOperator& apply, const BlockOperator& precondition, ConstMatrix targets, MutMatrix x,
                        const BlockCgOptions& options, Progress* progress);

}  // namespace mercer
