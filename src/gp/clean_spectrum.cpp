#include "gp/clean_spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "gp/samples.hpp"

namespace mercer {
namespace {

double strongest(const Spectrum& spectrum) {
  const auto top = std::ranges::max_element(spectrum.power);
  return peak_top(spectrum, static_cast<std::size_t>(top - spectrum.power.begin()));
}

/// Adds a cycle of variance `amount` as the peak that even sampling would show.
void put_back(const Spectrum& spectrum, double frequency, double amount, std::vector<double>& power) {
  const double scale = hann_peak_scale * spectrum.resolution;
  const auto& at = spectrum.frequency;
  const auto first = static_cast<std::size_t>(std::lower_bound(at.begin(), at.end(), frequency - 4 * scale) - at.begin());
  const auto end = static_cast<std::size_t>(std::upper_bound(at.begin(), at.end(), frequency + 4 * scale) - at.begin());
  std::vector<double> beam;
  double sum = 0;
  for (std::size_t k = first; k < end; ++k) {
    const double z = (at[k] - frequency) / scale;
    beam.push_back(std::exp(-z * z / 2));
    sum += beam.back();
  }
  for (std::size_t k = first; k < end; ++k) power[k] += amount * beam[k - first] / sum;
}

/// Takes a + b cos + c sin of least squares at `frequency` out of value; the variance it explains is returned, 0 where it
/// cannot be fitted.
double take_cycle(Samples& samples, double frequency) {
  const std::size_t n = samples.value.size();
  std::vector<double> cosine(n);
  std::vector<double> sine(n);
  double c = 0;
  double s = 0;
  double y = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double phase = 2 * std::numbers::pi * frequency * samples.place[i];
    cosine[i] = std::cos(phase);
    sine[i] = std::sin(phase);
    c += samples.weight[i] * cosine[i];
    s += samples.weight[i] * sine[i];
    y += samples.weight[i] * samples.value[i];
  }
  double cc = 0;
  double ss = 0;
  double cs = 0;
  double yc = 0;
  double ys = 0;
  for (std::size_t i = 0; i < n; ++i) {
    cosine[i] -= c;
    sine[i] -= s;
    const double value = samples.value[i] - y;
    cc += samples.weight[i] * cosine[i] * cosine[i];
    ss += samples.weight[i] * sine[i] * sine[i];
    cs += samples.weight[i] * cosine[i] * sine[i];
    yc += samples.weight[i] * value * cosine[i];
    ys += samples.weight[i] * value * sine[i];
  }
  const double determinant = cc * ss - cs * cs;
  if (determinant < 1e-6) return 0;
  const double b = (yc * ss - ys * cs) / determinant;
  const double d = (ys * cc - yc * cs) / determinant;
  for (std::size_t i = 0; i < n; ++i) samples.value[i] -= y + b * cosine[i] + d * sine[i];
  return std::max(b * yc + d * ys, 0.0);
}

}  // namespace

Spectrum clean_spectrum(std::span<const double> x, std::span<const double> y, Index cycles) {
  Samples samples = ordered_samples(x, y);
  Spectrum rest = spectrum_of(samples, Taper::hann);
  if (samples.even || rest.power.empty() || !(samples.variance > samples.scatter)) return rest;
  const double trend = rest.trend;
  if (trend > 0) {
    const Line line = fit_line(samples);
    for (std::size_t i = 0; i < samples.value.size(); ++i) samples.value[i] -= line.slope * (samples.place[i] - line.centre);
    samples.variance -= trend;
    rest.power[0] -= trend;
    rest.trend = 0;
  }
  // The best of n/2 frequencies explains 2 log(n)/n of white noise, more or less: that is no cycle.
  const auto count = static_cast<double>(samples.size());
  const double worth = std::clamp(4 * std::log(count) / count, 0.1, 0.9);
  constexpr Index most_work = 1 << 20;
  const Index rounds = std::min(cycles, most_work / std::ssize(rest.power));
  std::vector<double> taken(rest.power.size());
  for (Index round = 0; round < rounds; ++round) {
    Samples next = samples;
    const double frequency = strongest(rest);
    const double explained = take_cycle(next, frequency);
    const double left = samples.variance - samples.scatter;
    if (!(left > 0) || explained < worth * left) break;
    const double lost = std::min(explained, left);
    next.variance -= lost;
    put_back(rest, frequency, lost, taken);
    samples = std::move(next);
    rest = spectrum_of(samples, Taper::hann);
  }
  for (std::size_t k = 0; k < taken.size(); ++k) rest.power[k] += taken[k];
  rest.power[0] += trend;
  rest.trend += trend;
  return rest;
}

}  // namespace mercer
