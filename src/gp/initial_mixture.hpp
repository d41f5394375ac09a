#pragma once
#include <mercer/kernel.hpp>

#include <span>
#include <vector>

#include "base/random.hpp"

namespace mercer {

/// Where the training of a spectral mixture starts.
struct InitialMixture {
  SpectralMixture kernel;  ///< components by descending weight; weights sum to var(y) - noise
  double noise = 1;        ///< variance of the noise, between 1e-4 and a half of var(y)
};

/// A mixture near the empirical spectrum of y: for one input, Gaussians fitted to it. For several, half of the components
/// (the larger half) are Gaussian kernels of lengths around √d × the spread of each input; the others have as mean and scale
/// in input k those of a member of a mixture fitted to the spectrum of y along that input (up to the frequency that n points
/// in d dimensions can show), drawn by its weight from `stream` (one draw from each of equal strata, in an order of their
/// own per input), the heaviest first; weights are then equal. Columns without variation get the mean and scale of a trend
/// over a range of 1; a constant target counts as one of variance 2. O(d (n log n + Q² · 4096)). Rows that are not finite
/// are left out. Throws without components or inputs.
InitialMixture initial_mixture(ConstMatrix x, std::span<const double> y, Index components, const Stream& stream);

/// Σ_q w_q (N(s; μ_q, σ_q²) + N(-s; μ_q, σ_q²)) in one input at each frequency s >= 0: with weights in units of y² it
/// compares with power_density. A component of scale 0 has no density and is left out.
std::vector<double> mixture_density(const SpectralMixture& mixture, Index input, std::span<const double> frequency);

}  // namespace mercer
