#include "gp/fourier_sums.hpp"

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
  std::vector<Complex> grid(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < t.size(); ++i) {
    const double cell = t[i] * static_cast<double>(size);
    const Index nearest = std::lround(cell);
    for (Index g = nearest - reach; g <= nearest + reach; ++g) {
      const double away = cell - static_cast<double>(g);
      const double share = std::exp(-away * away / (4 * spread));
      grid[static_cast<std::size_t>(g & (size - 1))] += Complex(values[i] * share, weights[i] * share);
    }
  }
  const std::vector<Complex> both = transform(grid);
  FourierSums sums{std::vector<Complex>(static_cast<std::size_t>(count)),
                   std::vector<Complex>(static_cast<std::size_t>(count))};
  for (Index k = 0; k < count; ++k) {
    // The transform of values + i·weights holds both: one is its part even under k → -k with conjugation, one the odd part.
    const Complex up = both[static_cast<std::size_t>(k)];
    const Complex down = std::conj(both[static_cast<std::size_t>((size - k) & (size - 1))]);
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
    const double undo = std::exp(spread * angle * angle) / std::sqrt(4 * std::numbers::pi * spread);
    sums.values[static_cast<std::size_t>(k)] = undo * (up + down) / 2.0;
    sums.weights[static_cast<std::size_t>(k)] = undo * (up - down) / Complex(0, 2);
  }
  return sums;
}

}  // namespace mercer
