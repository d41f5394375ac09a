#include "gp/frequency_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "backend/backend.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "gp/fourier_sums.hpp"

namespace mercer {
namespace {

using Complex = std::complex<double>;

constexpr Index tasks = 4;  // FFTs at a time: each holds 200 bytes a cell

std::size_t entry(Index i) {
  return static_cast<std::size_t>(i);
}

Complex times_power_of_i(Complex z, Index m) {
  const Complex rotated = m % 2 == 0 ? z : Complex(-z.imag(), z.real());
  return m % 4 < 2 ? rotated : -rotated;
}

}  // namespace

RowInterval::RowInterval(std::span<const double> x) {
  const auto [least, most] = std::ranges::minmax_element(x);
  centre = *least / 2 + *most / 2;
  length = *most - *least;
  if (!(length > 0)) length = 1;
}

double RowInterval::period() const {
  return std::numbers::pi / 4 * length;
}

double RowInterval::cells(double most) const {
  const double last = std::ceil(most * period());
  if (!(last < 1e9)) return std::numeric_limits<double>::infinity();
  return static_cast<double>(power_of_two(static_cast<Index>(last) + 1));
}

RowInterval::Place RowInterval::place(double f) const {
  const double product = f * period();
  const double cell = std::nearbyint(product);
  return {cell, (product - cell) + std::fma(f, period(), -product)};
}

FrequencyTable::FrequencyTable(const RowInterval& interval, std::span<const double> x, std::span<const double> c,
                               double most)
    : interval_(interval), coefficients_(static_cast<Index>(interval.cells(most)), 2 * cell_terms) {
  std::vector<double> turns(x.size());
  std::vector<double> tau(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double away = x[i] - interval_.centre;
    turns[i] = away / interval_.period();
    turns[i] -= std::floor(turns[i]);
    if (turns[i] >= 1) turns[i] = 0;  // a tiny negative number rounds up
    tau[i] = 2 * away / interval_.length;
  }
  parallel_for(tasks, [&](Index task) {
    std::vector<double> even(x.size());
    std::vector<double> odd(x.size());
    for (Index m = 2 * task; m < cell_terms; m += 2 * tasks) {
      check_stop();
      const double factor = std::exp2(static_cast<double>(m)) / std::tgamma(static_cast<double>(m) + 1);
      for (std::size_t i = 0; i < x.size(); ++i) {
        even[i] = factor * c[i] * std::pow(tau[i], static_cast<int>(m));
        odd[i] = even[i] * tau[i] * 2 / static_cast<double>(m + 1);
      }
      const FourierSums sums = fourier_sums(turns, even, odd, coefficients_.rows());
      for (Index k = 0; k < coefficients_.rows(); ++k) {
        double* to = &coefficients_(k, 2 * m);
        const Complex first = times_power_of_i(std::conj(sums.values[entry(k)]), m);
        const Complex second = times_power_of_i(std::conj(sums.weights[entry(k)]), m + 1);
        to[0] = first.real();
        to[1] = first.imag();
        to[2] = second.real();
        to[3] = second.imag();
      }
    }
  });
}

double FrequencyTable::reach() const {
  return static_cast<double>(coefficients_.rows() - 1) / interval_.period();
}

FrequencyTable::Sums FrequencyTable::at(double f) const {
  const RowInterval::Place place = interval_.place(std::abs(f));
  const double u = 2 * place.offset;
  const std::span<const double> a = coefficients_.row(static_cast<Index>(place.cell));
  Complex value = 0;
  Complex slope = 0;
  Complex half_curve = 0;
  for (Index m = cell_terms - 1; m >= 0; --m) {
    half_curve = half_curve * u + slope;
    slope = slope * u + value;
    value = value * u + Complex(a[entry(2 * m)], a[entry(2 * m + 1)]);
  }
  // d/du = (2πi/(2 period)) × first moment = (4i/length) × first moment
  const double quarter = interval_.length / 4;
  const Complex first = times_power_of_i(slope, 3) * quarter;
  const Complex second = -half_curve * (2 * quarter * quarter);
  if (f < 0) return {std::conj(value), std::conj(first), std::conj(second)};
  return {value, first, second};
}

void FrequencyTable::evaluate(std::span<const double> cell, std::span<const double> offset, std::span<double> out) const {
  cell_polynomials(coefficients_.data(), cell.data(), offset.data(), static_cast<Index>(cell.size()), out.data());
  const double quarter = interval_.length / 4;
  for (std::size_t i = 0; i < out.size(); i += 4) {
    const double slope = out[i + 2];
    out[i + 2] = quarter * out[i + 3];
    out[i + 3] = -quarter * slope;
  }
}

}  // namespace mercer
