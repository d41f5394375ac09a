#include <algorithm>
#include <array>
#include <cstddef>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "plot/axis.hpp"
#include "plot/chart.hpp"
#include "plot/colour.hpp"
#include "plot/frame.hpp"

namespace mercer::plot {

namespace {

constexpr double legend_row = 21;
constexpr double swatch = 26;
constexpr std::size_t most_legend_rows = 5;

bool has_line(const Series& series) {
  return series.mark != Series::Mark::points;
}
bool has_points(const Series& series) {
  return series.mark == Series::Mark::points || series.mark == Series::Mark::line_points;
}
bool has_band(const Series& series) {
  return !series.low.empty();
}

/// The eight colours come again with other dashes, so that sixteen series can be told apart, and more.
Paint line_paint(const Series& series, std::size_t number) {
  constexpr std::array<const char*, 4> again = {"", "2 4", "10 4 2 4", "12 6"};
  const char* dash = series.mark == Series::Mark::dashed ? "7 5" : again[number / series_colours % again.size()];
  return {.stroke = series_colour(number), .stroke_width = 2, .dash = dash};
}

void check(const LineChart& chart) {
  for (const Series& series : chart.series) {
    const std::size_t size = series.x.size();
    const bool band = series.low.size() == series.high.size() && (series.low.empty() || series.low.size() == size);
    if (series.y.size() != size || !band) {
      fail_argument("the series " + mercer::quoted(series.name) + " of a chart has x, y, low and high of different lengths");
    }
  }
}

Range x_range(const LineChart& chart) {
  Range range;
  for (const Series& series : chart.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      const bool seen = drawable(series.y[i], chart.log_y) ||
                        (has_band(series) && drawable(series.low[i], chart.log_y) && drawable(series.high[i], chart.log_y));
      if (seen && drawable(series.x[i], chart.log_x)) range.add(series.x[i]);
    }
  }
  return range;
}

Range y_range(const LineChart& chart) {
  Range range;
  for (const Series& series : chart.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!drawable(series.x[i], chart.log_x)) continue;
      if (drawable(series.y[i], chart.log_y)) range.add(series.y[i]);
      if (!has_band(series) || !drawable(series.low[i], chart.log_y) || !drawable(series.high[i], chart.log_y)) continue;
      range.add(series.low[i]);
      range.add(series.high[i]);
    }
  }
  return range;
}

struct LegendEntry {
  std::size_t series = 0;
  std::string name;
  Spot where;
};

/// Entries side by side in rows over the plot, where no data can be. Rows beyond the fifth are summed up in a last entry.
std::vector<LegendEntry> lay_out_legend(const LineChart& chart, const Box& area) {
  std::vector<LegendEntry> entries;
  Spot next{area.x, area.y + legend_row / 2};
  std::size_t row = 1;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    if (chart.series[i].name.empty()) continue;
    const std::string name = cut_to_width(chart.series[i].name, tick_size, area.width - swatch - 8);
    const double width = swatch + 8 + text_width({name, ""}, tick_size);
    if (next.x > area.x && next.x + width > area.right()) {
      next = {area.x, next.y + legend_row};
      ++row;
    }
    if (row > most_legend_rows) {
      ++left_out;
      continue;
    }
    entries.push_back({i, name, next});
    next.x += width + 14;
  }
  if (left_out > 0) entries.back().name = "… and " + std::to_string(left_out + 1) + " more";
  return entries;
}

void draw_legend(Svg& svg, const LineChart& chart, const std::vector<LegendEntry>& entries) {
  for (const LegendEntry& entry : entries) {
    const Series& series = chart.series[entry.series];
    const Spot at = entry.where;
    if (has_band(series)) {
      svg.rect({at.x, at.y - 6, swatch, 12}, {.fill = series_colour(entry.series), .opacity = 0.18});
    }
    if (has_line(series)) svg.line(at, {at.x + swatch, at.y}, line_paint(series, entry.series));
    if (has_points(series)) svg.circle({at.x + swatch / 2, at.y}, 3.5, {.fill = series_colour(entry.series)});
    svg.text({at.x + swatch + 8, at.y + 0.35 * tick_size}, {entry.name, ""}, {.size = tick_size});
  }
}

/// The shaded bands: one closed path per unbroken run, there along the upper edge and back along the lower.
void draw_band(Svg& svg, const Series& series, std::size_t number, const Axis& x, const Axis& y) {
  std::vector<Spot> upper;
  std::vector<Spot> lower;
  const auto flush = [&] {
    upper.insert(upper.end(), lower.rbegin(), lower.rend());
    svg.path(upper, true, {.fill = series_colour(number), .opacity = 0.18});
    upper.clear();
    lower.clear();
  };
  for (std::size_t i = 0; i < series.low.size(); ++i) {
    if (!drawable(series.x[i], x.log()) || !drawable(series.low[i], y.log()) || !drawable(series.high[i], y.log())) {
      flush();
      continue;
    }
    upper.push_back({x.pixel(series.x[i]), y.pixel(series.high[i])});
    lower.push_back({x.pixel(series.x[i]), y.pixel(series.low[i])});
  }
  flush();
}

void draw_series(Svg& svg, const Series& series, std::size_t number, const Axis& x, const Axis& y) {
  std::vector<Spot> run;
  std::vector<Spot> all;
  const auto flush = [&] {
    if (has_line(series) && run.size() > 1) svg.path(run, false, line_paint(series, number));
    if (has_line(series) && run.size() == 1) svg.circle(run[0], 2, {.fill = series_colour(number)});
    run.clear();
  };
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (!drawable(series.x[i], x.log()) || !drawable(series.y[i], y.log())) {
      flush();
      continue;
    }
    run.push_back({x.pixel(series.x[i]), y.pixel(series.y[i])});
    all.push_back(run.back());
  }
  flush();
  if (!has_points(series)) return;
  const bool crowded = all.size() > 200;
  for (const Spot& spot : all) {
    if (has_line(series)) {
      svg.circle(spot, 3.8, {.fill = series_colour(number), .stroke = "#ffffff", .stroke_width = 1.2});
    } else {
      svg.circle(spot, crowded ? 2 : 3.2, {.fill = series_colour(number), .opacity = crowded ? 0.45 : 0.75});
    }
  }
}

}  // namespace

std::string render(const LineChart& chart) {
  check(chart);
  constexpr int x_ticks = 7;
  constexpr int y_ticks = 6;
  Axis x(x_range(chart), chart.log_x, 0.02);
  Axis y(y_range(chart), chart.log_y, 0.05);

  Svg svg(chart_width, chart_height, chart.title);
  const double left = margin - 4 + (chart.y_label.empty() ? 0 : axis_label_height) + widest(y.ticks_for(y_ticks)) + 8;
  const Box area{left, margin, chart_width - left - margin - 4, chart_height - 2 * margin};
  double top = draw_title(svg, chart.title, area);
  const auto legend = lay_out_legend(chart, {area.x, top, area.width, 0});
  if (!legend.empty()) top = legend.back().where.y + legend_row / 2 + 9;
  const double bottom = area.bottom() - x_axis_height - (chart.x_label.empty() ? 0 : axis_label_height) + 4;
  const Box plot{area.x, top, area.width, bottom - top};
  x.place(plot.x, plot.right(), x_ticks);
  y.place(plot.bottom(), plot.y, y_ticks);

  draw_grid(svg, plot, x, y);
  draw_legend(svg, chart, legend);
  svg.begin_clip({plot.x - 5, plot.y - 5, plot.width + 10, plot.height + 10});  // markers at the edge stay whole
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    if (has_band(chart.series[i])) draw_band(svg, chart.series[i], i, x, y);
  }
  for (std::size_t i = 0; i < chart.series.size(); ++i) draw_series(svg, chart.series[i], i, x, y);
  svg.end_clip();
  draw_axes(svg, plot, x, y, chart.x_label, chart.y_label, margin - 4);
  return std::move(svg).finish();
}

}  // namespace mercer::plot
