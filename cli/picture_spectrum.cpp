// The learned spectral density against the empirical one.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/fail.hpp"
#include "base/matrix.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "gp/mixture.hpp"
#include "gp/periodogram.hpp"
#include "model/learned.hpp"
#include "pictures.hpp"
#include "plot/axis.hpp"
#include "plot/chart.hpp"

namespace mercer::cli {
namespace {

constexpr double days_per_year = 365.2425;

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

struct Columns {
  std::vector<std::vector<double>> inputs, targets;
};

/// All rows by columns: a spectrum needs them together.
Columns gather(Dataset& data, Index memory_bytes) {
  const Index width = data.input_count() + data.target_count();
  Columns columns;
  columns.inputs.resize(at(data.input_count()));
  columns.targets.resize(at(data.target_count()));
  RowBlock block;
  data.rewind();
  Index rows = 0;
  while (data.next(4096, block)) {
    check_stop();
    rows += block.rows();
    if (static_cast<double>(rows) * static_cast<double>(width) * 64 > static_cast<double>(memory_bytes))
      fail_argument("an empirical spectrum needs its rows in memory, and these do not fit the budget; raise --memory");
    for (Index i = 0; i < block.rows(); ++i) {
      for (Index k = 0; k < block.inputs.cols; ++k) columns.inputs[at(k)].push_back(block.inputs(i, k));
      for (Index a = 0; a < block.targets.cols; ++a) columns.targets[at(a)].push_back(block.targets(i, a));
    }
  }
  return columns;
}

/// In what people count frequencies of rows that stretch over `range`.
struct FrequencyUnit {
  double length = 1;  ///< in units of the input
  std::string name;
};

FrequencyUnit frequency_unit(Timeline::Unit unit, double range, const std::string& input) {
  if (unit == Timeline::Unit::years) return {1, "year"};
  if (unit == Timeline::Unit::none) return {1, "unit of " + input};
  if (range >= 2 * days_per_year) return {days_per_year, "year"};
  if (range >= 2) return {1, "day"};
  return range >= 2.0 / 24 ? FrequencyUnit{1.0 / 24, "hour"} : FrequencyUnit{1.0 / 1440, "minute"};
}

/// What is drawn of one output over one input, frequencies in cycles per unit of the input.
struct Panel {
  const Model& model;
  Index output = 0;
  Index input = 0;
  double resolution = 0;  ///< 1 / range of the rows
  double highest = 0;     ///< frequency
  double noise = 0;       ///< density of the white noise
  Spectrum empirical = {};
  std::vector<SpectralComponent> components = {};
  Kernel envelope = {};  ///< law of the components

  double frequency(const SpectralComponent& c) const { return std::abs(c.frequency[at(input)]); }
  /// Rows of finite length show any peak at least as wide as this.
  double spread(const SpectralComponent& c) const { return std::hypot(c.spread[at(input)], hann_peak_scale * resolution); }
  double density(const SpectralComponent& c, double s) const {
    return c.weight * folded_density(envelope, frequency(c), spread(c), s);
  }
  double density(double s) const {
    double sum = noise;
    for (const SpectralComponent& c : components) sum += density(c, s);
    return sum;
  }
  double lowest() const { return resolution / 2; }
};

plot::Range training_range(const Panel& panel, const Columns* columns) {
  plot::Range range;
  const auto& timeline = panel.model.state().recipe.timeline;
  if (columns != nullptr) {
    for (const double x : columns->inputs[at(panel.input)]) {
      if (std::isfinite(x)) range.add(x);
    }
  } else if (timeline) {
    range.add(timeline->first);
    range.add(timeline->last);
  } else {  // two deviations to either side of the mean
    range.add(0);
    range.add(4 * panel.model.state().recipe.scaling.input_scale[at(panel.input)]);
  }
  return range;
}

Panel make_panel(const Model& model, Index output, Index input, const Columns* columns) {
  const Model::State& s = model.state();
  Panel panel{model, output, input};
  panel.components = model.spectrum(output);
  panel.envelope = learned_mixture(s, output)->envelope;
  const plot::Range range = training_range(panel, columns);
  const double length = range.high - range.low;
  if (!(length > 0) || !std::isfinite(length))
    fail_argument("these rows do not differ in their input; there is no spectrum");
  panel.resolution = 1 / length;
  for (const SpectralComponent& c : panel.components) {
    panel.highest = std::max(panel.highest, panel.frequency(c) + 3 * panel.spread(c));
  }
  if (s.recipe.timeline && s.recipe.timeline->step > 0) panel.highest = 0.5 / s.recipe.timeline->step;
  if (columns != nullptr) {
    panel.empirical = empirical_spectrum(columns->inputs[at(input)], columns->targets[at(output)], Taper::hann);
    // The line of a linear mean is no part of the process.
    if (learned_mean(s, output).size() > 1 && !panel.empirical.power.empty())
      panel.empirical.power.front() = std::max(0.0, panel.empirical.power.front() - panel.empirical.trend);
    panel.highest = std::max(panel.highest, panel.empirical.highest);
  }
  panel.highest = std::max(panel.highest, 4 * panel.resolution);
  const double unit = s.recipe.scaling.target_scale[at(output)];
  panel.noise = s.noise[at(output)] * unit * unit / panel.highest;
  return panel;
}

/// Even in the logarithm, and close enough at every peak.
std::vector<double> frequencies(const Panel& panel) {
  constexpr double even = 500;
  std::vector<double> grid;
  const double ratio = panel.highest / panel.lowest();
  for (double i = 0; i <= even; ++i) grid.push_back(panel.lowest() * std::pow(ratio, i / even));
  for (const SpectralComponent& c : panel.components) {
    for (double z = -4; z <= 4; z += 0.5) grid.push_back(panel.frequency(c) + z * panel.spread(c));
  }
  std::erase_if(grid, [&](double s) { return !(s >= panel.lowest() && s <= panel.highest); });
  std::ranges::sort(grid);
  return grid;
}

plot::Series series_of(const std::string& name, std::size_t colour) {
  plot::Series series{.name = name, .x = {}, .y = {}, .low = {}, .high = {}};
  series.colour = colour;
  return series;
}

/// Of many frequencies the mean over a few hundred stretches that are even in the logarithm.
plot::Series empirical_series(const Panel& panel, double length) {
  constexpr double stretches = 400;
  plot::Series series = series_of("spectrum of the rows", 7);
  series.stroke = 1.2;
  const std::vector<double> density = power_density(panel.empirical);
  const double ratio = std::log(panel.highest / panel.lowest());
  double place = -1;
  double count = 0;
  for (std::size_t i = 0; i < density.size(); ++i) {
    const double s = panel.empirical.frequency[i];
    if (s < panel.lowest()) continue;
    const double here = std::floor(stretches * std::log(s / panel.lowest()) / ratio);
    if (here != place) {
      series.x.push_back(0);
      series.y.push_back(0);
      place = here;
      count = 0;
    }
    ++count;
    series.x.back() += (s * length - series.x.back()) / count;
    series.y.back() += (density[i] / length - series.y.back()) / count;
  }
  return series;
}

/// One shape per component, where it rises above the floor.
void add_components(const Panel& panel, const std::vector<double>& grid, double length, double floor,
                    plot::LineChart& chart) {
  bool first = true;
  for (const SpectralComponent& c : panel.components) {
    std::vector<double> height(grid.size());
    std::ranges::transform(grid, height.begin(), [&](double s) { return panel.density(c, s) / length; });
    if (*std::ranges::max_element(height) <= floor) continue;
    plot::Series series = series_of(std::exchange(first, false) ? "its components" : "", 0);
    series.mark = plot::Series::Mark::band;
    for (std::size_t i = 0; i < grid.size(); ++i) {
      const bool before = i > 0 && height[i - 1] > floor;
      const bool after = i + 1 < grid.size() && height[i + 1] > floor;
      if (!before && !after && height[i] <= floor) continue;
      series.x.push_back(grid[i] * length);
      series.high.push_back(std::max(height[i], floor));
    }
    series.low.assign(series.x.size(), floor);
    series.y = series.high;
    chart.series.push_back(std::move(series));
  }
}

struct Peak {
  double frequency = 0;
  double height = 0;
  double prominence = 0;  ///< height over the lowest point on the way to a higher peak, by the better way
};

/// The local maxima of a curve, the most prominent first. O(points · peaks).
std::vector<Peak> peaks_of(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<Peak> peaks;
  const double least = *std::ranges::min_element(y);
  for (std::size_t i = 0; i + 1 < y.size(); ++i) {
    if ((i > 0 && y[i] <= y[i - 1]) || y[i] < y[i + 1]) continue;
    double left = y[i];
    double right = y[i];
    std::size_t from = i;
    std::size_t to = i;
    for (; from > 0 && y[from - 1] <= y[i]; --from) left = std::min(left, y[from - 1]);
    for (; to + 1 < y.size() && y[to + 1] <= y[i]; ++to) right = std::min(right, y[to + 1]);
    const double left_way = from == 0 ? least : left;  // nothing higher there
    const double right_way = to + 1 == y.size() ? least : right;
    peaks.push_back({x[i], y[i], y[i] / std::max(left_way, right_way)});
  }
  std::ranges::stable_sort(peaks, std::ranges::greater{}, &Peak::prominence);
  return peaks;
}

/// The periods at peaks that stand out: those of the component that is the highest there.
void add_notes(const Panel& panel, const plot::Series& learned, double length, Timeline::Unit unit, plot::LineChart& chart) {
  constexpr double least_prominence = 2;
  constexpr std::size_t most = 8;
  for (const Peak& peak : peaks_of(learned.x, learned.y)) {
    if (peak.prominence < least_prominence || chart.notes.size() >= most) break;
    const auto owner = std::ranges::max_element(
        panel.components, {}, [&](const SpectralComponent& c) { return panel.density(c, peak.frequency / length); });
    const double s = panel.frequency(*owner);
    chart.notes.push_back({peak.frequency, peak.height, s < panel.resolution ? "trend" : brief_span(unit, 1 / s)});
  }
}

plot::LineChart chart_of(const Panel& panel, Index panels) {
  const Recipe& recipe = panel.model.state().recipe;
  const std::vector<std::string> inputs = recipe.schema.input_names();
  const std::string input = inputs.empty() ? "x" : inputs[at(panel.input)];
  const std::string target = recipe.output_names()[at(panel.output)];
  const Timeline::Unit unit = recipe.timeline ? recipe.timeline->unit() : Timeline::Unit::none;
  const FrequencyUnit per = frequency_unit(unit, 1 / panel.resolution, input);
  plot::LineChart chart;
  chart.title = "Spectrum of " + target + (inputs.size() > 1 ? " along " + input : "");
  chart.x_label = "frequency, cycles per " + per.name;
  chart.y_label = "power per frequency";
  chart.log_x = chart.log_y = true;
  chart.width = 900;
  chart.height = panels == 1 ? 460 : 340;

  plot::Series learned = series_of("learned spectrum and noise", 0);
  plot::Range range;
  const std::vector<double> grid = frequencies(panel);
  for (const double s : grid) {
    learned.x.push_back(s * per.length);
    learned.y.push_back(panel.density(s) / per.length);
    range.add(learned.y.back());
  }
  plot::Series empirical = empirical_series(panel, per.length);
  std::vector<double> heights = empirical.y;
  std::ranges::sort(heights);
  if (!heights.empty()) {
    range.add(heights.back());
    range.add(std::max(heights[heights.size() / 50], 1e-12 * range.high));  // stray zeros do not stretch the axis
  }
  chart.y_low = std::max(range.low / 3, 1e-14 * range.high);
  chart.y_high = range.high * std::pow(range.high / chart.y_low, 0.12);  // room for the words at the peaks
  if (!empirical.x.empty()) chart.series.push_back(std::move(empirical));
  add_notes(panel, learned, per.length, unit, chart);
  chart.series.push_back(std::move(learned));
  add_components(panel, grid, per.length, chart.y_low, chart);
  plot::Series noise = series_of("noise", 2);
  noise.mark = plot::Series::Mark::dashed;
  noise.stroke = 1.5;
  noise.x = {panel.lowest() * per.length, panel.highest * per.length};
  noise.y.assign(2, panel.noise / per.length);
  chart.series.push_back(std::move(noise));
  return chart;
}

}  // namespace

Picture spectrum_picture(const Model& model, const std::string& name, Dataset* data, Index memory_bytes) {
  if (!learned_mixture(model.state(), 0)) {
    fail_argument(name +
                  " has no learned spectrum; fit one with --gp spectral_mixture, or exact or vfe with --kernel "
                  "spectral_mixture:10");
  }
  std::optional<Columns> columns;
  if (data != nullptr) columns = gather(*data, memory_bytes);
  const Index all = model.outputs() * model.inputs();
  Picture picture;
  picture.panels = std::min(all, most_panels);
  std::vector<plot::LineChart> charts;
  for (Index i = 0; i < picture.panels; ++i) {
    check_stop();
    const Panel panel = make_panel(model, i / model.inputs(), i % model.inputs(), columns ? &*columns : nullptr);
    charts.push_back(chart_of(panel, picture.panels));
  }
  if (columns) picture.points = std::ssize(columns->inputs.front());
  picture.svg = plot::render(charts);
  if (all > most_panels)
    picture.notes.push_back("the first 6 of " + std::to_string(all) + " spectra (outputs times inputs) are drawn");
  return picture;
}

}  // namespace mercer::cli
