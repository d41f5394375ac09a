#include "gp/initial_mixture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "base/fail.hpp"
#include "gp/clean_spectrum.hpp"
#include "gp/mixture.hpp"
#include "gp/spectrum_mixture.hpp"

namespace mercer {
namespace {

struct InputFit {
  std::vector<SpectrumPeak> peaks;
  double noise = 0.5;  ///< share of the variance
};

/// Drops frequencies above `highest`, though not the first eight.
void cut(Spectrum& spectrum, double highest) {
  const auto end = std::upper_bound(spectrum.frequency.begin(), spectrum.frequency.end(), highest);
  const auto keep = std::min(std::max<std::ptrdiff_t>(end - spectrum.frequency.begin(), 8), std::ssize(spectrum.frequency));
  spectrum.frequency.resize(static_cast<std::size_t>(keep));
  spectrum.power.resize(static_cast<std::size_t>(keep));
  spectrum.highest = spectrum.frequency.back();
}

/// All rows of a series; of a table with several inputs at most 65536, one from each of as many stretches. Its spectra stop
/// far below the frequencies for which more would be needed.
std::vector<Index> rows_to_use(ConstMatrix x, const Stream& stream) {
  constexpr Index most = 65536;
  const Index count = x.cols == 1 ? x.rows : std::min(x.rows, most);
  std::vector<Index> rows(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i) {
    const Index first = i * x.rows / count;
    const auto length = static_cast<std::uint64_t>((i + 1) * x.rows / count - first);
    rows[static_cast<std::size_t>(i)] = first + static_cast<Index>(stream.below(length, static_cast<std::uint64_t>(i), 0));
  }
  return rows;
}

InputFit fit_input(ConstMatrix x, std::span<const double> y, const std::vector<Index>& rows, Index input, Index components) {
  std::vector<double> column;
  std::vector<double> target;
  for (const Index i : rows) {
    column.push_back(x(i, input));
    target.push_back(y[static_cast<std::size_t>(i)]);
  }
  Spectrum spectrum = clean_spectrum(column, target, components);
  InputFit fit;
  if (spectrum.frequency.empty()) {
    fit.peaks.assign(static_cast<std::size_t>(components), {1 / static_cast<double>(components), 0.05, 0.1});
    return fit;
  }
  const double total = std::accumulate(spectrum.power.begin(), spectrum.power.end(), 0.0);
  const double floor = noise_floor(spectrum);
  if (total > 0) fit.noise = std::clamp(floor * static_cast<double>(spectrum.power.size()) / total, 1e-4, 0.5);
  if (x.cols > 1) {
    const double per_input = std::pow(static_cast<double>(x.rows), 1 / static_cast<double>(x.cols));
    cut(spectrum, spectrum.resolution * std::max(per_input / 2, 2.0));
  }
  fit.peaks = fit_spectrum(spectrum, floor, components);
  return fit;
}

double finite_variance(std::span<const double> y) {
  double mean = 0;
  double squares = 0;
  double count = 0;
  for (const double value : y) {
    if (!std::isfinite(value)) continue;
    count += 1;
    const double away = value - mean;
    mean += away / count;
    squares += away * (value - mean);
  }
  return count > 0 ? squares / count : 0;
}

/// The member of `peaks` in which the fraction u of the weight ends.
std::size_t member_at(const std::vector<SpectrumPeak>& peaks, double u) {
  double sum = 0;
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    sum += peaks[i].weight;
    if (u < sum) return i;
  }
  return peaks.size() - 1;
}

/// A random order of 0, …, count - 1.
std::vector<std::size_t> shuffled(std::size_t count, const Stream& stream) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return stream.uniform(a, 0) < stream.uniform(b, 0); });
  return order;
}

SpectralMixture single(const std::vector<SpectrumPeak>& peaks) {
  SpectralMixture mixture;
  for (const SpectrumPeak& peak : peaks) {
    mixture.weights.push_back(peak.weight);
    mixture.means.push_back({peak.mean});
    mixture.scales.push_back({peak.scale});
  }
  return mixture;
}

/// Components that are a Gaussian kernel to begin with, of one, twice, half, … the length √d × the spread of each input: the
/// spectra of single inputs say little about a function of several at once.
void add_smooth(ConstMatrix x, std::size_t count, SpectralMixture& mixture) {
  for (std::size_t q = 0; q < count; ++q) {
    const double factor = std::ldexp(1.0, q % 2 == 0 ? -static_cast<int>(q / 2) : static_cast<int>(q / 2) + 1);
    std::vector<double> scales;
    for (Index k = 0; k < x.cols; ++k) {
      std::vector<double> column(static_cast<std::size_t>(x.rows));
      for (Index i = 0; i < x.rows; ++i) column[static_cast<std::size_t>(i)] = x(i, k);
      const double spread = std::sqrt(finite_variance(column));
      const double length = factor * std::sqrt(static_cast<double>(x.cols)) * (spread > 0 ? spread : 1);
      scales.push_back(1 / (2 * std::numbers::pi * length));
    }
    std::vector<double> means = scales;
    for (double& mean : means) mean *= 0.05;
    mixture.means.push_back(std::move(means));
    mixture.scales.push_back(std::move(scales));
  }
}

/// For several inputs: half of the components smooth, the others drawn from the spectra.
SpectralMixture combined(ConstMatrix x, const std::vector<InputFit>& inputs, std::size_t total, const Stream& stream) {
  const std::size_t components = total / 2;
  struct Drawn {
    double mass = 0;  ///< Σ_k log of the weight of the member drawn
    std::vector<double> mean;
    std::vector<double> scale;
  };
  std::vector<Drawn> drawn(components);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const std::vector<std::size_t> stratum = shuffled(components, stream.child("order", k));
    for (std::size_t q = 0; q < components; ++q) {
      const double u = (static_cast<double>(stratum[q]) + stream.uniform(q, k)) / static_cast<double>(components);
      const SpectrumPeak& peak = inputs[k].peaks[member_at(inputs[k].peaks, u)];
      drawn[q].mass += std::log(peak.weight);
      drawn[q].mean.push_back(peak.mean);
      drawn[q].scale.push_back(peak.scale);
    }
  }
  std::stable_sort(drawn.begin(), drawn.end(), [](const Drawn& a, const Drawn& b) { return a.mass > b.mass; });
  SpectralMixture mixture;
  mixture.weights.assign(total, 1 / static_cast<double>(total));
  add_smooth(x, total - components, mixture);
  for (Drawn& component : drawn) {
    mixture.means.push_back(std::move(component.mean));
    mixture.scales.push_back(std::move(component.scale));
  }
  return mixture;
}

}  // namespace

InitialMixture initial_mixture(ConstMatrix x, std::span<const double> y, Index components, const Stream& stream) {
  if (components < 1) fail_argument("a spectral mixture needs at least one component, got " + std::to_string(components));
  if (x.cols < 1) fail_argument("a spectral mixture needs at least one input");
  if (x.rows != std::ssize(y)) {
    fail_argument("a spectral mixture needs as many targets as rows, got " + std::to_string(y.size()) + " and " +
                  std::to_string(x.rows));
  }
  const std::vector<Index> rows = rows_to_use(x, stream.child("rows"));
  std::vector<InputFit> inputs;
  double noise = 0.5;
  for (Index k = 0; k < x.cols; ++k) {
    inputs.push_back(fit_input(x, y, rows, k, components));
    noise = std::min(noise, inputs.back().noise);  // what other inputs explain looks like noise to this one
  }
  InitialMixture start;
  start.kernel = x.cols == 1 ? single(inputs[0].peaks) : combined(x, inputs, static_cast<std::size_t>(components), stream);
  const double variance = finite_variance(y);
  const bool usable = std::isnormal(variance * 1e-6 / static_cast<double>(components));
  const double scale = usable ? variance : 2;
  start.noise = noise * scale;
  for (double& weight : start.kernel.weights) weight *= (1 - noise) * scale;
  return start;
}

std::vector<double> mixture_density(const SpectralMixture& mixture, Index input, std::span<const double> frequency) {
  std::vector<double> density(frequency.size());
  const auto k = static_cast<std::size_t>(input);
  for (std::size_t q = 0; q < mixture.weights.size(); ++q) {
    const double scale = mixture.scales[q][k];
    if (!(scale > 0)) continue;
    for (std::size_t i = 0; i < frequency.size(); ++i)
      density[i] += mixture.weights[q] * folded_density({Gaussian{}}, mixture.means[q][k], scale, frequency[i]);
  }
  return density;
}

}  // namespace mercer
