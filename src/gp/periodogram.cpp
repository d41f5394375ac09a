#include "gp/periodogram.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>

#include "gp/fourier_sums.hpp"

namespace mercer {
namespace {

/// Frequencies step, 2 step, …, count·step.
struct Grid {
  double step = 0;
  Index count = 0;
};

Grid even_grid(const Samples& samples) {
  const Index padded = power_of_two(std::max<Index>(2 * samples.size(), 16));
  const double steps = static_cast<double>(samples.size()) / static_cast<double>(padded);
  return {steps / samples.length, padded / 2};
}

/// Up to half a cycle per middle gap, though at least per mean gap: clusters and gaps in otherwise even series then do not
/// hide the fast cycles they can show. Bounded, so that a few very close places do not ask for millions of frequencies; the
/// bound, and coarser steps for long series, keep the FFT of fourier_sums at 2²⁰ up to n = 100 000.
Grid uneven_grid(const Samples& samples) {
  const double per_resolution = samples.size() > 16384 ? 2 : 4;
  std::vector<double> gaps(samples.place.size());
  std::adjacent_difference(samples.place.begin(), samples.place.end(), gaps.begin());
  const auto middle = gaps.begin() + 1 + (samples.size() - 1) / 2;
  std::nth_element(gaps.begin() + 1, middle, gaps.end());
  const double mean_count = per_resolution * static_cast<double>(samples.size()) / 2;
  const double most = std::max(mean_count, std::min(64 * mean_count, 131071.0));
  const double count = std::clamp(per_resolution * samples.length / (2 * *middle), mean_count, most);
  return {1 / (per_resolution * samples.length), static_cast<Index>(std::ceil(count))};
}

/// Weights of the samples under the taper, with sum 1.
std::vector<double> taper_weights(const Samples& samples, Taper taper) {
  std::vector<double> weight = samples.weight;
  if (taper == Taper::none) return weight;
  double sum = 0;
  const double half_step = (samples.length - samples.place.back()) / 2;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    const double sine = std::sin(std::numbers::pi * (samples.place[i] + half_step) / samples.length);
    weight[i] *= sine * sine;
    sum += weight[i];
  }
  for (double& w : weight) w /= sum;
  return weight;
}

/// |2Σ w_i y_i e^{-2πi f i}|²/2: the variance of the cycle at each frequency; half of that at Nyquist's, which has no sine.
std::vector<double> even_power(std::span<const double> weighted, const Grid& grid) {
  const auto sums = padded_transform(weighted, 2 * grid.count);
  std::vector<double> power(static_cast<std::size_t>(grid.count));
  for (std::size_t k = 0; k < power.size(); ++k) power[k] = 2 * std::norm(sums[k + 1]);
  power.back() /= 2;
  return power;
}

/// The variance that y = a cos + b sin + c accounts for at each frequency, by weighted least squares: with a hat for sums
/// less the product of means, (SS·YC² + CC·YS² - 2 CS·YC·YS)/(CC·SS - CS²).
std::vector<double> uneven_power(const Samples& samples, std::span<const double> weighted, std::span<const double> weight,
                                 const Grid& grid) {
  std::vector<double> turn(samples.place);
  for (double& t : turn) t *= grid.step;
  const FourierSums sums = fourier_sums(turn, weighted, weight, 2 * grid.count + 1);
  std::vector<double> power(static_cast<std::size_t>(grid.count));
  for (std::size_t k = 1; k <= power.size(); ++k) {
    const double yc = sums.values[k].real();
    const double ys = -sums.values[k].imag();
    const double c = sums.weights[k].real();
    const double s = -sums.weights[k].imag();
    const double c2 = sums.weights[2 * k].real();
    const double s2 = -sums.weights[2 * k].imag();
    const double cc = (1 + c2) / 2 - c * c;
    const double ss = (1 - c2) / 2 - s * s;
    const double cs = s2 / 2 - c * s;
    const double determinant = cc * ss - cs * cs;
    // Cosine and sine are the same column up to a factor, as at Nyquist's frequency: one of them is enough.
    constexpr double alike = 1e-6;
    const bool single = determinant <= alike * (cc + ss) * (cc + ss);
    const double explained = single ? (yc * yc + ys * ys) / std::max(cc + ss, alike)
                                    : (ss * yc * yc + cc * ys * ys - 2 * cs * yc * ys) / determinant;
    power[k - 1] = std::max(explained, 0.0);
  }
  return power;
}

/// Power of value - line at the grid's frequencies, up to a common factor when tapered.
std::vector<double> raw_power(const Samples& samples, const Line& line, const Grid& grid, Taper taper) {
  const std::vector<double> weight = taper_weights(samples, taper);
  std::vector<double> weighted(weight.size());
  double mean = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    weighted[i] = samples.value[i] - line.slope * (samples.place[i] - line.centre);
    mean += weight[i] * weighted[i];
  }
  for (std::size_t i = 0; i < weight.size(); ++i) weighted[i] = weight[i] * (weighted[i] - mean);
  return samples.even ? even_power(weighted, grid) : uneven_power(samples, weighted, weight, grid);
}

/// Whether a line accounts for more of the variance than the best cycle that fits into the series once or more.
bool line_beats_cycles(const Samples& samples, const Line& line, const Grid& grid, std::span<const double> power) {
  double best = 0;
  for (std::size_t k = 0; k < power.size(); ++k) {
    if (static_cast<double>(k + 1) * grid.step * samples.length >= 0.999) best = std::max(best, power[k]);
  }
  return line.variance > best;
}

}  // namespace

Spectrum empirical_spectrum(std::span<const double> x, std::span<const double> y, Taper taper) {
  return spectrum_of(ordered_samples(x, y), taper);
}

Spectrum spectrum_of(const Samples& samples, Taper taper) {
  Spectrum spectrum;
  if (samples.size() < 2 || !std::isfinite(64.0 * static_cast<double>(samples.size()) / samples.length)) return spectrum;
  const Grid grid = samples.even ? even_grid(samples) : uneven_grid(samples);
  spectrum.resolution = 1 / samples.length;
  spectrum.frequency.resize(static_cast<std::size_t>(grid.count));
  for (Index k = 0; k < grid.count; ++k)
    spectrum.frequency[static_cast<std::size_t>(k)] = static_cast<double>(k + 1) * grid.step;
  spectrum.highest = spectrum.frequency.back();

  const double between = std::max(samples.variance - samples.scatter, 0.0);
  spectrum.power = raw_power(samples, {}, grid, taper);
  const Line line = fit_line(samples);
  if (line_beats_cycles(samples, line, grid, spectrum.power)) {
    spectrum.power = raw_power(samples, line, grid, taper);
    spectrum.trend = std::min(line.variance, between);
  }
  const double sum = std::accumulate(spectrum.power.begin(), spectrum.power.end(), 0.0);
  const double cycles = between - spectrum.trend;
  const double factor = sum > 0 ? cycles / sum : 0;
  const double flat = (sum > 0 ? samples.scatter : samples.scatter + cycles) / static_cast<double>(grid.count);
  for (double& p : spectrum.power) p = p * factor + flat;
  spectrum.power[0] += spectrum.trend;
  return spectrum;
}

double peak_top(const Spectrum& spectrum, std::size_t k) {
  const auto& power = spectrum.power;
  if (k == 0 || k + 1 == power.size()) return spectrum.frequency[k];
  const double left = std::log(power[k - 1]);
  const double right = std::log(power[k + 1]);
  const double bend = left + right - 2 * std::log(power[k]);
  const double offset = std::isfinite(bend) && bend < 0 ? std::clamp((left - right) / (2 * bend), -0.5, 0.5) : 0;
  return spectrum.frequency[k] + offset * spectrum.frequency[0];
}

std::vector<double> power_density(const Spectrum& spectrum) {
  std::vector<double> density = spectrum.power;
  if (density.empty()) return density;
  for (double& p : density) p /= spectrum.frequency[0];
  return density;
}

}  // namespace mercer
