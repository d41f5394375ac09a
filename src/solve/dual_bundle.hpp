#pragma once
#include <deque>
#include <vector>

namespace mercer {

/// A dual feasible point as the bound sees it: D = -charge - ½‖pull‖².
struct DualPoint {
  double charge = 0;         ///< (1/W) Σ w ℓ*(a), and what rounding is charged
  std::vector<double> pull;  ///< (1/(W√λ)) Σ Φ_i(w_i a_i + k_i z_i)
  double bound() const;
};

/// The best bound from convex combinations of dual points. Feasible points form a convex set and ℓ* is convex, so
///     D(Σ α_k a_k) ≥ -Σ α_k charge_k - ½‖Σ α_k pull_k‖²   for α in the simplex:
/// a tiny quadratic program that needs no pass over the rows. The pulls of ADMM's duals swing around their limit, and at
/// small λ these swings are nearly all of the gap; combined they cancel.
class DualBundle {
 public:
  /// Adds a point, the oldest beyond twelve leave; returns the best bound of the bundle.
  double add(DualPoint point);

 private:
  std::deque<DualPoint> points_;
};

}  // namespace mercer
