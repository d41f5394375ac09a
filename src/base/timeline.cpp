#include "base/timeline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"

namespace mercer {
namespace {

constexpr double days_per_year = 365.2425;
constexpr double day_milliseconds = 86'400'000;

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The mean of the distances within 5 % of the median: decimals cut off in a file (1949.083333) average out.
double usual_step(const std::vector<double>& distances) {
  const double middle = median(distances);
  double sum = 0;
  double count = 0;
  for (const double d : distances) {
    if (std::abs(d - middle) > 0.05 * middle) continue;
    sum += d;
    ++count;
  }
  return sum / count;
}

Index month_number(double days) {
  const CivilDate date = civil_from_days(static_cast<Index>(std::floor(days)));
  return 12 * date.year + date.month - 1;
}

/// Whether every time falls on the same day of the month (or on the last of a shorter month): its number, else 0.
int common_day(const std::vector<double>& times) {
  int day = 0;
  for (const double t : times) day = std::max(day, civil_from_days(static_cast<Index>(std::floor(t))).day);
  const bool common = std::ranges::all_of(times, [&](double t) {
    const CivilDate date = civil_from_days(static_cast<Index>(std::floor(t)));
    return date.day == std::min(day, days_in_month(date.year, date.month));
  });
  return common ? day : 0;
}

/// Months, quarters, years: times on one day of the month; or nearly always the same number of months apart, and yet not
/// the same number of days (the last working day of each month).
void find_months(const std::vector<double>& times, const std::vector<double>& distances, Timeline& timeline) {
  std::vector<double> apart;
  for (std::size_t i = 1; i < times.size(); ++i)
    apart.push_back(static_cast<double>(month_number(times[i]) - month_number(times[i - 1])));
  const double usual = median(apart);
  if (usual < 1) return;
  int day = common_day(times);
  if (day == 0) {
    const auto share = [](const std::vector<double>& values, double value) {
      return static_cast<double>(std::ranges::count(values, value)) / static_cast<double>(values.size());
    };
    if (share(apart, usual) < 0.9 || share(distances, median(distances)) > 0.75) return;
    day = civil_from_days(static_cast<Index>(std::floor(timeline.last))).day;
  }
  timeline.months = static_cast<int>(usual);
  timeline.day = day;
}

/// Dates step by whole days, times of day by whole milliseconds: what their text can say. A year has whole parts.
double writable(double step, DateFormat format) {
  const double per_year = std::round(1 / step);
  if (format == DateFormat::decimal_year && per_year >= 1 && std::abs(per_year * step - 1) < 1e-4) return 1 / per_year;
  if (!counts_days(format)) return step;
  const double parts = format == DateFormat::iso_datetime || format == DateFormat::iso_instant ? day_milliseconds : 1;
  return std::max(1.0, std::round(step * parts)) / parts;
}

/// From different times in ascending order, at least two.
void find_step(const std::vector<double>& times, Timeline& timeline) {
  std::vector<double> distances;
  for (std::size_t i = 1; i < times.size(); ++i) distances.push_back(times[i] - times[i - 1]);
  timeline.step = writable(usual_step(distances), timeline.format);
  if (timeline.unit() == Timeline::Unit::days) find_months(times, distances, timeline);
}

/// Months after the last time, on the day of the month that the rows have, at the same time of day.
double add_months(const Timeline& timeline, Index count) {
  const Index number = month_number(timeline.last) + timeline.months * count;
  const Index year = number / 12;
  const int month = static_cast<int>(number % 12) + 1;
  const CivilDate date{year, month, std::min(timeline.day, days_in_month(year, month))};
  return static_cast<double>(days_from_civil(date)) + (timeline.last - std::floor(timeline.last));
}

/// k steps after the last time; multiples of the step stay such (1960.916667 is 23531 twelfths).
double add_steps(const Timeline& timeline, Index k) {
  const double steps = timeline.last / timeline.step;
  const bool on_grid = std::abs(steps - std::round(steps)) < 1e-4 && std::abs(steps) < 1e9;
  if (timeline.unit() == Timeline::Unit::days || !on_grid) return timeline.last + static_cast<double>(k) * timeline.step;
  return (std::round(steps) + static_cast<double>(k)) * timeline.step;
}

/// A number to four digits more than the step needs: what adding up steps leaves behind is not worth writing.
double tidy(double value, double step) {
  const int decimals = std::max(static_cast<int>(std::ceil(-std::log10(step))) + 4, 0);
  if (decimals > 15 || std::abs(value) >= 1e15) return value;
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
  double read = value;
  parse_number(buffer.data(), read);
  return read == 0 ? 0 : read;
}

/// Three significant digits, without an exponent up to a million.
std::string three_digits(double value, bool zeros) {
  const double size = std::abs(value);
  std::array<char, 64> buffer{};
  if (!(size < 1e6) || size < 1e-3) {
    std::snprintf(buffer.data(), buffer.size(), "%.3g", value);
    return buffer.data();
  }
  int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
  std::string text = buffer.data();
  for (; !zeros && decimals > 0 && (text.back() == '0' || text.back() == '.'); text.pop_back()) {
    if (text.back() == '.') decimals = 0;
  }
  return text;
}

std::string with_noun(const std::string& number, const std::string& noun) {
  return number + " " + noun + (number == "1" || number == "1.00" ? "" : "s");
}

}  // namespace

std::optional<Timeline> find_timeline(RowSource& rows, DateFormat format) {
  constexpr std::size_t most = std::size_t{1} << 20U;
  if (rows.input_count() != 1) return std::nullopt;
  Timeline timeline;
  timeline.format = format;
  std::vector<double> times;
  Index count = 0;
  double before = 0;
  RowBlock block;
  rows.rewind();
  while (rows.next(4096, block)) {
    check_stop();
    for (Index i = 0; i < block.rows(); ++i) {
      const double t = block.inputs(i, 0);
      if (!std::isfinite(t)) continue;
      timeline.first = count == 0 ? t : std::min(timeline.first, t);
      timeline.last = count == 0 ? t : std::max(timeline.last, t);
      timeline.ordered = timeline.ordered && (count == 0 || t >= before);
      if (times.size() < most) times.push_back(t);
      before = t;
      ++count;
    }
  }
  if (count == 0) return std::nullopt;
  const bool cut = count > std::ssize(times);
  std::ranges::sort(times);
  const auto end = std::unique(times.begin(), times.end());  // the ranges form is beyond clang 14
  timeline.repeats = times.end() - end;
  times.erase(end, times.end());
  if (times.size() < 2) return timeline;
  if (cut && !timeline.ordered) {  // the first rows of a shuffled file are too far apart
    timeline.step = writable((timeline.last - timeline.first) / static_cast<double>(count - 1), format);
  } else {
    find_step(times, timeline);
  }
  if (!std::isfinite(timeline.step)) timeline.step = 0;
  return timeline;
}

std::vector<double> horizon(const Timeline& timeline, Index steps) {
  if (!(timeline.step > 0)) fail_argument("the training rows are not at different times, so there is no step to go on by");
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(steps));
  for (Index k = 1; k <= steps; ++k) {
    const double t = timeline.months > 0 ? add_months(timeline, k) : add_steps(timeline, k);
    times.push_back(timeline.unit() == Timeline::Unit::days ? to_millisecond(t) : tidy(t, timeline.step));
  }
  if (!times.empty()) format_time(timeline, times.back());  // refuses a last date that cannot be written
  if (!times.empty() && !std::isfinite(times.back())) fail_argument("so many steps lead beyond all numbers; take fewer");
  return times;
}

std::string format_time(const Timeline& timeline, double value) {
  return timeline.unit() == Timeline::Unit::days ? format_days(value, timeline.format) : shortest(value);
}

std::string format_span(Timeline::Unit unit, double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "unknown" : "infinite";
  if (unit == Timeline::Unit::none) return three_digits(value, false);
  const double days = unit == Timeline::Unit::years ? value * days_per_year : value;
  const double size = std::abs(days);
  if (size >= 0.95 * days_per_year) return with_noun(three_digits(days / days_per_year, true), "year");
  if (size >= 0.9995) return with_noun(three_digits(days, false), "day");
  if (size >= 0.9995 / 24) return with_noun(three_digits(days * 24, false), "hour");
  if (size >= 0.9995 / 1440) return with_noun(three_digits(days * 1440, false), "minute");
  return with_noun(three_digits(days * 86'400, false), "second");
}

std::string brief_span(Timeline::Unit unit, double value) {
  const double days = unit == Timeline::Unit::years ? value * days_per_year : value;
  if (unit == Timeline::Unit::none || !std::isfinite(days) || std::abs(days) * 86'400 < 1) return format_span(unit, value);
  struct Length {
    const char* noun;
    double days;
    double least;  ///< of them
  };
  constexpr std::array<Length, 6> lengths = {{{"year", days_per_year, 0.95},
                                              {"month", days_per_year / 12, 1.95},
                                              {"day", 1, 0.95},
                                              {"hour", 1.0 / 24, 0.95},
                                              {"minute", 1.0 / 1440, 0.95},
                                              {"second", 1.0 / 86'400, 0}}};
  for (const Length& length : lengths) {
    const double count = days / length.days;
    if (std::abs(count) < length.least) continue;
    return with_noun(three_digits(std::round(10 * count) / 10, false), length.noun);
  }
  return format_span(unit, value);
}

}  // namespace mercer
