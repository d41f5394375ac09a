#include "gp/fourier_sums.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <kissfft/kissfft.hh>
#include <numbers>

#include "backend/backend.hpp"

namespace mercer {
namespace {

using Complex = std::complex<double>;

constexpr Index reach = 8;  // cells on either side that a point is spread over

/// 2e^{-β} sinh(β√(1 - z²))/√(1 - z²), z the distance in units of `reach`, at the cells first, first + 1, … up to 2·reach +
/// 1 of them: a window that falls from 1 to 2βe^{-β} and is cut off there. With the tail that is cut off its transform would
/// be 2πe^{-β} I₀(√(β² - ξ²)) and 0 beyond |ξ| = β (Potts, Steidl and Tasche 2001).
using Window = std::array<double, 2 * reach + 1>;
void window(double cell, Index first, double beta, Window& out) {
  Window root{};
  for (std::size_t j = 0; j < out.size(); ++j) {
    const double z = (cell - static_cast<double>(first + static_cast<Index>(j))) / reach;
    root[j] = std::sqrt(std::max(0.0, 1 - z * z));
    out[j] = -z * z / (1 + root[j]);  // √(1 - z²) - 1 without cancellation
  }
  exponential(out.data(), static_cast<Index>(out.size()), beta);
  const double least = std::exp(-2 * beta);
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = root[j] > 0 ? (out[j] - least / out[j]) / root[j] : 0;
}

/// I₀(√square) = Σ_j (square/4)^j/(j!)²: terms of one sign for square >= 0.
double bessel_of_root(double square) {
  double term = 1;
  double sum = 1;
  for (double j = 1; term > 1e-17 * sum; ++j) {
    term *= square / (4 * j * j);
    sum += term;
  }
  return sum;
}

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
  // With 2·count modes on R times as many cells, R >= 2, the nearest alias of a mode is at 1 - 1/2R of the sampling
  // frequency: there the window's transform is to end.
  const Index size = power_of_two(std::max(4 * count, 2 * reach + 2));
  const double beta = 2 * std::numbers::pi * reach * (1 - static_cast<double>(count) / static_cast<double>(size));
  const double value_unit = unit_of(values);
  const double weight_unit = unit_of(weights);
  std::vector<Complex> grid(static_cast<std::size_t>(size));
  Window share{};
  for (std::size_t i = 0; i < t.size(); ++i) {
    const Complex both(values[i] / value_unit, weights[i] / weight_unit);
    const double cell = t[i] * static_cast<double>(size);
    const auto first = static_cast<Index>(std::ceil(cell)) - reach;
    window(cell, first, beta, share);
    for (std::size_t j = 0; j < share.size(); ++j) {
      grid[static_cast<std::size_t>((first + static_cast<Index>(j)) & (size - 1))] += both * share[j];
    }
  }
  const std::vector<Complex> sum = transform(grid);
  FourierSums sums{std::vector<Complex>(static_cast<std::size_t>(count)),
                   std::vector<Complex>(static_cast<std::size_t>(count))};
  const double scale = std::exp(beta) / (2 * std::numbers::pi * reach);
  for (Index k = 0; k < count; ++k) {
    // The transform of values + i·weights holds both: one is its part even under k → -k with conjugation, one the odd part.
    const Complex up = sum[static_cast<std::size_t>(k)];
    const Complex down = std::conj(sum[static_cast<std::size_t>((size - k) & (size - 1))]);
    const double xi = 2 * std::numbers::pi * reach * static_cast<double>(k) / static_cast<double>(size);
    const double undo = scale / bessel_of_root(beta * beta - xi * xi);
    sums.values[static_cast<std::size_t>(k)] = value_unit * undo / 2 * (up + down);
    sums.weights[static_cast<std::size_t>(k)] = weight_unit * undo / 2 * Complex((up - down).imag(), -(up - down).real());
  }
  return sums;
}

}  // namespace mercer
