#pragma once
#include <mercer/progress.hpp>
#include <mercer/rows.hpp>

#include "solve/block_cg.hpp"
#include "solve/ridge.hpp"
#include "solve/statistics.hpp"

namespace mercer {

/// Ridge at the speed of a low-precision Gram matrix with the answer of the full one (THEORY 3): the Gram matrix, nearly all
/// of the work, is computed from features rounded to bfloat16 and serves only as a preconditioner; conjugate gradients on
/// the true operator, a few passes over the rows, do the rest. Cost: n·m² low-precision flops, and 4·n·m·p + the features
/// per pass.
class Refinement {
 public:
  /// One pass over the rows. They and the map must outlive this object.
  Refinement(const FeatureMap& map, RowSource& rows, bool intercept, Precision precision, Progress* progress);

  /// The normal equations: right-hand side, means and sums in full precision, the Gram matrix in low.
  const NormalSystem& system() const { return system_; }

  /// `solution.residual` says how far it got; a penalty below the error of the low-precision Gram may need more iterations
  /// than it is worth (most_iterations), and then the caller should fall back on a better Gram.
  RidgeSolution solve(double penalty, double tolerance, int iterations = most_iterations);

  static constexpr int most_iterations = 40;
  /// Leverages of the low-precision Gram, hence degrees of freedom, noise and leave-one-out errors, are not refined. Where
  /// the solution took at most so many iterations they are near the true ones: the trace within 1 % on the grid of
  /// docs/refinement.md, against up to seven times the truth beyond. 7 for a tolerance of 1e-10, 4 for 1e-6.
  static int faithful_iterations(double tolerance);
  /// The same for choosing a penalty by leave-one-out, which must see that smaller penalties are no better: every iteration
  /// gains two digits. 5 for a tolerance of 1e-10, 3 for 1e-6.
  static int choosing_iterations(double tolerance);

 private:
  struct Systems;
  Systems prepare(double ridge) const;

  NormalSystem system_;
  BlockOperator apply_;                                    ///< Σ w Φ~Φ~ᵀ v in full precision
  std::function<Matrix<double>(ConstMatrix)> gram_times_;  ///< Σ w φ~φ~ᵀ W
  Progress* progress_;
};

}  // namespace mercer
