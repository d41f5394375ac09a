#pragma once
#include "gp/mixture.hpp"
#include "gp/spectral_points.hpp"

namespace mercer {

/// Derivatives by the means and scales of a mixture, each Q × d.
struct MixtureGradient {
  Matrix<double> means;
  Matrix<double> scales;
};

/// Σ_q m_q KL(q_q ‖ p_q) between components of the same law, prior p with its own means and scales; adds the gradient times
/// `factor` to `gradient`. Closed forms:
///   Gaussian, each input:  log(σ₀/σ) + (σ² + (μ - μ₀)²)/2σ₀² - ½
///   Laplace, each input:   log(σ₀/σ) + |μ - μ₀|/σ₀ + (σ/σ₀) e^{-|μ - μ₀|/σ} - 1
/// Student (Matérn envelope; d inputs share one radius) has none: there the mean of log q(s) - log p(s) over the drawn
/// points, whose expectation it is.
double divergence(const Mixture& mixture, const Mixture& prior, const SpectralPoints& points, double factor,
                  MixtureGradient& gradient);

}  // namespace mercer
