#include "gp/spectrum_mixture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

namespace mercer {
namespace {

/// Neighbouring frequencies taken together, in units of the resolution: squares of any frequency then fit into a double.
struct Cell {
  double frequency = 0;
  double width = 0;
  double share = 0;  ///< of all power
};

/// At most about 4096 cells, fine where the power is.
std::vector<Cell> gather(const Spectrum& spectrum) {
  constexpr double most = 2048;
  const double step = spectrum.frequency[0] / spectrum.resolution;
  const double total = std::accumulate(spectrum.power.begin(), spectrum.power.end(), 0.0);
  const double widest = std::max(1.0, static_cast<double>(spectrum.power.size()) / most) * step;
  std::vector<Cell> cells;
  Cell cell;
  cell.width = step / 2;  // the first also stands for the half step next to 0
  double count = 0;
  for (std::size_t k = 0; k < spectrum.power.size(); ++k) {
    const double share = total > 0 ? spectrum.power[k] / total : 1 / static_cast<double>(spectrum.power.size());
    cell.frequency += spectrum.frequency[k] / spectrum.resolution;
    cell.width += step;
    count += 1;
    cell.share += share;
    if (cell.share < 1 / most && cell.width < widest && k + 1 < spectrum.power.size()) continue;
    cell.frequency /= count;
    cells.push_back(cell);
    cell = {};
    count = 0;
  }
  return cells;
}

/// The least scale, in units of the resolution. Both ends of the series then correlate by exp(-2π² 0.05²) = 0.95: steadier
/// than the rows could tell, and forecasts of a cycle that is steady err little more than with a scale of 0.
constexpr double steadiest = 0.05;

double normal_density(double away, double scale) {
  const double z = away / scale;
  return std::exp(-z * z / 2) / (scale * std::sqrt(2 * std::numbers::pi));
}

class Fit {
 public:
  Fit(const Spectrum& spectrum, double floor)
      : cells_(gather(spectrum)), resolution_(spectrum.resolution), highest_(spectrum.highest / spectrum.resolution) {
    const double total = std::accumulate(spectrum.power.begin(), spectrum.power.end(), 0.0);
    const double flat = total > 0 ? floor * static_cast<double>(spectrum.power.size()) / total : 0;
    background_ = std::clamp(flat, 1e-4, 0.9);
  }

  /// A Gaussian as wide as one cycle's peak where most power is unexplained, measured over the width of such a peak; where
  /// all is explained, a wide one somewhere else for each call (golden section), with next to no weight.
  void add() {
    const auto [where, mass] = most_unexplained();
    constexpr double least = 1e-4;
    SpectrumPeak peak{std::max(mass, least), where, hann_peak_scale};
    if (mass < least) {
      const double turns = static_cast<double>(peaks_.size()) * std::numbers::phi;
      peak.mean = highest_ * (turns - std::floor(turns));
      peak.scale = std::max(peak.scale, highest_ / 8);
    }
    for (SpectrumPeak& other : peaks_) other.weight *= (1 - peak.weight);
    if (peaks_.empty()) peak.weight = 1;
    peaks_.push_back(peak);
  }

  /// Expectation maximisation with each cell's power shared between background, peaks at s and mirror images at -s.
  void improve(int steps) {
    constexpr double settled = 1e-9;
    double before = -std::numeric_limits<double>::infinity();
    for (int i = 0; i < steps; ++i) {
      const double now = step();
      if (now - before < settled * std::abs(now)) return;
      before = now;
    }
  }

  /// Peaks no wider than a cycle's, from the centre of their power to the top they belong to.
  void move_to_tops(const Spectrum& spectrum) {
    const std::vector<double>& power = spectrum.power;
    const double step = spectrum.frequency[0];
    for (SpectrumPeak& peak : peaks_) {
      if (peak.scale > 1.5 * hann_peak_scale) continue;
      const double nearest = std::round(peak.mean * resolution_ / step) - 1;
      auto k = static_cast<std::size_t>(std::clamp(nearest, 0.0, static_cast<double>(power.size() - 1)));
      while (k > 0 && power[k - 1] > power[k]) --k;
      while (k + 1 < power.size() && power[k + 1] > power[k]) ++k;
      if (k == 0 || k + 1 == power.size()) continue;  // a slope without a top
      const double top = peak_top(spectrum, k) / resolution_;
      if (std::abs(top - peak.mean) < hann_peak_scale) peak.mean = top;
    }
  }

  std::vector<SpectrumPeak> result() const {
    std::vector<SpectrumPeak> peaks = peaks_;
    for (SpectrumPeak& peak : peaks) {
      double own = peak.scale * peak.scale - hann_peak_scale * hann_peak_scale;
      if (peak.mean < trend_cycles) {
        own += peak.mean * peak.mean;
        peak.mean = 0;
      }
      peak.scale = resolution_ * std::max(std::sqrt(std::max(own, 0.0)), steadiest);
      peak.mean = resolution_ * std::max(peak.mean, 0.05);
    }
    return peaks;
  }

 private:
  struct Sums {
    double mass = 0;
    double first = 0;
    double second = 0;
  };

  double density(double frequency) const {
    double sum = background_ / highest_;
    for (const SpectrumPeak& peak : peaks_) {
      sum += (1 - background_) * peak.weight *
             (normal_density(frequency - peak.mean, peak.scale) + normal_density(frequency + peak.mean, peak.scale));
    }
    return sum;
  }

  /// A cycle's peak is not quite Gaussian: next to one, a tenth of its power may stay unexplained without being a cycle.
  double expected_misfit(double frequency) const {
    const double reach = 4 * hann_peak_scale;
    double sum = 0;
    for (const SpectrumPeak& peak : peaks_) {
      if (std::abs(frequency - peak.mean) < reach) sum += 0.1 * (1 - background_) * peak.weight;
    }
    return sum;
  }

  std::pair<double, double> most_unexplained() const {
    std::vector<double> excess(cells_.size());
    for (std::size_t i = 0; i < cells_.size(); ++i)
      excess[i] = cells_[i].share - density(cells_[i].frequency) * cells_[i].width;
    const double reach = 2 * hann_peak_scale;
    std::pair<double, double> best{0, -1};
    double sum = 0;
    std::size_t first = 0;
    std::size_t last = 0;
    for (const Cell& cell : cells_) {
      for (; last < cells_.size() && cells_[last].frequency <= cell.frequency + reach; ++last) sum += excess[last];
      for (; cells_[first].frequency < cell.frequency - reach; ++first) sum -= excess[first];
      const double rest = sum - expected_misfit(cell.frequency);
      if (rest > best.second) best = {cell.frequency, rest};
    }
    return best;
  }

  double step() {
    std::vector<Sums> sums(peaks_.size());
    std::vector<double> near(peaks_.size());
    std::vector<double> mirrored(peaks_.size());
    double likelihood = 0;
    for (const Cell& cell : cells_) {
      double total = background_ / highest_;
      for (std::size_t q = 0; q < peaks_.size(); ++q) {
        const double weight = (1 - background_) * peaks_[q].weight;
        near[q] = weight * normal_density(cell.frequency - peaks_[q].mean, peaks_[q].scale);
        mirrored[q] = weight * normal_density(cell.frequency + peaks_[q].mean, peaks_[q].scale);
        total += near[q] + mirrored[q];
      }
      likelihood += cell.share * std::log(total);
      const double unit = cell.share / total;
      for (std::size_t q = 0; q < peaks_.size(); ++q) {
        const double both = unit * (near[q] + mirrored[q]);
        sums[q].mass += both;
        sums[q].first += unit * (near[q] - mirrored[q]) * cell.frequency;
        sums[q].second += both * cell.frequency * cell.frequency;
      }
    }
    update(sums);
    return likelihood;
  }

  void update(const std::vector<Sums>& sums) {
    double total = 0;
    for (const Sums& part : sums) total += part.mass;
    if (!(total > 0)) return;
    constexpr double empty = 1e-12;
    for (std::size_t q = 0; q < sums.size(); ++q) {
      peaks_[q].weight = std::max(sums[q].mass / total, empty);
      if (sums[q].mass < empty) continue;  // too little to say where it should be
      const double mean = sums[q].first / sums[q].mass;
      const double variance = sums[q].second / sums[q].mass - mean * mean;
      peaks_[q].mean = std::abs(mean);
      peaks_[q].scale = std::max(std::sqrt(std::max(variance, 0.0)), 0.5 * hann_peak_scale);
    }
  }

  std::vector<Cell> cells_;
  std::vector<SpectrumPeak> peaks_;  // in units of the resolution
  double resolution_;
  double highest_;
  double background_;
};

}  // namespace

double noise_floor(const Spectrum& spectrum) {
  std::vector<double> power = spectrum.power;
  if (power.empty()) return 0;
  const auto middle = power.begin() + static_cast<std::ptrdiff_t>(power.size() / 2);
  std::nth_element(power.begin(), middle, power.end());
  return *middle / std::numbers::ln2;
}

std::vector<SpectrumPeak> fit_spectrum(const Spectrum& spectrum, double floor, Index components) {
  const double total = std::accumulate(spectrum.power.begin(), spectrum.power.end(), 0.0);
  const bool own_trend = components > 1 && spectrum.trend > 0.01 * total;
  Spectrum cycles = spectrum;
  if (own_trend) cycles.power[0] = std::max(cycles.power[0] - spectrum.trend, 0.0);
  Fit fit(cycles, floor);
  for (Index q = own_trend ? 1 : 0; q < components; ++q) {
    fit.add();
    fit.improve(20);
  }
  fit.improve(100);
  fit.move_to_tops(cycles);
  std::vector<SpectrumPeak> peaks = fit.result();
  if (own_trend) {
    const double share = std::min(spectrum.trend / total, 1.0);
    for (SpectrumPeak& peak : peaks) peak.weight *= 1 - share;
    peaks.push_back({share, spectrum.resolution / 20, spectrum.resolution / 10});
  }
  double sum = 0;
  for (SpectrumPeak& peak : peaks) {
    peak.weight = std::max(peak.weight, 1e-3 / static_cast<double>(components));
    sum += peak.weight;
  }
  for (SpectrumPeak& peak : peaks) peak.weight /= sum;
  std::stable_sort(peaks.begin(), peaks.end(), [](const auto& a, const auto& b) { return a.weight > b.weight; });
  return peaks;
}

}  // namespace mercer
