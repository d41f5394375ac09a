#pragma once
#include <mercer/rows.hpp>

#include <optional>
#include <string>
#include <vector>

#include "base/calendar.hpp"

namespace mercer {

/// When the rows of a series stand: what is needed to go on after the last one and to name times and periods.
struct Timeline {
  enum class Unit { none, days, years };

  DateFormat format = DateFormat::none;
  double first = 0;     ///< least and greatest time, in whatever order the rows come
  double last = 0;      ///< days since 1970-01-01, years, or plain numbers
  double step = 0;      ///< the usual distance from one time to the next; 0 when rows are not at different times
  int months = 0;       ///< the calendar step (1 monthly, 3 quarterly, 12 yearly); 0 when steps are fixed
  int day = 0;          ///< with months: the day of the month they fall on, or the month's last if it has fewer
  bool ordered = true;  ///< no row is earlier than the one before
  Index repeats = 0;    ///< rows at the time of another
  bool operator==(const Timeline&) const = default;

  Unit unit() const {
    return counts_days(format) ? Unit::days : format == DateFormat::decimal_year ? Unit::years : Unit::none;
  }
};

/// One pass over rows with a single input; none for several. Gaps and repeated times do not disturb the step: it is the
/// median distance of different times, sharpened by the mean of those near it. Looks at distances of the first 2²⁰ rows.
std::optional<Timeline> find_timeline(RowSource& rows, DateFormat format);

/// The next `steps` times after the last row, as they read back from format_time. Months keep their day. Refuses a timeline
/// without a step, and times that cannot be written.
std::vector<double> horizon(const Timeline& timeline, Index steps);

/// A time as the file writes it.
std::string format_time(const Timeline& timeline, double value);

/// A period or distance in words: "1.00 year", "29.5 days", "6.2 hours", "11 minutes"; a number when there is no unit.
std::string format_span(Timeline::Unit unit, double value);
/// The same in few characters, for pictures: one decimal at most, months too: "1 year", "6 months", "29.5 days".
std::string brief_span(Timeline::Unit unit, double value);

}  // namespace mercer
