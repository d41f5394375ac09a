#pragma once
#include <cstddef>

#include "plot/axis.hpp"
#include "plot/chart.hpp"
#include "plot/svg.hpp"

namespace mercer::plot {

// One series of a line chart, drawn with the colour of its number unless it has its own.

constexpr double band_opacity = 0.18;

bool has_line(const Series& series);
bool has_points(const Series& series);
bool has_band(const Series& series);
std::string colour_of(const Series& series, std::size_t number);
Paint line_paint(const Series& series, std::size_t number);

void draw_bands(Svg& svg, const Series& series, std::size_t number, const Axis& x, const Axis& y);
void draw_series(Svg& svg, const Series& series, std::size_t number, const Axis& x, const Axis& y);

}  // namespace mercer::plot
