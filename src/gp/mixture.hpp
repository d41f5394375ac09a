#pragma once
#include <mercer/kernel.hpp>

#include <optional>
#include <span>
#include <vector>

#include "base/matrix.hpp"

namespace mercer {

/// k(δ) = Σ_q w_q cos(2π⟨μ_q, δ⟩) e(2π σ_q∘δ), with e a shift-invariant kernel of unit length scale: its spectral law,
/// shifted by ±μ_q and stretched by σ_q, is component q of the spectrum. Gaussian e: the spectral mixture of Wilson and
/// Adams 2013; Matérn: Student components; Cauchy: Laplace components.
struct Mixture {
  Kernel envelope = {Gaussian{{{1.0}, false}}};  ///< a leaf with length scale 1
  std::vector<double> weights;                   ///< Q, positive
  Matrix<double> means;                          ///< Q × d frequencies, cycles per unit
  Matrix<double> scales;                         ///< Q × d, positive

  Index components() const { return static_cast<Index>(weights.size()); }
  Index inputs() const { return means.cols(); }
};

Mixture to_mixture(const SpectralMixture& kernel);
/// The same kernel in the library's own words: spectral_mixture for a Gaussian envelope; otherwise the sum of
/// w_q · cos(2π⟨μ_q, δ⟩) · e with length scales 1/(2πσ_q), the cosine being a spectral mixture of scale 0.
Kernel to_kernel(const Mixture& mixture);

/// The other way: nothing where the kernel is not a spectral mixture in one of these forms.
std::optional<Mixture> mixture_of(const Kernel& kernel, Index inputs);

/// e(2π σ_q∘δ) cos(2π⟨μ_q, δ⟩): component q without its weight. O(d).
double component_value(const Mixture& mixture, Index q, Point delta);
/// k(δ). O(Qd).
double value(const Mixture& mixture, Point delta);

/// The spectral law of an envelope (Gaussian, Matern, Cauchy) in one input, shifted by ±mean, stretched by scale > 0 and
/// folded onto frequencies s >= 0: p((s - mean)/scale)/scale + p((s + mean)/scale)/scale. Times w_q it compares with
/// power_density.
double folded_density(const Kernel& envelope, double mean, double scale, double frequency);

}  // namespace mercer
