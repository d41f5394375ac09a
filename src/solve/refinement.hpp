#pragma once
#include <mercer/progress.hpp>
#include <mercer/rows.hpp>

#include "solve/block_cg.hpp"
#include "solve/low_gram.hpp"
#include "solve/ridge.hpp"
#include "solve/statistics.hpp"

namespace mercer {

/// Those that are faster than the one after them on this CPU, and than a Gram matrix in the precision of the passes, for
/// features of this map; in the order in which to try them.
std::vector<GramPrecision> worthwhile_grams(const FeatureMap& map, Precision passes, bool weighted_rows);

/// Ridge at the speed of a low-precision Gram matrix with the answer of the full one (THEORY 3): the Gram matrix, nearly all
/// of the work, is of low precision and serves only as a preconditioner; conjugate gradients on the true operator, a few
/// passes over the rows, do the rest. Cost: n·m² low-precision flops, and 4·n·m·p + the features per pass.
class Refinement {
 public:
  struct Setup {
    bool intercept = true;
    Precision passes = Precision::double_;  ///< of features and products on the rows: that of the answer
    GramPrecision gram = GramPrecision::bf16;
    Index memory_bytes = 0;  ///< features are kept between passes where they take no more
  };
  /// One pass over the rows. They and the map must outlive this object.
  Refinement(const FeatureMap& map, RowSource& rows, const Setup& setup, Progress* progress);

  /// The normal equations: right-hand side, means and sums in full precision, the Gram matrix in low.
  const NormalSystem& system() const { return system_; }

  /// Another Gram matrix: one more pass.
  void improve(GramPrecision gram);

  struct Wish {
    double penalty = 0;
    double tolerance = 1e-10;  ///< of the relative residual of the normal equations; a tenth of that of predictions
    int most_iterations = 40;
    /// Iterations from which on to give up where these will not do (BlockCgOptions), with a solution that has nothing but
    /// its residual, above tolerance^(2/3); 0: never.
    int patience = 0;
    Uncertainty keep = Uncertainty::none;
    /// Conjugate gradients in full precision to the end: their number tells how good the Gram matrix is.
    bool plain = false;
  };
  /// `solution.residual` says how far it got; a penalty below the error of the Gram matrix may need more iterations than it
  /// is worth, and then the caller should improve it. What is kept for standard deviations, degrees of freedom and noise
  /// are those of the Gram matrix at hand, which conjugate gradients measure on their way (`solution.coarseness`): where
  /// something is kept, on one more right-hand side of random signs, which sees directions that no row has.
  RidgeSolution solve(const Wish& wish);

  /// A penalty chosen by leave-one-out on the low-precision Gram matrix must see that smaller penalties are no better. It
  /// does where every iteration gains two digits (docs/refinement.md): 5 for a tolerance of 1e-10, 3 for 1e-6.
  static int choosing_iterations(double tolerance);

 private:
  struct Systems;
  struct Seen;
  Systems prepare(double ridge) const;
  /// Whether float, 2⁻²⁴ of the norm of the preconditioner (for which ‖·‖_F stands, some times as large), is finer than the
  /// ridge. Where it is not, a few iterations from b do not tell how good the preconditioner is.
  bool holds_ridge(const Systems& systems, double ridge) const;
  /// Mean ‖B_c‖² over the columns c, or the largest gain: ‖Φ(x)‖² beside ‖φ(x)‖².
  double coupling_square(const std::vector<double>& gain) const;
  double row_square(const Systems& systems) const;  ///< mean ‖Φ(x)‖²
  RoundingModel rounding_model(const Systems& systems) const;

  LowGram low_gram() const;
  GramPrecision gram_;
  const FeatureMap& map_;
  Index block_rows_ = 0;
  double unit_ = 0;  ///< of the rounding of passes
  double feature_square_ = 0;
  NormalSystem system_;
  /// Σ w Φ~Φ~ᵀ v in full precision, and what that was before the coupling (RowOperator::apply)
  std::function<void(ConstMatrix, MutMatrix, Matrix<double>*)> apply_;
  RoughOperator rough_;                                    ///< the same in float, where that is faster
  std::function<Matrix<double>(ConstMatrix)> gram_times_;  ///< Σ w φ~φ~ᵀ W
  std::function<void(LowGram&)> gather_;
  Progress* progress_;
};

}  // namespace mercer
