#pragma once
#include <mercer/progress.hpp>
#include <mercer/rows.hpp>

#include <memory>
#include <string>
#include <vector>

#include "solve/admm.hpp"

namespace mercer {

struct ConvexSetup {
  bool intercept = true;
  /// f_1 ≤ f_2 ≤ … ≤ f_p at every row, and at extra_inputs (rows without targets): joint quantiles that never cross there.
  /// Needs an intercept; features are kept in float64.
  bool non_crossing = false;
  ConstMatrix extra_inputs;
  Precision precision = Precision::single_;
  Index memory_bytes = Index{1} << 30;  ///< for features; beyond it they go to a scratch file
};

struct ConvexOptions {
  double penalty = 1e-6;
  double tolerance = 1e-4;  ///< relative duality gap at which to stop
  int most_passes = 5000;
};

struct TracePoint {
  int pass = 0;
  double primal = 0;
  double dual = 0;
  double seconds = 0;
};

/// f(x) = φ(x)ᵀW + c, with a certificate: dual ≤ optimum ≤ primal, and primal is the objective of this very f. Bounds are
/// true to the rounding of the features' products: about 1e-6 of their size in float32, 1e-13 in float64.
struct ConvexSolution {
  Matrix<double> weights;         ///< columns × p: W_c = B_c θ_c
  std::vector<double> intercept;  ///< p
  double primal = 0;
  double dual = 0;
  /// (primal - dual)/|primal|. An optimum of 0, and all below 1e-8 of what missing every target by its size would cost, are
  /// measured against that: the loss may well be 0 and nothing left to compare with.
  double gap = 0;
  int passes = 0;
  std::vector<TracePoint> trace;  ///< the best bounds so far, at every certificate
  ConvexState state;              ///< a warm start for a neighbouring penalty or loss
  std::string note;               ///< what did not go as asked, in one sentence; "" when nothing
};

/// Minimises (1/W) Σ w_i ℓ(f(x_i), y_i) + (λ/2)‖θ‖² for any loss to a certified gap (THEORY 6). Features are computed and
/// their Gram matrix is diagonalised once; every penalty and every loss after that is a matter of passes. Besides the
/// features, memory is 8·(3p + 1) bytes a row (5p + 1 without crossings).
class ConvexSolver {
 public:
  ConvexSolver(const FeatureMap& map, RowSource& rows, const ConvexSetup& setup, Progress* progress = nullptr);

  ConvexSolution solve(const Loss& loss, const ConvexOptions& options, ConvexState start = {},
                       Progress* progress = nullptr) const;

  const FeatureStore& store() const { return *store_; }

 private:
  SplitProblem problem(const Loss& loss, double penalty) const;
  /// For the row weights of the problem times their stiffness.
  std::unique_ptr<RidgeStep> ridge_step(const std::vector<double>& stiffness, Progress* progress) const;
  /// Measures the stiffness of the rows; the ridge step that goes with it, which the problem then points to.
  std::unique_ptr<RidgeStep> stiffen(SplitProblem& split, Admm& admm) const;

  const FeatureMap& map_;
  bool intercept_;
  bool single_;
  std::unique_ptr<FeatureStore> store_;
  bool non_crossing_;
  bool shared_target_ = true;  ///< every row has one target for all outputs
  double weight_ = 0;
  std::vector<double> mean_target_;
  double spread_ = 0;  ///< root mean square of y - mean over rows and outputs
  std::unique_ptr<RidgeStep> ridge_;
};

}  // namespace mercer
