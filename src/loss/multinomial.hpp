#pragma once
#include <mercer/view.hpp>

namespace mercer {

/// ℓ(f, y) = log Σ_j e^{f_j} - ⟨y, f⟩ with y one-hot in R^p, p ≥ 2.
/// ℓ*(a) = Σ_j q_j log q_j with q = a + y, finite where q is a probability vector.
class Multinomial {
 public:
  static double value(Point f, Point y);
  static void gradient(Point f, Point y, MutPoint g);
  static void prox(double step, Point y, MutPoint v);
  static double conjugate(Point a, Point y);
  static void project_dual(Point y, MutPoint a);
  /// q_i ← (1 - θ) q_i + θ r with one probability vector r and the least θ for which there is one, so that Σ_i w_i q_i
  /// becomes Σ_i w_i y_i; O(np). Shrinking entries would leave the simplex.
  static void balance_dual(Point weights, ConstMatrix y, MutMatrix a);
  /// ∇ℓ = softmax(f) - y is longest when all the mass is on a wrong class: √2.
  static double lipschitz();
  /// diag(q) - qqᵀ has its largest eigenvalue, ½, when two classes share the mass.
  static double smoothness() { return 0.5; }
  static bool is_separable() { return false; }
  static const char* target_problem(Point y);
};

}  // namespace mercer
