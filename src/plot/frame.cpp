#include "plot/frame.hpp"

#include <algorithm>

namespace mercer::plot {

namespace {

const Paint major_line{.stroke = "#e3e3e3"};
const Paint minor_line{.stroke = "#f2f2f2"};
const Paint axis_line{.stroke = "#8a8a8a"};

}  // namespace

double draw_title(Svg& svg, const std::string& title, const Box& area) {
  if (title.empty()) return area.y;
  constexpr double smallest = 12;
  const double natural = text_width({title, ""}, title_size);
  const double size = std::clamp(title_size * area.width / std::max(natural, 1.0), smallest, title_size);
  svg.text({area.x, area.y + title_size - 2}, {cut_to_width(title, size, area.width), ""},
           {.size = size, .colour = "#1a1a1a", .bold = true});
  return area.y + title_height;
}

double widest(const std::vector<Tick>& ticks) {
  double width = 0;
  for (const Tick& tick : ticks) width = std::max(width, text_width(tick.label, tick_size));
  return width;
}

void draw_grid(Svg& svg, const Box& plot, const Axis& x, const Axis& y) {
  for (const bool labelled : {false, true}) {
    const Paint& paint = labelled ? major_line : minor_line;
    for (const Tick& tick : x.ticks()) {
      if (tick.label.text.empty() == labelled) continue;
      const double at = x.pixel(tick.value);
      svg.line({at, plot.y}, {at, plot.bottom()}, paint);
    }
    for (const Tick& tick : y.ticks()) {
      if (tick.label.text.empty() == labelled) continue;
      const double at = y.pixel(tick.value);
      svg.line({plot.x, at}, {plot.right(), at}, paint);
    }
  }
}

void draw_axes(Svg& svg, const Box& plot, const Axis& x, const Axis& y, const std::string& x_label,
               const std::string& y_label, double left) {
  constexpr double tick_length = 4;
  svg.line({plot.x, plot.bottom()}, {plot.right(), plot.bottom()}, axis_line);
  svg.line({plot.x, plot.y}, {plot.x, plot.bottom()}, axis_line);
  for (const Tick& tick : x.ticks()) {
    if (tick.label.text.empty()) continue;
    const double at = x.pixel(tick.value);
    svg.line({at, plot.bottom()}, {at, plot.bottom() + tick_length}, axis_line);
    svg.text({at, plot.bottom() + 18}, tick.label, {.size = tick_size, .anchor = "middle", .colour = "#4d4d4d"});
  }
  for (const Tick& tick : y.ticks()) {
    if (tick.label.text.empty()) continue;
    const double at = y.pixel(tick.value);
    svg.line({plot.x - tick_length, at}, {plot.x, at}, axis_line);
    svg.text({plot.x - 8, at + 0.35 * tick_size}, tick.label, {.size = tick_size, .anchor = "end", .colour = "#4d4d4d"});
  }
  svg.text({plot.x + plot.width / 2, plot.bottom() + x_axis_height + 18},
           {cut_to_width(x_label, label_size, plot.width), ""}, {.size = label_size, .anchor = "middle"});
  svg.text({left + label_size - 3, plot.y + plot.height / 2}, {cut_to_width(y_label, label_size, plot.height), ""},
           {.size = label_size, .anchor = "middle", .angle = -90});
}

}  // namespace mercer::plot
