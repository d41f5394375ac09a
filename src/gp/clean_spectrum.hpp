#pragma once
#include <mercer/view.hpp>

#include <span>

#include "gp/periodogram.hpp"

namespace mercer {

/// The spectrum of y over x tapered by Taper::hann, without the false power that gaps and uneven steps spread from strong
/// cycles over all frequencies: a cycle that explains a good part of what is left of y is taken out of y, at most `cycles`
/// times, and its variance put back into the spectrum of the rest at its frequency (CLEAN by least squares, as astronomers
/// prewhiten). Where sampling is even this is empirical_spectrum. As long as it takes to compute 1 + cycles spectra, fewer
/// for long series.
Spectrum clean_spectrum(std::span<const double> x, std::span<const double> y, Index cycles);

}  // namespace mercer
