#pragma once
#include <mercer/progress.hpp>

#include <functional>
#include <limits>
#include <vector>

#include "base/matrix.hpp"
#include "solve/drift.hpp"
#include "solve/sampled_errors.hpp"

namespace mercer {

/// A less precise A, and what every column of `out` may be off by.
using RoughOperator = std::function<SampledErrors(ConstMatrix in, MutMatrix out)>;

struct BlockCgOptions {
  double tolerance = 1e-10;  ///< relative residual to reach, of every column
  int most_iterations = 2000;
  /// Iterations from which on to give up where `most_iterations` will not do at one and a half times the pace so far, in ‖r‖
  /// or in √(rᵀM⁻¹r), whichever fell faster; 0: never. Preconditioners that are good but for a few directions may begin as
  /// slowly: what is lost is time.
  int patience = 0;
  Index judged = -1;  ///< columns from the first on whose residuals count; -1: all. Others go along.
  bool alike = true;  ///< all A_k are the same, and what is seen of one is known of the others
  RoundingModel rounding = {};
  RoughOperator rough = {};  ///< for most iterations, where given
  /// b - Ax in the judged columns, Ax in the others. Where given, b itself is not known, and x starts at M⁻¹ of the
  /// `targets`: where M and they are of one rounded problem, that is far nearer than M⁻¹b.
  BlockOperator residual = {};
  RoughOperator rough_residual = {};  ///< goes with `rough`
  bool foresee = true;                ///< with a rounding model: spare the very last application, see below
  /// What √(rᵀM⁻¹r/xᵀb) is to go down to as well, as far as roundings let it; infinite: whatever it is. Where A is least
  /// definite, small residuals stand for large errors. With A = ZᵀZ + ridge and M near A, this is how far Zx is off,
  /// relative to √(‖Zx‖² + ridge‖x‖²).
  double energy_tolerance = std::numeric_limits<double>::infinity();
  double least_eigenvalue = 0;  ///< that A is known to have: the most a drift can do to the energy; 0: not known
  /// What is taken for the energy is no less than this times ‖M⁻¹r‖/√(xᵀb): how far x itself is off, where that matters
  /// although A hardly sees it.
  double solution_share = 0;
  double most_ratio = 1;  ///< of M to A: where M was shifted, A⁻¹ may be so much more than M⁻¹
};

struct BlockCgOutcome {
  int iterations = 0;  ///< applications of A that led on
  int rough = 0;       ///< of them
  /// max over columns of ‖b - Ax‖/‖b‖: by a last application of A, or, where roundings are known, that of the recurrence (or
  /// what the last step leaves of it) and what it may be off. May be NaN.
  double residual = 0;
  double energy = 0;      ///< max over columns of √(rᵀM⁻¹r/xᵀb), likewise
  bool vouched = false;   ///< the latter; `image` is then b less the residual of the recurrence, or b itself
  bool rounding = false;  ///< A is not applied precisely enough for more
  bool gave_up = false;   ///< for want of pace: x is no solution, `image` not A x, and `residual` that of the recurrence
  /// The least and the largest eigenvalue of M⁻¹A (M the preconditioner) that the iterations saw, by Lanczos' tridiagonal
  /// matrices: how well M stands for A, for any other use of it. From inside of the true spectrum; 1 and 1 without
  /// iterations.
  double least_ritz = 1;
  double largest_ritz = 1;
  double gain = 0;       ///< the most that any iteration, or the start, has left of √(rᵀM⁻¹r)
  Matrix<double> image;  ///< A x
};

/// Preconditioned conjugate gradients for independent symmetric positive definite systems side by side: column k of x starts
/// at 0, or as options.residual has it, and goes to A_k⁻¹ b_k, with one application of all A_k per iteration.
/// The residual of the recurrence and the true one drift apart by the rounding of A. The true one is looked at every 25
/// iterations: when it lags far behind without falling, precision is exhausted. Where the recurrence claims to be done and
/// is not, iterations start again from the truth.
///
/// Where a tolerance of the energy is given, iterations go on below that of the residual until it is reached or the energy
/// of true residuals no longer falls.
///
/// Where roundings are known, the drift is bounded instead of looked at, and two things become possible:
/// - iterative refinement: applications are rough until the drift of those to come is foreseen to be harmless, or that so
///   far is more than the next of them would leave, and that would not do; then A x itself
///   is computed precisely, at the x of the step that would have come next, and conjugate gradients start again from its
///   residual. One such application in three to six is enough, and one there must be (inner and outer iterations: Golub and
///   Ye, SIAM J. Sci. Comput. 21, 1999).
/// - the last application is spared: it would only tell how small the residual is after a step whose direction is known and
///   whose length is nearly that of the one before. With γ the most that any iteration left of rᵀM⁻¹r (its root) and ρ the
///   largest ‖r‖ beside that root, cγρ√(rᵀM⁻¹r) is what is claimed of the step, c = 4.6 after two steps of one column, 3
///   after more of them, 1.6 for three or more columns that are perpendicular.
BlockCgOutcome block_cg(const BlockOperator& apply, const BlockOperator& precondition, ConstMatrix targets, MutMatrix x,
                        const BlockCgOptions& options, Progress* progress);

}  // namespace mercer
