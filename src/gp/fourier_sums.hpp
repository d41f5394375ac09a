#pragma once
#include <mercer/view.hpp>

#include <complex>
#include <span>
#include <vector>

namespace mercer {

/// The least power of two that is >= count.
Index power_of_two(Index count);

/// Σ_i values_i e^{-2πi ik/length} for k = 0, …, length/2: `values` padded with zeros to `length`, a power of two.
/// O(length log length).
std::vector<std::complex<double>> padded_transform(std::span<const double> values, Index length);

/// What fourier_sums returns: entry k belongs to frequency k.
struct FourierSums {
  std::vector<std::complex<double>> values;
  std::vector<std::complex<double>> weights;
};

/// Σ_i values_i e^{-2πi k t_i} and the same for `weights`, for k = 0, …, count - 1 and any t_i in [0, 1): each point is
/// spread over 17 cells of a grid by a window, one FFT serves both sums, and the window is divided out. Error below
/// 1e-14 Σ|values_i|, and k·1e-15 of each value for the rounding of t_i. O(n + count log count); 32 bytes × 4 to 8 count.
FourierSums fourier_sums(std::span<const double> t, std::span<const double> values, std::span<const double> weights,
                         Index count);

}  // namespace mercer
