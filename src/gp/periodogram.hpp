#pragma once
#include <span>
#include <vector>

#include "gp/samples.hpp"

namespace mercer {

/// How much of the variance of a series sits at each frequency.
struct Spectrum {
  std::vector<double> frequency;  ///< cycles per unit of x, ascending, evenly spaced, > 0, two to four per `resolution`
  std::vector<double> power;      ///< >= 0; sums to the variance of y; the line's share lies in power[0]
  double highest = 0;             ///< the last frequency: Nyquist's, or what the middle gap between samples allows
  double resolution = 0;          ///< 1 / (length of the series): frequencies closer than this cannot be told apart
  double trend = 0;  ///< part of power[0]: the variance of a straight line; 0 where a cycle explains more than a line
};

/// `hann` weighs the samples by sin² from one end to the other: peaks are 1.6 times as wide, without skirts that would hide
/// weaker ones.
enum class Taper { none, hann };

/// Standard deviation of the Gaussian nearest to the peak of one cycle under Taper::hann, in units of the resolution: its
/// width at half height is 1.44 of them, that of a Gaussian 2.355 deviations.
inline constexpr double hann_peak_scale = 0.61;

/// The empirical spectral density of y over x, in any order. Rows that are not finite are left out; y is averaged over equal
/// x, and its scatter there is spread evenly over all frequencies, as that of white noise is. Even sampling: FFT. Uneven
/// sampling or gaps: generalised Lomb-Scargle (Zechmeister and Kürster 2009), which fits a mean with each cycle. O(n log n).
/// Fewer than two different x: no frequencies at all. Throws when y² or the range of x overflows.
Spectrum empirical_spectrum(std::span<const double> x, std::span<const double> y, Taper taper = Taper::none);

/// The same from samples already in order, whose `variance` and `scatter` say what the power sums to.
Spectrum spectrum_of(const Samples& samples, Taper taper);

/// The frequency at which the peak around frequency[k] has its top: between frequencies, by a parabola through three
/// logarithms; frequency[k] itself at the ends.
double peak_top(const Spectrum& spectrum, std::size_t k);

/// Power per unit of frequency, to be compared with mixture_density.
std::vector<double> power_density(const Spectrum& spectrum);

}  // namespace mercer
