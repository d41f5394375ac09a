#pragma once
#include <mercer/progress.hpp>
#include <mercer/rows.hpp>

#include "solve/block_cg.hpp"
#include "solve/low_gram.hpp"
#include "solve/preconditioned_systems.hpp"
#include "solve/ridge.hpp"
#include "solve/row_operator.hpp"
#include "solve/statistics.hpp"

namespace mercer {

/// Those that are faster than the one after them on this CPU, and than a Gram matrix in the precision of the passes, for
/// features of this map; in the order in which to try them.
std::vector<GramPrecision> worthwhile_grams(const FeatureMap& map, Precision passes, bool weighted_rows);

/// Ridge at the speed of a low-precision Gram matrix with the answer of the full one (THEORY 3): the Gram matrix, nearly all
/// of the work, is of low precision and serves only as a preconditioner; conjugate gradients on the true operator, a few
/// passes over the rows, do the rest. Cost: n·m² low-precision flops, and 4·n·m·p + the features per pass.
///
/// Features with bounds: the right-hand side is of the rounded rows too, in the first place, and with the Gram matrix that
/// of an ordinary problem. Its solution x, a ridge fit of rounded features, is far nearer to the true one than M⁻¹b with the
/// b of true features: with N = what is rounded off, b - Ax is Nᵀ(y - Φx) up to small terms, not NᵀΦx. Passes begin with
/// what x leaves of the targets, and b is computed only where that is more than a tenth of it; the first one computes its
/// features in float.
class Refinement {
 public:
  struct Setup {
    bool intercept = true;
    Precision passes = Precision::double_;  ///< of features and products on the rows: that of the answer
    GramPrecision gram = GramPrecision::bf16;
    /// Features are kept between passes where they take no more, unless passes begin with rounded rows.
    Index memory_bytes = 0;
    /// The right-hand side exactly and conjugate gradients in full precision to the end: their number tells how good the
    /// Gram matrix is.
    bool plain = false;
    /// Systems of several gains have a factor each where these take no more, or else share an eigenbasis, which takes as
    /// long as fifty of them and more.
    Index factor_bytes = Index{1} << 30;
  };
  /// One pass over the rows. They and the map must outlive this object.
  Refinement(const FeatureMap& map, RowSource& rows, const Setup& setup, Progress* progress);

  /// The normal equations: the Gram matrix in low precision; where passes begin with rounded rows, the right-hand side is of
  /// those, else in full precision.
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
  struct Seen;
  struct LastLook;
  template <class Real>
  void open(RowSource& rows, const Setup& setup);
  /// Whether that will do: features in float are fine enough, and floats have had room for the sums.
  template <class Real>
  bool open_rounded(RowSource& rows, const Setup& setup);
  void take(LowGram& low, const NormalSystem& system);
  PreconditionedSystems prepare(double ridge, Uncertainty kept);
  /// Whether float, 2⁻²⁴ of the norm of the preconditioner (for which ‖·‖_F stands, some times as large), is finer than the
  /// ridge. Where it is not, a few iterations from b do not tell how good the preconditioner is.
  bool holds_ridge(const PreconditionedSystems& systems, double ridge) const;
  /// Mean ‖B_c‖² over the columns c, or the largest gain: ‖Φ(x)‖² beside ‖φ(x)‖².
  double coupling_square(const std::vector<double>& gain) const;
  double row_square(const PreconditionedSystems& systems) const;  ///< mean ‖Φ(x)‖²
  /// Weights, intercept and noise by the exact right-hand side.
  void finish_exactly(const PreconditionedSystems& systems, Seen& seen, const BlockCgOutcome& outcome, Matrix<double>& theta,
                      double ridge, RidgeSolution& solution);
  RoundingModel rounding_model(const PreconditionedSystems& systems) const;

  LowGram low_gram(Index targets) const;
  GramPrecision gram_;
  bool plain_;
  Index factor_bytes_;
  const FeatureMap& map_;
  Index block_rows_ = 0;
  double unit_ = 0;  ///< of the rounding of passes
  double feature_square_ = 0;
  NormalSystem system_;
  std::vector<double> excess_;  ///< of the diagonal of its Gram matrix (LowGram::move_into)
  /// Σ w Φ~Φ~ᵀ v in full precision, and what that was before the coupling (RowOperator::apply)
  std::function<void(ConstMatrix, MutMatrix, Matrix<double>*)> apply_;
  RoughOperator rough_;                                    ///< the same in float, where that is faster
  std::function<Matrix<double>(ConstMatrix)> gram_times_;  ///< Σ w φ~φ~ᵀ W
  /// Of rounded rows: what is left of the targets (RowOperator::left_of_targets)
  std::function<LeftOfTargets(ConstMatrix w, double scale)> left_;
  std::function<LeftOfTargets(ConstMatrix w, double scale, Index columns, const RowOperator<float>::Reduce&, SampledErrors&)>
      rough_left_;
  std::function<NormalSystem(LowGram&)> gather_;
  Progress* progress_;
};

}  // namespace mercer
