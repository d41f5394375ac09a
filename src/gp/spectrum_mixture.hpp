#pragma once
#include <mercer/view.hpp>

#include <vector>

#include "gp/periodogram.hpp"

namespace mercer {

/// One Gaussian of a mixture on frequencies s and -s.
struct SpectrumPeak {
  double weight = 0;  ///< positive
  double mean = 0;    ///< cycles per unit, positive
  double scale = 0;   ///< positive
};

/// Fewer cycles than this over the rows are a trend: a part of a cycle and a trend that turns look the same.
inline constexpr double trend_cycles = 1.5;

/// The level of the spectrum that stands for noise, as power per frequency of the grid: the power of white noise is
/// exponential at each frequency, so its mean is median/log 2. O(frequencies).
double noise_floor(const Spectrum& spectrum);

/// `components` Gaussians whose density, folded onto s > 0, is near that of the spectrum (tapered by Taper::hann) where it
/// rises above the flat `floor`. Weights sum to 1 and descend. One Gaussian at a time is put where the most power is still
/// unexplained, and all are improved by expectation maximisation, the floor a uniform component of fixed weight. The peak of
/// a single cycle then moves from the centre of its power to its top, which is where least squares put the cycle: skirts of
/// neighbours and of a trend pull the centre aside. What a peak owes to the length of the series alone is taken off its
/// scale, down to a twentieth of the resolution. Peaks below trend_cycles are put at 0 with the same second moment: such a
/// part has no phase to keep. O(components² · 4096), whatever the number of frequencies. The spectrum must have frequencies.
std::vector<SpectrumPeak> fit_spectrum(const Spectrum& spectrum, double floor, Index components);

}  // namespace mercer
