#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "plot/axis.hpp"
#include "plot/chart.hpp"
#include "plot/colour.hpp"
#include "plot/frame.hpp"

namespace mercer::plot {

namespace {

constexpr double bar_gap = 18;
constexpr double bar_width = 15;
constexpr std::size_t colour_levels = 256;

void check(const FieldChart& chart) {
  const std::size_t size = chart.x.size();
  if (chart.y.size() != size || chart.u.size() != size || chart.v.size() != size) {
    fail_argument("the arrows of a field chart have x, y, u and v of different lengths");
  }
  const Index cells = checked_product(chart.grid_rows, chart.grid_cols);
  if (!chart.background.empty() && static_cast<Index>(chart.background.size()) != cells) {
    fail_argument("the background of a field chart has " + std::to_string(chart.background.size()) + " numbers instead of " +
                  std::to_string(chart.grid_rows) + " x " + std::to_string(chart.grid_cols));
  }
}

bool arrow_drawable(const FieldChart& chart, std::size_t i) {
  return drawable(chart.x[i], false) && drawable(chart.y[i], false) && drawable(chart.u[i], false) &&
         drawable(chart.v[i], false);
}

/// The given bounds, or those of the arrows' places with a margin.
Axis axis_of(const FieldChart& chart, double low, double high, const std::vector<double>& places) {
  Range range;
  if (low < high && drawable(low, false) && drawable(high, false)) {
    range.add(low);
    range.add(high);
    return {range, false, 0};
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (arrow_drawable(chart, i)) range.add(places[i]);
  }
  const double room = 0.08 * (range.high - range.low);  // for half an arrow, on both sides of 0 too
  return {{range.low - room, range.high + room, range.empty}, false, 0};
}

/// Height and width of the plot with the box's own proportions, as large as fits; from 6 to 1 on, the longer side is
/// squeezed.
Box plot_box(const Axis& x, const Axis& y, double left, double top, double room_x, double room_y) {
  const double ratio = std::clamp((x.high() - x.low()) / (y.high() - y.low()), 1.0 / 6, 6.0);
  const double height = std::min(room_y, room_x / ratio);
  return {left, top, height * ratio, height};
}

Range background_range(const FieldChart& chart) {
  Range range;
  for (const double value : chart.background) {
    if (drawable(value, false)) range.add(value);
  }
  return range;
}

/// All cells of one colour are one element, and those side by side in a row one box of it.
void draw_background(Svg& svg, const FieldChart& chart, const Box& plot, const Axis& colour) {
  const auto rows = static_cast<std::size_t>(chart.grid_rows);
  const auto cols = static_cast<std::size_t>(chart.grid_cols);
  constexpr std::size_t no_value = colour_levels;
  constexpr double overlap = 0.4;  // pixels; cells that only touch leave white slits where their edges are rounded apart
  const auto level = [&](std::size_t row, std::size_t col) {
    const double value = chart.background[row * cols + col];
    return drawable(value, false) ? static_cast<std::size_t>(std::lround(colour.pixel(value) * (colour_levels - 1)))
                                  : no_value;
  };
  const double width = plot.width / static_cast<double>(cols);
  const double height = plot.height / static_cast<double>(rows);
  std::vector<std::vector<Box>> boxes(colour_levels + 1);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < cols;) {
      const std::size_t here = level(row, col);
      std::size_t end = col + 1;
      while (end < cols && level(row, end) == here) ++end;
      boxes[here].push_back({plot.x + static_cast<double>(col) * width,
                             plot.bottom() - static_cast<double>(row + 1) * height,
                             static_cast<double>(end - col) * width + overlap, height + overlap});
      col = end;
    }
  }
  for (std::size_t i = 0; i < colour_levels; ++i) {
    svg.boxes(boxes[i], {.fill = viridis(static_cast<double>(i) / (colour_levels - 1)), .crisp = true});
  }
  svg.boxes(boxes[no_value], {.fill = "#eeeeee", .crisp = true});
}

void draw_colour_bar(Svg& svg, const FieldChart& chart, const Box& bar, Axis colour) {
  constexpr int steps = 64;
  for (int i = 0; i < steps; ++i) {
    const double height = bar.height / steps;
    svg.rect({bar.x, bar.bottom() - (i + 1) * height, bar.width, height},
             {.fill = viridis((i + 0.5) / steps), .crisp = true});
  }
  colour.place(bar.bottom(), bar.y, 5);
  for (const Tick& tick : colour.ticks()) {
    const double at = colour.pixel(tick.value);
    svg.line({bar.right(), at}, {bar.right() + 4, at}, {.stroke = "#8a8a8a"});
    svg.text({bar.right() + 8, at + 0.35 * tick_size}, tick.label, {.size = tick_size, .colour = "#4d4d4d"});
  }
  const double label_x = bar.right() + 8 + widest(colour.ticks()) + 16;
  svg.text({label_x, bar.y + bar.height / 2}, {cut_to_width(chart.background_label, label_size, bar.height), ""},
           {.size = label_size, .anchor = "middle", .angle = -90});
}

struct Arrows {
  std::vector<std::size_t> drawn;  // indices
  double reference = 0;            // the magnitude that is drawn longest
  double longest = 0;              // in pixels
};

/// The longest arrow spans the mean distance of neighbours, √(area / n). A few outliers (over twice the 95th percentile) do
/// not shrink all others: they are cut to that length.
Arrows scale_arrows(const FieldChart& chart, const Box& plot) {
  Arrows arrows;
  std::vector<double> magnitudes;
  for (std::size_t i = 0; i < chart.x.size(); ++i) {
    if (!arrow_drawable(chart, i)) continue;
    arrows.drawn.push_back(i);
    magnitudes.push_back(std::hypot(chart.u[i], chart.v[i]));
  }
  if (magnitudes.empty()) return arrows;
  std::sort(magnitudes.begin(), magnitudes.end());
  const double high = magnitudes[(magnitudes.size() - 1) * 95 / 100];
  arrows.reference = high > 0 ? std::min(magnitudes.back(), 2 * high) : magnitudes.back();
  const double spacing = std::sqrt(plot.width * plot.height / static_cast<double>(magnitudes.size()));
  arrows.longest = std::clamp(1.1 * spacing, 8.0, std::max(8.0, 0.25 * std::min(plot.width, plot.height)));
  return arrows;
}

/// Shaft and head as one outline of seven corners, centred at `middle`, pointing to (dx, dy) of unit length.
std::vector<Spot> arrow_outline(Spot middle, double dx, double dy, double length) {
  const double head = std::min(0.42 * length, 9.0);
  const double half_head = 0.40 * head;
  const double half_shaft = std::clamp(0.045 * length, 0.5, 1.3);
  const auto at = [&](double along, double across) {
    return Spot{middle.x + along * dx - across * dy, middle.y + along * dy + across * dx};
  };
  const double tail = -length / 2;
  const double neck = length / 2 - head;
  return {at(tail, -half_shaft), at(neck, -half_shaft), at(neck, -half_head), at(length / 2, 0),
          at(neck, half_head),   at(neck, half_shaft),  at(tail, half_shaft)};
}

void draw_arrows(Svg& svg, const FieldChart& chart, const Arrows& arrows, const Axis& x, const Axis& y) {
  const bool on_colour = !chart.background.empty();
  const Paint paint{
      .fill = on_colour ? "#ffffff" : series_colour(0), .stroke = on_colour ? "#222222" : "none", .stroke_width = 0.5};
  for (const std::size_t i : arrows.drawn) {
    const Spot middle{x.pixel(chart.x[i]), y.pixel(chart.y[i])};
    const double magnitude = std::hypot(chart.u[i], chart.v[i]);
    const double length = arrows.reference > 0 ? arrows.longest * std::min(1.0, magnitude / arrows.reference) : 0;
    if (length < 1.5) {
      svg.circle(middle, 1, paint);
    } else {
      svg.path(arrow_outline(middle, chart.u[i] / magnitude, -chart.v[i] / magnitude, length), true, paint);
    }
  }
}

/// What the longest arrow stands for, at the right end of the line under the plot, where there is room.
void draw_arrow_key(Svg& svg, const Arrows& arrows, const Box& plot) {
  constexpr double least_width = 250;
  if (arrows.reference <= 0 || plot.width < least_width) return;
  std::array<char, 32> number{};
  const auto end =
      std::to_chars(number.data(), number.data() + number.size(), arrows.reference, std::chars_format::general, 3);
  svg.text({plot.right(), plot.bottom() + x_axis_height + 17}, {"longest arrow " + std::string(number.data(), end.ptr), ""},
           {.size = 11, .anchor = "end", .colour = "#777777"});
}

}  // namespace

std::string render(const FieldChart& chart) {
  check(chart);
  constexpr int tick_count = 5;
  Axis x = axis_of(chart, chart.x_min, chart.x_max, chart.x);
  Axis y = axis_of(chart, chart.y_min, chart.y_max, chart.y);
  Axis colour(background_range(chart), false, 0);
  colour.place(0, 1, tick_count);  // the share of the colour map
  const bool has_bar = !chart.background.empty();
  const double bar_room =
      !has_bar ? 0
               : bar_gap + bar_width + 8 + widest(colour.ticks()) + (chart.background_label.empty() ? 0 : axis_label_height);

  const double left = margin - 4 + (chart.y_label.empty() ? 0 : axis_label_height) + widest(y.ticks_for(tick_count)) + 8;
  const double top = margin + (chart.title.empty() ? 0 : title_height);
  const double under = x_axis_height + (chart.x_label.empty() && chart.x.empty() ? 0 : axis_label_height) - 4 + margin;
  const Box plot = plot_box(x, y, left, top, chart_width - left - bar_room - margin - 4, chart_height - top - under);
  x.place(plot.x, plot.right(), std::max(2, static_cast<int>(plot.width / 75)));
  y.place(plot.bottom(), plot.y, std::clamp(static_cast<int>(plot.height / 55), 1, tick_count));

  const double width = plot.right() + bar_room + margin + 4;
  Svg svg(width, plot.bottom() + under, chart.title);
  draw_title(svg, chart.title, {left, margin, width - left - margin, 0});
  svg.begin_clip(plot);
  if (has_bar) {
    draw_background(svg, chart, plot, colour);
  } else {
    draw_grid(svg, plot, x, y);
  }
  const Arrows arrows = scale_arrows(chart, plot);
  draw_arrows(svg, chart, arrows, x, y);
  svg.end_clip();
  draw_arrow_key(svg, arrows, plot);
  if (has_bar) draw_colour_bar(svg, chart, {plot.right() + bar_gap, plot.y, bar_width, plot.height}, colour);
  draw_axes(svg, plot, x, y, chart.x_label, chart.y_label, margin - 4);
  return std::move(svg).finish();
}

}  // namespace mercer::plot
