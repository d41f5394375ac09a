#pragma once
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "base/matrix.hpp"
#include "map/coupling.hpp"

namespace mercer {

/// Ridge with the same rows and many targets and penalties, from one eigendecomposition:
///     min over θ, c of ½ Σ_i v_i ‖Φ_iᵀθ + c - t_i‖² + (ridge/2)‖θ‖².
/// Constant couplings decouple into channels of one scalar Gram (THEORY 3). With an inertia s, s·‖M‖/2·‖θ - θ_before‖² is
/// added, M the normal matrix: repeated steps have the same fixed points, and directions below s·‖M‖, which the rounding of
/// float32 features drowns, move slowly instead of wildly.
class RidgeStep {
 public:
  /// `moments`: lower triangle of Σ v [φ, 1][φ, 1]ᵀ.
  RidgeStep(const Coupling& coupling, const Matrix<double>& moments, bool intercept, double inertia = 0);

  double weight() const { return weight_; }                               ///< Σ v
  std::span<const double> mean_feature() const { return mean_feature_; }  ///< Σ v φ / Σ v
  Index parameters() const { return coupling_.parameters(); }

  /// From cross = Σ v φ tᵀ (m × p), sum = Σ v t (p) and the θ before: θ, W = expand(θ) (m × p), c. O(m²·p') for channels,
  /// O(parameters²) otherwise.
  void solve(ConstMatrix cross, Point sum, double ridge, std::span<double> theta, MutMatrix weights, MutPoint c) const;

 private:
  const Coupling& coupling_;
  bool intercept_;
  double inertia_;
  double weight_ = 0;
  std::vector<double> mean_feature_;
  std::vector<double> gain_;  ///< γ_j of the channels; {1} when all parameters are one system
  Eigen eigen_;
};

}  // namespace mercer
