#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/matrix.hpp"
#include "base/random.hpp"
#include "gp/mixture.hpp"

namespace mercer {

/// How many of the M spectral points each component gets.
enum class Allocation {
  softmax,  ///< m_q ∝ w_q^{1/τ}: the paper's SoftMax of log w at temperature τ
  optimal,  ///< m_q ∝ w_q √(mean over pairs of rows of Var cos(2π⟨s, δ⟩)): the least mean variance of the feature kernel
  uniform,
};
Allocation parse_allocation(const std::string& text);
const char* to_string(Allocation allocation);

/// How ε is drawn for a component.
enum class PointSampling {
  monte_carlo,
  antithetic,  ///< ε and -ε in turn
  quasi,       ///< digitally shifted Sobol points
};
PointSampling parse_point_sampling(const std::string& text);
const char* to_string(PointSampling sampling);

/// Shares for `total` points by rule, every component at least one. `temperature` is of softmax; `differences` (rows × d) of
/// optimal: Var cos(2π⟨s, δ⟩) = ½(1 + k_q(2δ)) - k_q(δ)².
std::vector<Index> allocate(const Mixture& mixture, Index total, Allocation rule, double temperature,
                            ConstMatrix differences);

/// Standard points before they are moved to their component: s_j = μ_q + σ_q∘ε_j, q = component[j].
struct SpectralPoints {
  std::vector<Index> component;  ///< M, ascending
  std::vector<Index> shares;     ///< Q: m_q
  Matrix<double> epsilon;        ///< M × d

  Index count() const { return epsilon.rows(); }
};

/// Point i of component q is a pure function of (stream, q, i), whatever the shares.
SpectralPoints draw_points(const Mixture& mixture, const std::vector<Index>& shares, PointSampling sampling,
                           const Stream& stream);

/// s (M × d) and the amplitude √(w_q/m_q) of each point.
Matrix<double> frequencies(const Mixture& mixture, const SpectralPoints& points);
std::vector<double> amplitudes(const Mixture& mixture, const SpectralPoints& points);

}  // namespace mercer
