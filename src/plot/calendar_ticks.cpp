#include <algorithm>
#include <array>
#include <cmath>

#include "base/calendar.hpp"
#include "plot/axis.hpp"

namespace mercer::plot {

namespace {

constexpr double days_per_year = 365.2425;
constexpr std::array<const char*, 12> month_names = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/// A distance of ticks: so many of a unit.
struct Step {
  enum class Of { seconds, days, months };
  Of of = Of::days;
  Index count = 1;

  double days() const {
    const auto n = static_cast<double>(count);
    return of == Of::seconds ? n / 86400 : of == Of::days ? n : n * days_per_year / 12;
  }
};

std::vector<Step> steps() {
  std::vector<Step> all;
  for (const Index unit : {1, 60}) {
    for (const Index n : {1, 2, 5, 10, 15, 30}) all.push_back({Step::Of::seconds, unit * n});
  }
  for (const Index n : {1, 2, 3, 6, 12}) all.push_back({Step::Of::seconds, 3600 * n});
  for (const Index n : {1, 2, 7, 14}) all.push_back({Step::Of::days, n});
  for (const Index n : {1, 2, 3, 6}) all.push_back({Step::Of::months, n});
  for (Index power = 1; power <= 1000; power *= 10) {
    for (const Index n : {1, 2, 5}) all.push_back({Step::Of::months, 12 * n * power});
  }
  return all;
}

/// The step nearest in ratio to a `count`-th of so many days.
Step best_step(double days, int count) {
  const double wanted = std::log(days / std::max(count, 1));
  const std::vector<Step> all = steps();
  return *std::ranges::min_element(all, {}, [&](const Step& s) { return std::abs(std::log(s.days()) - wanted); });
}

std::string two_digits(Index number) {
  return (number < 10 ? "0" : "") + std::to_string(number);
}

/// Multiples of the step in months since year 0. January begins a year, and a first tick has to say its year as well.
std::vector<Tick> month_ticks(double low, double high, Index step, Timeline::Unit unit) {
  const bool days = unit == Timeline::Unit::days;
  const auto value = [&](Index month) {
    const Index year = (month - (month % 12 + 12) % 12) / 12;
    const int of_year = static_cast<int>(month - 12 * year);
    return days ? static_cast<double>(days_from_civil({year, of_year + 1, 1})) : static_cast<double>(month) / 12;
  };
  const double slack = 1e-9 * (high - low) + (days ? 0 : 1e-6);  // files cut 1949.083333 off
  const double year = days ? 1970 + low / days_per_year : low;
  auto month = static_cast<Index>(std::floor(12 * (year - 1) / static_cast<double>(step))) * step;
  std::vector<Tick> ticks;
  for (; value(month) <= high + slack; month += step) {
    if (value(month) < low - slack) continue;
    const Index of_year = (month % 12 + 12) % 12;
    const std::string number = std::to_string((month - of_year) / 12);
    const std::string name = month_names[static_cast<std::size_t>(of_year)];
    ticks.push_back({value(month),
                     {step % 12 == 0                  ? number
                      : of_year == 0 || ticks.empty() ? name + " " + number
                                                      : name,
                      ""}});
  }
  return ticks;
}

std::string day_name(const CivilDate& date, bool with_year) {
  return std::to_string(date.day) + " " + month_names[static_cast<std::size_t>(date.month - 1)] +
         (with_year ? " " + std::to_string(date.year) : "");
}

std::vector<Tick> day_ticks(double low, double high, Index step) {
  const Index monday = step % 7 == 0 ? 4 : 0;  // 1970-01-05 was one
  auto day = static_cast<Index>(std::ceil((low - static_cast<double>(monday)) / static_cast<double>(step))) * step + monday;
  std::vector<Tick> ticks;
  Index year = 0;
  for (; static_cast<double>(day) <= high; day += step) {
    const CivilDate date = civil_from_days(day);
    ticks.push_back({static_cast<double>(day), {day_name(date, date.year != year), ""}});
    year = date.year;
  }
  return ticks;
}

std::vector<Tick> second_ticks(double low, double high, Index step) {
  const double slack = 1e-9 * (high - low);
  auto second = static_cast<Index>(std::ceil((low - slack) * 86400 / static_cast<double>(step))) * step;
  std::vector<Tick> ticks;
  for (; static_cast<double>(second) / 86400 <= high + slack; second += step) {
    const double days = static_cast<double>(second) / 86400;
    const auto day = static_cast<Index>(std::floor(days));
    const Index of_day = second - 86400 * day;
    const std::string clock = two_digits(of_day / 3600) + ":" + two_digits(of_day / 60 % 60) +
                              (step % 60 == 0 ? "" : ":" + two_digits(of_day % 60));
    const std::string date = of_day == 0 || ticks.empty() ? day_name(civil_from_days(day), false) : "";
    ticks.push_back({days, {of_day == 0 ? date : date.empty() ? clock : date + " " + clock, ""}});
  }
  return ticks;
}

}  // namespace

std::vector<Tick> calendar_ticks(double low, double high, int count, Timeline::Unit unit) {
  if (unit == Timeline::Unit::none) return linear_ticks(low, high, count);
  const bool in_days = unit == Timeline::Unit::days;
  const double per_year = in_days ? days_per_year : 1;
  const double origin = in_days ? 1970 : 0;
  const double from = origin + low / per_year;
  const double to = origin + high / per_year;
  const double days = (to - from) * days_per_year;
  const bool calendar = from >= static_cast<double>(first_year) - 1 && to <= static_cast<double>(last_year) + 2;
  const Step step = best_step(days, count);
  const bool coarse = in_days ? days * 86400 >= std::max(count, 1) : step.of == Step::Of::months;
  if (!calendar || !coarse) return linear_ticks(low, high, count);
  switch (step.of) {
    case Step::Of::seconds:
      return second_ticks(low, high, step.count);
    case Step::Of::days:
      return day_ticks(low, high, step.count);
    case Step::Of::months:
      break;
  }
  return month_ticks(low, high, step.count, unit);
}

}  // namespace mercer::plot
