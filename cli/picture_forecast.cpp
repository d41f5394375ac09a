// The series with its forecast and bands.
#include <algorithm>
#include <cmath>

#include "base/fail.hpp"
#include "base/matrix.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "console.hpp"
#include "model/state.hpp"
#include "pictures.hpp"
#include "plot/axis.hpp"
#include "plot/chart.hpp"

namespace mercer::cli {
namespace {

constexpr std::size_t row_colour = 6;    // dark grey
constexpr std::size_t later_colour = 1;  // vermilion
constexpr std::size_t mean_colour = 0;   // blue

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

struct Points {
  std::vector<double> x, y;
};

/// The rows that can be drawn. Of more than 5000 each of 1250 equal stretches of x keeps its least, greatest, first and last
/// target, so that no peak is lost: two passes, O(1) memory.
class RowPoints {
 public:
  RowPoints(Dataset& data, double from) {
    each_row(data, from, [this](double x, Index /*target*/, double /*y*/) {
      range_.add(x);
      ++count_;
    });
    points_.resize(at(std::clamp<Index>(data.target_count(), 1, most_panels)));
    if (count_ == 0) return;
    const bool all = count_ <= most * std::ssize(points_);
    const Points empty{std::vector<double>(at(most), std::nan("")), std::vector<double>(at(most), std::nan(""))};
    if (!all) std::ranges::fill(points_, empty);
    each_row(data, from, [&](double x, Index target, double y) {
      Points& points = points_[at(target)];
      if (all) {
        points.x.push_back(x);
        points.y.push_back(y);
        return;
      }
      const double share = (x - range_.low) / std::max(range_.high - range_.low, 1e-300);
      const Index stretch = std::min(stretches - 1, static_cast<Index>(share * static_cast<double>(stretches)));
      const auto keep = [&](Index slot) {
        points.x[at(4 * stretch + slot)] = x;
        points.y[at(4 * stretch + slot)] = y;
      };
      const auto kept = [&](Index slot) { return points.y[at(4 * stretch + slot)]; };
      if (!(kept(0) <= y)) keep(0);  // also where there is none yet
      if (!(kept(1) >= y)) keep(1);
      if (std::isnan(kept(2))) keep(2);
      keep(3);
    });
    thinned_ = !all;
  }

  bool thinned() const { return thinned_; }
  const Points& of(Index target) const { return points_[at(target)]; }

 private:
  static constexpr Index most = 5000;
  static constexpr Index stretches = most / 4;

  template <class Use>
  static void each_row(Dataset& data, double from, const Use& use) {
    RowBlock block;
    data.rewind();
    while (data.next(4096, block)) {
      check_stop();
      for (Index i = 0; i < block.rows(); ++i) {
        const double x = block.inputs(i, 0);
        if (!plot::drawable(x, false) || x < from) continue;
        for (Index a = 0; a < std::min(block.targets.cols, most_panels); ++a) {
          if (plot::drawable(block.targets(i, a), false)) use(x, a, block.targets(i, a));
        }
      }
    }
  }

  plot::Range range_;
  Index count_ = 0;
  bool thinned_ = false;
  std::vector<Points> points_;
};

/// What stretch of x is shown.
struct View {
  double from = 0;
  double to = 0;
  std::optional<double> training_end;
  bool cut = false;  ///< the training rows begin before `from`
};

plot::Range input_range(Dataset& data) {
  plot::Range range;
  RowBlock block;
  data.rewind();
  while (data.next(4096, block)) {
    check_stop();
    for (Index i = 0; i < block.rows(); ++i) {
      if (plot::drawable(block.inputs(i, 0), false)) range.add(block.inputs(i, 0));
    }
  }
  return range;
}

View view_of(const Model& model, const std::string& name, Dataset* data, std::optional<double> until) {
  plot::Range range = data == nullptr ? plot::Range{} : input_range(*data);
  const auto& timeline = model.state().recipe.timeline;
  if (!timeline) {
    if (range.empty)
      fail_argument(name + " does not say where its training rows lie; give their file after it to see the function there");
    return {range.low, range.high, std::nullopt, false};
  }
  range.add(timeline->first);
  range.add(timeline->last);
  View view{range.low, range.high, std::nullopt, false};
  if (until) {
    // A horizon of a day after years of hours would not be seen: some twenty times as much of the past, at most.
    constexpr double least_steps = 2000;
    const double past = std::max(least_steps * timeline->step, 20 * (std::max(*until, range.high) - timeline->last));
    view.to = std::max(view.to, *until);
    view.cut = timeline->last - past > view.from;
    if (view.cut) view.from = timeline->last - past;
  } else if (timeline->ordered) {
    view.to = std::max(view.to, timeline->last + (timeline->last - timeline->first) / 4);
  }
  if (view.to > timeline->last) view.training_end = timeline->last;
  return view;
}

/// Evenly spaced, twice as many as steps of the series where that is from 400 to 2000, and the end of training.
std::vector<double> grid_of(const View& view, double step) {
  const double steps = step > 0 ? (view.to - view.from) / step : 0;
  const double count = std::clamp(2 * steps, 400.0, 2000.0);
  if (!(view.to > view.from)) return {view.from};
  std::vector<double> grid;
  for (double i = 0; i <= count; ++i) grid.push_back(view.from + (view.to - view.from) * (i / count));
  if (view.training_end) grid.insert(std::ranges::upper_bound(grid, *view.training_end), *view.training_end);
  return grid;
}

struct Predicted {
  std::vector<double> grid;
  Matrix<double> mean, deviation, lower, upper;
};

Predicted predict_over(const Model& model, std::vector<double> grid) {
  const auto n = static_cast<Index>(grid.size());
  const ConstMatrix x(grid.data(), n, 1);
  const bool spread = model.summary().loss == "square" && model.has_uncertainty() && !model.has_intervals();
  const Index intervals = model.has_intervals() ? model.interval_outputs() : 0;
  Predicted p{{},
              Matrix<double>(n, model.outputs()),
              Matrix<double>(spread ? n : 0, model.outputs()),
              Matrix<double>(n, intervals),
              Matrix<double>(n, intervals)};
  if (spread) {
    model.predict(x, p.mean, p.deviation);
  } else {
    model.predict(x, p.mean);
  }
  if (intervals > 0) model.predict_interval(x, p.lower, p.upper);
  p.grid = std::move(grid);
  return p;
}

std::vector<double> column(const Matrix<double>& m, Index a) {
  std::vector<double> values(at(m.rows()));
  for (Index i = 0; i < m.rows(); ++i) values[at(i)] = m(i, a);
  return values;
}

plot::Band normal_band(const Predicted& p, Index a, double quantile) {
  plot::Band band{column(p.mean, a), column(p.mean, a)};
  for (Index i = 0; i < p.mean.rows(); ++i) {
    band.low[at(i)] -= quantile * p.deviation(i, a);
    band.high[at(i)] += quantile * p.deviation(i, a);
  }
  return band;
}

/// The bands of a series, the widest first.
void set_bands(std::vector<plot::Band> bands, plot::Series& series) {
  if (bands.empty()) return;
  series.low = std::move(bands.front().low);
  series.high = std::move(bands.front().high);
  bands.erase(bands.begin());
  series.inner = std::move(bands);
}

plot::Series mean_series(const Model& model, const Predicted& p, Index a) {
  constexpr double quarter_quantile = 0.6744897501960817;    // Φ⁻¹(0.75)
  constexpr double twentieth_quantile = 1.6448536269514722;  // Φ⁻¹(0.95)
  plot::Series series{.name = "prediction", .x = p.grid, .y = column(p.mean, a), .low = {}, .high = {}};
  series.colour = mean_colour;
  series.stroke = 1.5;
  if (!p.deviation.empty()) {
    series.name += " with 50 % and 90 % bands";
    set_bands({normal_band(p, a, twentieth_quantile), normal_band(p, a, quarter_quantile)}, series);
  } else if (!p.lower.empty()) {
    series.name += " with intervals of level " + brief(100 * model.summary().interval_level.value_or(0)) + " %";
    set_bands({{column(p.lower, a), column(p.upper, a)}}, series);
  }
  return series;
}

/// Quantiles as a fan: bands between the lowest and the highest, and so on inwards; a line for the one in the middle.
plot::Series fan_series(const Model& model, const Predicted& p) {
  const std::vector<double>& levels = model.state().recipe.levels;
  const auto count = static_cast<Index>(levels.size());
  const std::string kind = model.summary().loss.starts_with("expectile") ? "expectile" : "quantile";
  plot::Series series{.name = "", .x = p.grid, .y = {}, .low = {}, .high = {}};
  series.colour = mean_colour;
  series.stroke = 1.5;
  series.mark = count % 2 == 1 ? plot::Series::Mark::line : plot::Series::Mark::band;
  series.y = column(p.mean, count / 2);
  std::vector<plot::Band> bands;
  std::vector<std::string> pairs;
  for (Index k = 0; k < count / 2; ++k) {
    bands.push_back({column(p.mean, k), column(p.mean, count - 1 - k)});
    pairs.push_back(shortest(levels[at(k)]) + " to " + shortest(levels[at(count - 1 - k)]));
  }
  set_bands(std::move(bands), series);
  if (count % 2 == 1) series.name = kind + " " + shortest(levels[at(count / 2)]);
  if (!pairs.empty()) series.name += (series.name.empty() ? kind + "s " : " with bands ") + join(pairs, ", ");
  return series;
}

plot::Series point_series(const std::string& name, std::size_t colour) {
  plot::Series series{.name = name, .x = {}, .y = {}, .low = {}, .high = {}, .mark = plot::Series::Mark::points};
  series.colour = colour;
  return series;
}

/// Points up to the end of training, and those after it that the model has not seen.
void add_points(const Points& points, std::optional<double> training_end, plot::LineChart& chart) {
  plot::Series before = point_series("rows", row_colour);
  plot::Series after = point_series("rows after training", later_colour);
  for (std::size_t i = 0; i < points.x.size(); ++i) {
    if (!std::isfinite(points.y[i])) continue;
    plot::Series& part = training_end && points.x[i] > *training_end ? after : before;
    part.x.push_back(points.x[i]);
    part.y.push_back(points.y[i]);
  }
  for (plot::Series* part : {&before, &after}) {
    if (!part->x.empty()) chart.series.push_back(std::move(*part));
  }
}

/// Far from the training rows a function may run anywhere. The picture is three times as high as the rows and what is
/// predicted among them; true where a prediction leaves it.
bool limit_height(const View& view, plot::LineChart& chart) {
  if (!view.training_end) return false;
  plot::Range inside;
  plot::Range all;
  for (const plot::Series& series : chart.series) {
    const bool rows = series.mark == plot::Series::Mark::points;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      for (const double y : {series.y[i], series.low.empty() ? series.y[i] : series.low[i],
                             series.high.empty() ? series.y[i] : series.high[i]}) {
        if (!plot::drawable(y, false)) continue;
        all.add(y);
        if (rows || series.x[i] <= *view.training_end) inside.add(y);
      }
    }
  }
  const double height = inside.high - inside.low;
  const double low = inside.low - height;
  const double high = inside.high + height;
  if (inside.empty || !(height > 0) || (all.low >= low && all.high <= high)) return false;
  chart.y_low = std::max(low, all.low);
  chart.y_high = std::min(high, all.high);
  return true;
}

void check_model(const Model& model, const std::string& name) {
  if (!model.classes().empty()) fail_argument(name + " tells classes apart; pictures are of models that predict numbers");
  if (model.inputs() != 1)
    fail_argument(
        name + " has " + std::to_string(model.inputs()) +
        " inputs, and a forecast is drawn over one; --what spectrum and --what training draw processes of several");
}

}  // namespace

Picture forecast_picture(const Model& model, const std::string& name, Dataset* data, std::optional<double> until) {
  check_model(model, name);
  const Recipe& recipe = model.state().recipe;
  const View view = view_of(model, name, data, until);
  const Predicted predicted = predict_over(model, grid_of(view, recipe.timeline ? recipe.timeline->step : 0));
  if (std::ranges::none_of(predicted.mean.values(), [](double v) { return plot::drawable(v, false); }))
    fail_argument(name + " predicts no finite number here, so there is nothing to draw");
  std::optional<RowPoints> points;
  if (data != nullptr && data->has_targets()) points.emplace(*data, view.from);

  const bool fan = !recipe.levels.empty();
  const std::vector<std::string> targets =
      fan && !recipe.schema.targets.empty() ? recipe.schema.targets : recipe.output_names();
  const Index all = fan ? 1 : model.outputs();
  Picture picture;
  picture.panels = std::min(all, most_panels);
  std::vector<plot::LineChart> charts;
  for (Index a = 0; a < picture.panels; ++a) {
    plot::LineChart chart;
    const std::string& target = targets[at(a)];
    chart.title = (view.training_end ? "Forecast of " : "Prediction of ") + target;
    chart.x_label = recipe.schema.inputs.empty() ? "" : recipe.schema.inputs.front().name;
    chart.y_label = target;
    chart.x_time = recipe.timeline ? recipe.timeline->unit() : Timeline::Unit::none;
    chart.width = 900;
    chart.height = picture.panels == 1 ? 440 : 320;
    if (view.training_end) chart.rules.push_back({*view.training_end, "training ends"});
    if (points) add_points(points->of(a), view.training_end, chart);
    for (const plot::Series& series : chart.series) picture.points += std::ssize(series.x);
    chart.series.push_back(fan ? fan_series(model, predicted) : mean_series(model, predicted, a));
    if (limit_height(view, chart)) picture.notes.push_back("the forecast of " + target + " leaves the picture");
    charts.push_back(std::move(chart));
  }
  picture.svg = plot::render(charts);
  if (all > most_panels) picture.notes.push_back("the first 6 of " + std::to_string(all) + " outputs are drawn");
  if (view.cut)
    picture.notes.push_back("the picture begins at " + format_time(*recipe.timeline, view.from) +
                            ", so that the horizon can be seen");
  if (points && points->thinned())
    picture.notes.emplace_back("more than 5 000 rows: of neighbouring ones the highest, the lowest and two more are drawn");
  return picture;
}

}  // namespace mercer::cli
