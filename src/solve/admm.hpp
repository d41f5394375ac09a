#pragma once
#include <vector>

#include "base/matrix.hpp"
#include "loss/loss.hpp"
#include "solve/feature_store.hpp"
#include "solve/ridge_step.hpp"

namespace mercer {

/// Problem (P) with weights and, where `order` is not empty, the constraint f_1 ≤ … ≤ f_p at every row:
///     min over θ, c of (1/W) Σ_i w_i ℓ(f_i, y_i) + (λ/2)‖θ‖²  subject to f_i ∈ K.
struct SplitProblem {
  const FeatureStore& store;
  const RidgeStep* ridge;  ///< with row weights (w_i, or k_i where there is no loss)·r_i
  const Coupling& coupling;
  const Loss& loss;
  double penalty = 0;  ///< λ
  double weight = 0;   ///< W = Σ w
  bool intercept = true;
  std::vector<double> order;      ///< k_i, one per row of the store, or empty
  std::vector<double> levels;     ///< of pinball losses that share their target; else empty
  double scale = 1;               ///< (w_i + k_i)/w_i where there are two copies
  std::vector<double> stiffness;  ///< r_i of every row: its step is ρ r_i; empty means 1
  std::vector<double> centre;     ///< p: the mean target (0 without intercept): float32 products lose less without it

  double stiff(Index row) const { return stiffness.empty() ? 1.0 : stiffness[static_cast<std::size_t>(row)]; }
  /// Whether loss and order of a row act on one copy of f_i, by ordered_pinball_prox; its k_i is then w_i. Elsewhere each
  /// has a copy of its own, which serves every loss and takes several times the passes.
  bool joint(Index row) const { return !levels.empty() && row < store.source_rows() && store.weight(row) > 0; }
};

/// A function f(x) = φ(x)ᵀ·expand(θ) + c.
struct Candidate {
  std::vector<double> theta;
  Matrix<double> weights;  ///< columns × p
  std::vector<double> intercept;
};

/// Where the method stands; what a neighbouring problem can start from. Rows are those of the store.
struct ConvexState {
  Matrix<double> value;        ///< n × p: u_i, the copy of f_i that the loss sees
  Matrix<double> dual;         ///< n × p: g_i, a subgradient of ℓ at u_i
  Matrix<double> order_value;  ///< the copy of f_i that the order sees, in K; not used where there is one copy
  Matrix<double> order_dual;   ///< in the polar cone of K
  double step = 0;             ///< ρ
  bool empty() const { return value.empty(); }
};

/// The alternating direction method of multipliers on copies u_i of f(x_i), in the metric of the weights w_i r_i (r_i = 1
/// here). In turn
///     θ, c  :=  ridge with penalty λ/ρ on the targets u - g/ρ           (one eigendecomposition serves every ρ and λ)
///     x     :=  α f + (1 - α) u + g/ρ,   u := prox_{ℓ/ρ}(x),   g := ρ(x - u)
/// so that g_i is always a subgradient, hence in the domain of ℓ*. With an order, ρ(x - u) = g + z, z in the polar cone of
/// K, where one copy serves both (SplitProblem::joint); else the order has copies and duals of its own at the same rows. A
/// pass reads the features once: 4·n·m·p flops.
class Admm {
 public:
  /// Starts from `state`, or from u = y, g = 0 when it is empty.
  Admm(const SplitProblem& problem, ConvexState state);

  struct Pass {
    double objective = 0;          ///< of candidate()
    std::vector<double> crossing;  ///< p - 1: the most by which f_j exceeds f_{j+1} at a row of the constraint
    double primal_residual = 0;    ///< ‖f - u‖ relative to ‖u‖, in that metric
    double dual_residual = 0;      ///< ρ‖u - u_before‖ relative to ‖g‖, in its dual
  };
  /// One pass; the step of the passes after it may be changed to `next_step`.
  Pass pass(double next_step);

  /// After a change of the ridge and the stiffness of the problem. Half a pass.
  void restart() { first_targets(); }

  double step() const { return state_.step; }
  const Candidate& candidate() const { return candidate_; }
  const ConvexState& state() const { return state_; }
  ConvexState release() { return std::move(state_); }

 private:
  struct Sums;
  /// t := Σ of the weighted targets of a row for the next ridge step.
  void add_targets(Index row, double step, MutPoint t) const;
  void update_loss_row(Index row, Point f, Sums& sums);
  void update_order_row(Index row, Point f, Sums& sums);
  void update_joint_row(Index row, Point f, Sums& sums);
  void first_targets();
  Pass summary(const Matrix<double>& parts, double rho) const;

  const SplitProblem& problem_;
  ConvexState state_;
  Candidate candidate_;
  Matrix<double> cross_;     ///< Σ φ tᵀ
  std::vector<double> sum_;  ///< Σ t
};

}  // namespace mercer
