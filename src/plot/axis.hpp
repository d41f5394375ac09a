#pragma once
#include <string>
#include <vector>

#include "base/timeline.hpp"
#include "plot/svg.hpp"

namespace mercer::plot {

struct Tick {
  double value = 0;
  Label label;  ///< empty text: a faint line without a number
};

/// About `count` ticks at multiples of 1, 2, 2.5 or 5 · 10^k inside [low, high], low < high.
std::vector<Tick> linear_ticks(double low, double high, int count);

/// Ticks for a logarithmic axis over [low, high], 0 < low < high: powers of ten as 10^k, with unlabelled lines at 2 … 9
/// times them where there is room; 1, 2, 5 times powers of ten on less than two decades; linear_ticks on less still.
std::vector<Tick> log_ticks(double low, double high, int count);

/// Ticks for an axis of time over [low, high], low < high: years, months, days, hours, minutes or seconds, of which about
/// `count` fit. A label says the larger unit only where it changes: "Oct 1959", "Jan 1960", "Apr". Where `unit` is none, the
/// steps are less than seconds or the years have no calendar: linear_ticks.
std::vector<Tick> calendar_ticks(double low, double high, int count, Timeline::Unit unit);

/// Smallest and largest of the values that can be drawn; on a logarithmic axis those are the positive ones.
struct Range {
  double low = 0;
  double high = 0;
  bool empty = true;
  void add(double value);
};

/// Whether a value has a place on a chart: finite, not so large that differences overflow, positive on a logarithmic axis.
bool drawable(double value, bool log);

/// Maps data to pixels: [low, high] to [first, last], linearly in the value or its logarithm.
class Axis {
 public:
  /// Widens the range by `padding` of its length at either end (on a linear axis not across 0), and a range of one point to
  /// something that can be divided by.
  Axis(Range range, bool log, double padding, Timeline::Unit time = Timeline::Unit::none);

  void place(double first, double last, int tick_count);
  double pixel(double value) const;
  bool log() const { return log_; }
  double low() const { return low_; }
  double high() const { return high_; }
  const std::vector<Tick>& ticks() const { return ticks_; }
  /// Ticks as they would be with this many, before the axis is placed.
  std::vector<Tick> ticks_for(int tick_count) const;

 private:
  bool log_;
  Timeline::Unit time_;
  double low_ = 0;
  double high_ = 1;
  double first_ = 0;
  double last_ = 1;
  std::vector<Tick> ticks_;
};

}  // namespace mercer::plot
