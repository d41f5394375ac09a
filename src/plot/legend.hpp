#pragma once
#include <string>
#include <vector>

#include "plot/chart.hpp"
#include "plot/svg.hpp"

namespace mercer::plot {

struct LegendEntry {
  std::size_t series = 0;
  std::string name;
  Spot where;
};

constexpr double legend_row = 21;

/// Entries side by side in rows over the plot, where no data can be. Rows beyond the fifth are summed up in a last entry.
std::vector<LegendEntry> lay_out_legend(const LineChart& chart, const Box& area);
void draw_legend(Svg& svg, const LineChart& chart, const std::vector<LegendEntry>& entries);

}  // namespace mercer::plot
