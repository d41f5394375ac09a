#pragma once
#include <mercer/view.hpp>

namespace mercer {

/// ℓ(f, y) = log Σ_j e^{f_j} - ⟨y, f⟩ with y one-hot in R^p, p ≥ 2.
/// ℓ*(a) = Σ_j q_j log q_j with q = a + y, finite where q is a probability vector.
class Multinomial {
 public:
  double value(Point f, Point y) const;
  void gradient(Point f, Point y, MutPoint g) const;
  void prox(double step, Point y, MutPoint v) const;
  double conjugate(Point a, Point y) const;
  void project_dual(Point y, MutPoint a) const;
  /// ∇ℓ = softmax(f) - y is longest when all the mass is on a wrong class: √2.
  double lipschitz() const;
  /// diag(q) - qqᵀ has its largest eigenvalue, ½, when two classes share the mass.
  double smoothness() const { return 0.5; }
  bool is_separable() const { return false; }
  const char* target_problem(Point y) const;
};

}  // namespace mercer
