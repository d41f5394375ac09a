#pragma once
#include <string>

#include "plot/axis.hpp"
#include "plot/svg.hpp"

namespace mercer::plot {

// What all charts share: sizes of text, colours of the furniture, title and axes.

constexpr double chart_width = 720;
constexpr double chart_height = 480;
constexpr double margin = 22;
constexpr double title_size = 17;
constexpr double label_size = 13.5;
constexpr double tick_size = 12;
constexpr double title_height = 30;
constexpr double x_axis_height = 22;  ///< tick labels under the plot
constexpr double axis_label_height = 24;

/// The title at the top left of `area`, smaller when it is long; returns the y under it.
double draw_title(Svg& svg, const std::string& title, const Box& area);

/// Documents of this library in one, from left to right or downwards.
std::string put_together(const std::vector<std::string>& svgs, bool downwards);

/// Width of the widest tick label.
double widest(const std::vector<Tick>& ticks);

/// Grid lines under the data.
void draw_grid(Svg& svg, const Box& plot, const Axis& x, const Axis& y);

/// Axis lines, tick labels and the names of the axes around `plot`; that of the y axis begins at x = `left`.
void draw_axes(Svg& svg, const Box& plot, const Axis& x, const Axis& y, const std::string& x_label,
               const std::string& y_label, double left);

}  // namespace mercer::plot
