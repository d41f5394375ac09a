#pragma once
#include <optional>
#include <vector>

#include "gp/objective.hpp"
#include "gp/spectral_coordinates.hpp"
#include "gp/tabulated_statistics.hpp"

namespace mercer {

/// The process of one draw of points.
SparseProcess process_of(const SpectralParameters& parameters, const SpectralPoints& points);

/// Minus the regularised bound of paper 3 (SGVB), per draw set:
///   (1/K) Σ_k -log p(y | s^(k))  +  strength · Σ_q m_q KL(q_q ‖ p_q),   s = μ_q + σ_q∘ε.
/// With the points fixed it is a deterministic function of the coordinates. The divergence is of the distribution, so it
/// stands once whatever K.
class SpectralObjective : public Objective {
 public:
  /// `prior`: p(s) by component; strength 0 leaves the mean negative log marginal likelihood.
  SpectralObjective(ConstMatrix x, ConstMatrix y, const SpectralCoordinates& coordinates, const Mixture& prior,
                    double strength, Index memory_bytes);

  /// The draws of ε from now on; all with the same shares.
  void set_points(std::vector<SpectralPoints> points);

  Index size() const override { return coordinates_.size(); }
  double evaluate(std::span<const double> at, std::span<double> gradient) override;
  /// Of the last evaluation: (1/K) Σ_k -log p(y | s^(k)) alone.
  double likelihood() const { return likelihood_; }

 private:
  ConstMatrix x_;
  ConstMatrix y_;
  const SpectralCoordinates& coordinates_;
  const Mixture& prior_;
  double strength_;
  Index memory_bytes_;
  std::vector<SpectralPoints> points_;
  SparseWorkspace workspace_;
  std::optional<TabulatedStatistics> tables_;  ///< for one input
  double likelihood_ = 0;
};

}  // namespace mercer
