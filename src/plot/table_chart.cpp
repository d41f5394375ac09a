#include <algorithm>
#include <cstddef>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "plot/axis.hpp"
#include "plot/chart.hpp"
#include "plot/colour.hpp"
#include "plot/frame.hpp"

namespace mercer::plot {

namespace {

constexpr double longest_name = 130;

double widest_name(const std::vector<std::string>& names) {
  double width = 0;
  for (const std::string& name : names) width = std::max(width, text_width({name, ""}, tick_size));
  return std::min(width, longest_name);
}

/// White through blue, so that the printed numbers stay readable: dark on the light half, white on the dark one.
std::string cell_colour(double share) {
  const auto channel = [share](double full) { return static_cast<int>(255 - share * (255 - full)); };
  constexpr const char* digits = "0123456789abcdef";
  std::string text = "#";
  for (const int value : {channel(0x00), channel(0x72), channel(0xb2)}) {
    text += digits[value / 16];
    text += digits[value % 16];
  }
  return text;
}

void draw_cells(Svg& svg, const TableChart& chart, const Box& plot) {
  const std::size_t rows = chart.row_names.size();
  const std::size_t cols = chart.col_names.size();
  Range range;
  range.add(0);
  for (const double value : chart.values) {
    if (drawable(value, false)) range.add(value);
  }
  const double width = plot.width / static_cast<double>(cols);
  const double height = plot.height / static_cast<double>(rows);
  const double size = std::min(13.0, 0.42 * height);
  for (std::size_t i = 0; i < chart.values.size(); ++i) {
    const double value = chart.values[i];
    const std::size_t row = i / cols;
    const Box cell{plot.x + static_cast<double>(i % cols) * width, plot.y + static_cast<double>(row) * height, width,
                   height};
    const double share = drawable(value, false) && range.high > 0 ? std::clamp(value / range.high, 0.0, 1.0) : 0;
    svg.rect(cell, {.fill = cell_colour(share), .stroke = "#ffffff", .stroke_width = 1.5});
    const Label text{drawable(value, false) ? shortest(value) : "", ""};
    if (size < 7 || text_width(text, size) > width - 2) continue;
    svg.text({cell.x + width / 2, cell.y + height / 2 + 0.35 * size}, text,
             {.size = size,
              .anchor = "middle",
              .colour = share > 0.55 ? "#ffffff"
                        : value == 0 ? "#aaaaaa"
                                     : "#333333"});
  }
}

/// Where names would touch one another only every k-th is written.
std::size_t stride_for(double room_per_name, double needed) {
  std::size_t stride = 1;
  while (room_per_name * static_cast<double>(stride) < needed && stride < 1000000) stride *= 2;
  return stride;
}

void draw_names(Svg& svg, const TableChart& chart, const Box& plot) {
  const TextStyle style{.size = tick_size, .anchor = "end", .colour = "#4d4d4d"};
  const double height = plot.height / static_cast<double>(chart.row_names.size());
  for (std::size_t i = 0; i < chart.row_names.size(); i += stride_for(height, tick_size + 2)) {
    svg.text({plot.x - 8, plot.y + (static_cast<double>(i) + 0.5) * height + 0.35 * tick_size},
             {cut_to_width(chart.row_names[i], tick_size, longest_name), ""}, style);
  }
  const double width = plot.width / static_cast<double>(chart.col_names.size());
  TextStyle under = style;
  under.anchor = "middle";
  const std::size_t stride = stride_for(width, std::min(widest_name(chart.col_names), 60.0) + 6);
  for (std::size_t i = 0; i < chart.col_names.size(); i += stride) {
    svg.text({plot.x + (static_cast<double>(i) + 0.5) * width, plot.bottom() + 18},
             {cut_to_width(chart.col_names[i], tick_size, width * static_cast<double>(stride) - 4), ""}, under);
  }
}

}  // namespace

std::string render(const TableChart& chart) {
  const std::size_t rows = chart.row_names.size();
  const std::size_t cols = chart.col_names.size();
  if (chart.values.size() != rows * cols) fail_argument("a table chart needs one number for each row and column name");
  const double left = margin - 4 + (chart.y_label.empty() ? 0 : axis_label_height) + widest_name(chart.row_names) + 8;
  const double top = margin + (chart.title.empty() ? 0 : title_height);
  const double under = x_axis_height + (chart.x_label.empty() ? 0 : axis_label_height) - 4 + margin;
  const double room_x = chart_width - left - margin;
  const double room_y = chart_height - top - under;
  const double ratio = rows * cols == 0 ? 1 : static_cast<double>(cols) / static_cast<double>(rows);
  const double height = std::min(room_y, room_x / ratio);
  const Box plot{left, top, std::clamp(height * ratio, 60.0, room_x), std::max(height, 60.0)};

  const double width = plot.right() + margin + 4;
  Svg svg(width, plot.bottom() + under, chart.title);
  draw_title(svg, chart.title, {left, margin, width - left - margin, 0});
  if (rows * cols > 0) {
    draw_cells(svg, chart, plot);
    draw_names(svg, chart, plot);
  }
  svg.text({plot.x + plot.width / 2, plot.bottom() + x_axis_height + 18},
           {cut_to_width(chart.x_label, label_size, plot.width), ""}, {.size = label_size, .anchor = "middle"});
  svg.text({margin - 4 + label_size - 3, plot.y + plot.height / 2},
           {cut_to_width(chart.y_label, label_size, plot.height), ""},
           {.size = label_size, .anchor = "middle", .angle = -90});
  return std::move(svg).finish();
}

}  // namespace mercer::plot
