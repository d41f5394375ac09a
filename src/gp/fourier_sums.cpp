#include "gp/fourier_sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <kissfft/kissfft.hh>
#include <numbers>

namespace mercer {
namespace {

using Complex = std::complex<double>;

std::vector<Complex> transform(const std::vector<Complex>& in) {
  std::vector<Complex> out(in.size());
  const kissfft<double> plan(in.size(), false);
  plan.transform(in.data(), out.data());
  return out;
}

/// The largest magnitude, or 1 where all are 0: both sums go through one FFT in units of their own, so that neither drowns
/// in the rounding errors of the other.
double unit_of(std::span<const double> values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most > 0 ? most : 1;
}

}  // namespace

Index power_of_two(Index count) {
  return static_cast<Index>(std::bit_ceil(static_cast<std::size_t>(count)));
}

std::vector<Complex> padded_transform(std::span<const double> values, Index length) {
  std::vector<Complex> grid(static_cast<std::size_t>(length));
  for (std::size_t i = 0; i < values.size(); ++i) grid[i] = values[i];
  std::vector<Complex> out = transform(grid);
  out.resize(grid.size() / 2 + 1);
  return out;
}

FourierSums fourier_sums(std::span<const double> t, std::span<const double> values, std::span<const double> weights,
                         Index count) {
  // In units of grid cells a point is spread as exp(-d²/4c). With 2·count modes on R times as many cells, R >= 2,
  // c = R·reach/(4π(R - ½)) makes what is cut off beyond `reach` cells, e^{-π reach (1 - 1/2R)}, as small as the aliases.
  constexpr Index reach = 12;
  const Index size = power_of_two(4 * count);
  const double ratio = static_cast<double>(size) / static_cast<double>(2 * count);
  const double spread = ratio * reach / (4 * std::numbers::pi * (ratio - 0.5));
  const double value_unit = unit_of(values);
  const double weight_unit = unit_of(weights);
  std::vector<Complex> grid(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < t.size(); ++i) {
    const Complex both(values[i] / value_unit, weights[i] / weight_unit);
    const double cell = t[i] * static_cast<double>(size);
    const Index nearest = std::lround(cell);
    for (Index g = nearest - reach; g <= nearest + reach; ++g) {
      const double away = cell - static_cast<double>(g);
      const double share = std::exp(-away * away / (4 * spread));
      grid[static_cast<std::size_t>(g & (size - 1))] += both * share;
    }
  }
  const std::vector<Complex> sum = transform(grid);
  FourierSums sums{std::vector<Complex>(static_cast<std::size_t>(count)),
                   std::vector<Complex>(static_cast<std::size_t>(count))};
  for (Index k = 0; k < count; ++k) {
    // The transform of values + i·weights holds both: one is its part even under k → -k with conjugation, one the odd part.
    const Complex up = sum[static_cast<std::size_t>(k)];
    const Complex down = std::conj(sum[static_cast<std::size_t>((size - k) & (size - 1))]);
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
    const double undo = std::exp(spread * angle * angle) / std::sqrt(4 * std::numbers::pi * spread);
    sums.values[static_cast<std::size_t>(k)] = value_unit * undo / 2 * (up + down);
    sums.weights[static_cast<std::size_t>(k)] = weight_unit * undo / 2 * Complex((up - down).imag(), -(up - down).real());
  }
  return sums;
}

}  // namespace mercer
