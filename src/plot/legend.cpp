#include "plot/legend.hpp"

#include "plot/frame.hpp"
#include "plot/series.hpp"

namespace mercer::plot {

namespace {

constexpr double swatch = 26;
constexpr std::size_t most_legend_rows = 5;

}  // namespace

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
    const std::string colour = colour_of(series, entry.series);
    if (has_band(series)) {
      const auto bands = static_cast<double>(series.inner.size() + 1);
      for (double k = bands; k > 0; --k) {  // as they lie in the chart: the inner ones over the others
        const double height = 12 * k / bands;
        svg.rect({at.x, at.y - height / 2, swatch, height}, {.fill = colour, .opacity = band_opacity});
      }
    }
    if (has_line(series)) svg.line(at, {at.x + swatch, at.y}, line_paint(series, entry.series));
    if (has_points(series)) svg.circle({at.x + swatch / 2, at.y}, 3.5, {.fill = colour});
    svg.text({at.x + swatch + 8, at.y + 0.35 * tick_size}, {entry.name, ""}, {.size = tick_size});
  }
}

}  // namespace mercer::plot
