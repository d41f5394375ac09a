#pragma once
#include <mercer/view.hpp>

#include <optional>
#include <string>
#include <vector>

#include "base/timeline.hpp"

namespace mercer::plot {

struct Band {
  std::vector<double> low;
  std::vector<double> high;
};

/// One curve. Points that are not finite (on a logarithmic axis: not positive) are left out and interrupt the line.
struct Series {
  enum class Mark { line, dashed, points, line_points, band };  ///< band: nothing but its bands

  std::string name;  ///< for the legend; "" leaves it out there
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> low;   ///< lower edge of a shaded band, or empty
  std::vector<double> high;  ///< upper edge, or empty
  Mark mark = Mark::line;
  std::vector<Band> inner = {};            ///< further bands over the first, each making what it covers darker
  std::optional<std::size_t> colour = {};  ///< of series_colour; none: that of its place among the series
  double stroke = 2;                       ///< width of the line
};

/// A dashed vertical line, its text over the plot.
struct Rule {
  double x = 0;
  std::string text;
};

/// Words over a point. Where two would cover one another the later moves up, or goes.
struct Note {
  double x = 0;
  double y = 0;
  std::string text;
};

struct LineChart {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool log_x = false;
  bool log_y = false;
  std::vector<Series> series;
  Timeline::Unit x_time = Timeline::Unit::none;  ///< what x counts: ticks are then years, months, days, hours
  double y_low = 0;                              ///< what is shown; where y_low >= y_high it is taken from the series
  double y_high = 0;
  std::vector<Rule> rules;
  std::vector<Note> notes;
  double width = 720;
  double height = 480;
};

/// Arrows (u, v) centred at (x, y), over an optional coloured background.
struct FieldChart {
  std::string title;
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> u;
  std::vector<double> v;
  /// Empty, or grid_rows × grid_cols numbers by rows, the first row at y_min: the scalar at the centre of each cell of the
  /// box.
  std::vector<double> background;
  Index grid_rows = 0;
  Index grid_cols = 0;
  double x_min = 0;  ///< the box that is shown; where x_min >= x_max it is taken from the arrows
  double x_max = 0;
  double y_min = 0;
  double y_max = 0;
  std::string background_label;
  std::string x_label;
  std::string y_label;
};

/// A square table of counts or shares as coloured cells with their numbers, e.g. a confusion matrix.
struct TableChart {
  std::string title;
  std::vector<std::string> row_names;  ///< top to bottom
  std::vector<std::string> col_names;
  std::vector<double> values;  ///< row_names × col_names, by rows
  std::string x_label;
  std::string y_label;
};

/// Each chart as a whole SVG document, of a line chart's own size (fields and tables: as wide as they need to be, 480 high).
/// Throws Error(invalid_argument) where sizes do not agree.
std::string render(const LineChart& chart);
std::string render(const FieldChart& chart);
std::string render(const TableChart& chart);

/// Line charts over one another in one document, their plots beginning at the same x.
std::string render(const std::vector<LineChart>& charts);

/// Documents of this library next to one another in one document, from left to right.
std::string side_by_side(const std::vector<std::string>& svgs);

}  // namespace mercer::plot
