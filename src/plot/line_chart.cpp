#include <algorithm>
#include <cstddef>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "plot/axis.hpp"
#include "plot/chart.hpp"
#include "plot/frame.hpp"
#include "plot/legend.hpp"
#include "plot/series.hpp"

namespace mercer::plot {

namespace {

constexpr double rule_text_height = 17;

void check(const LineChart& chart) {
  for (const Series& series : chart.series) {
    const std::size_t size = series.x.size();
    const bool band = series.low.size() == series.high.size() && (series.low.empty() || series.low.size() == size);
    const bool inner = std::ranges::all_of(
        series.inner, [&](const Band& b) { return has_band(series) && b.low.size() == size && b.high.size() == size; });
    if (series.y.size() != size || !band || !inner) {
      fail_argument("the series " + mercer::quoted(series.name) + " of a chart has x, y, low and high of different lengths");
    }
  }
  if (!(chart.width >= 200 && chart.width <= 10000 && chart.height >= 150 && chart.height <= 10000))
    fail_argument("a chart is from 200 x 150 to 10000 x 10000 pixels large");
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
  if (chart.y_low < chart.y_high && drawable(chart.y_low, chart.log_y) && drawable(chart.y_high, chart.log_y))
    return {chart.y_low, chart.y_high, false};
  Range range;
  for (const Series& series : chart.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!drawable(series.x[i], chart.log_x)) continue;
      if (series.mark != Series::Mark::band && drawable(series.y[i], chart.log_y)) range.add(series.y[i]);
      if (!has_band(series) || !drawable(series.low[i], chart.log_y) || !drawable(series.high[i], chart.log_y)) continue;
      range.add(series.low[i]);
      range.add(series.high[i]);
    }
  }
  return range;
}

/// The middle of a text that is wanted at `x` and has to stay within the plot.
double middle_inside(double x, double width, const Box& plot) {
  const double half = std::min(width, plot.width) / 2;
  return std::clamp(x, plot.x + half, plot.right() - half);
}

void draw_rules(Svg& svg, const LineChart& chart, const Box& plot, const Axis& x) {
  for (const Rule& rule : chart.rules) {
    if (!drawable(rule.x, x.log()) || rule.x < x.low() || rule.x > x.high()) continue;
    const double at = x.pixel(rule.x);
    svg.line({at, plot.y - 3}, {at, plot.bottom()}, {.stroke = "#666666", .stroke_width = 1.2, .dash = "4 3"});
    svg.text({middle_inside(at, text_width({rule.text, ""}, tick_size), plot), plot.y - 7}, {rule.text, ""},
             {.size = tick_size, .anchor = "middle", .colour = "#4d4d4d"});
  }
}

bool overlap(const Box& a, const Box& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

void draw_notes(Svg& svg, const LineChart& chart, const Box& plot, const Axis& x, const Axis& y) {
  constexpr double line = tick_size + 3;
  constexpr int tries = 4;
  std::vector<Box> taken;
  for (const Note& note : chart.notes) {
    if (!drawable(note.x, x.log()) || !drawable(note.y, y.log()) || note.x < x.low() || note.x > x.high()) continue;
    const Label label{note.text, ""};
    const double width = text_width(label, tick_size) + 2;
    const double middle = middle_inside(x.pixel(note.x), width, plot);
    double base = std::min(y.pixel(note.y) - 7, plot.bottom() - 4);
    for (int i = 0; i < tries; ++i, base -= line) {
      const Box box{middle - width / 2, std::max(base, plot.y + line) - tick_size, width, line};
      if (std::ranges::any_of(taken, [&](const Box& other) { return overlap(box, other); })) continue;
      const Spot foot{x.pixel(note.x), y.pixel(note.y) - 2};
      if (i > 0) svg.line({std::clamp(foot.x, box.x + 4, box.right() - 4), box.bottom()}, foot, {.stroke = "#8a8a8a"});
      svg.text({middle, box.y + tick_size - 1}, label,
               {.size = tick_size, .anchor = "middle", .colour = "#1a1a1a", .halo = true});
      taken.push_back(box);
      break;
    }
  }
}

constexpr double y_padding = 0.05;

int y_tick_count(const LineChart& chart) {
  return std::max(2, static_cast<int>(chart.height / 75));
}

/// Where the plot begins: after the name of the y axis and its numbers.
double left_edge(const LineChart& chart) {
  check(chart);
  const Axis y(y_range(chart), chart.log_y, y_padding);
  return margin - 4 + (chart.y_label.empty() ? 0 : axis_label_height) + widest(y.ticks_for(y_tick_count(chart))) + 8;
}

std::string render_from(const LineChart& chart, double left) {
  Axis x(x_range(chart), chart.log_x, 0.02, chart.x_time);
  Axis y(y_range(chart), chart.log_y, y_padding);

  Svg svg(chart.width, chart.height, chart.title);
  const Box area{left, margin, chart.width - left - margin - 4, chart.height - 2 * margin};
  double top = draw_title(svg, chart.title, area);
  const auto legend = lay_out_legend(chart, {area.x, top, area.width, 0});
  if (!legend.empty()) top = legend.back().where.y + legend_row / 2 + 9;
  if (!chart.rules.empty()) top += rule_text_height;
  const double bottom = area.bottom() - x_axis_height - (chart.x_label.empty() ? 0 : axis_label_height) + 4;
  const Box plot{area.x, top, area.width, bottom - top};
  x.place(plot.x, plot.right(), static_cast<int>(chart.width / 100));
  y.place(plot.bottom(), plot.y, y_tick_count(chart));

  draw_grid(svg, plot, x, y);
  draw_legend(svg, chart, legend);
  svg.begin_clip({plot.x - 5, plot.y - 5, plot.width + 10, plot.height + 10});  // markers at the edge stay whole
  for (std::size_t i = 0; i < chart.series.size(); ++i) draw_bands(svg, chart.series[i], i, x, y);
  for (std::size_t i = 0; i < chart.series.size(); ++i) draw_series(svg, chart.series[i], i, x, y);
  svg.end_clip();
  draw_rules(svg, chart, plot, x);
  draw_notes(svg, chart, plot, x, y);
  draw_axes(svg, plot, x, y, chart.x_label, chart.y_label, left - left_edge(chart) + margin - 4);
  return std::move(svg).finish();
}

}  // namespace

std::string render(const LineChart& chart) {
  return render_from(chart, left_edge(chart));
}

std::string render(const std::vector<LineChart>& charts) {
  double left = 0;
  for (const LineChart& chart : charts) left = std::max(left, left_edge(chart));
  std::vector<std::string> panels;
  for (const LineChart& chart : charts) panels.push_back(render_from(chart, left));
  return panels.size() == 1 ? panels.front() : put_together(panels, true);
}

}  // namespace mercer::plot
