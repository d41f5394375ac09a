#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/calendar.hpp"
#include "plot/axis.hpp"

namespace mercer::plot {
namespace {

using Unit = Timeline::Unit;

std::string labels(const std::vector<Tick>& ticks) {
  std::string text;
  for (const Tick& tick : ticks) text += (text.empty() ? "" : "|") + tick.label.text;
  return text;
}

double day(Index year, int month, int of_month, double hours = 0) {
  return static_cast<double>(days_from_civil({year, month, of_month})) + hours / 24;
}

TEST(CalendarTicks, YearsOfDecimalYears) {
  EXPECT_EQ(labels(calendar_ticks(1958.2, 2001.9, 9, Unit::years)), "1960|1965|1970|1975|1980|1985|1990|1995|2000");
  EXPECT_EQ(labels(calendar_ticks(1749, 2014, 7, Unit::years)), "1750|1800|1850|1900|1950|2000");
  EXPECT_EQ(labels(calendar_ticks(1949, 1961, 9, Unit::years)),
            "1949|1950|1951|1952|1953|1954|1955|1956|1957|1958|1959|1960|1961");
  EXPECT_EQ(labels(calendar_ticks(1959.7, 1961.1, 6, Unit::years)), "Oct 1959|Jan 1960|Apr|Jul|Oct|Jan 1961");
  EXPECT_EQ(labels(calendar_ticks(1949.083333, 1949.416667, 4, Unit::years)), "Feb 1949|Mar|Apr|May|Jun");
}

TEST(CalendarTicks, DaysAsDates) {
  EXPECT_EQ(labels(calendar_ticks(day(1958, 3, 29), day(2001, 12, 29), 9, Unit::days)),
            "1960|1965|1970|1975|1980|1985|1990|1995|2000");
  EXPECT_EQ(labels(calendar_ticks(day(2023, 11, 10), day(2024, 6, 2), 7, Unit::days)),
            "Dec 2023|Jan 2024|Feb|Mar|Apr|May|Jun");
  // Mondays
  EXPECT_EQ(labels(calendar_ticks(day(2023, 12, 20), day(2024, 1, 20), 5, Unit::days)),
            "25 Dec 2023|1 Jan 2024|8 Jan|15 Jan");
  EXPECT_EQ(labels(calendar_ticks(day(2024, 2, 28), day(2024, 3, 2), 4, Unit::days)), "28 Feb 2024|29 Feb|1 Mar|2 Mar");
  EXPECT_EQ(labels(calendar_ticks(day(2024, 2, 28, 7), day(2024, 2, 29, 7), 4, Unit::days)),
            "28 Feb 12:00|18:00|29 Feb|06:00");
  EXPECT_EQ(labels(calendar_ticks(day(2024, 2, 28, 7.3), day(2024, 2, 28, 8.3), 4, Unit::days)),
            "28 Feb 07:30|07:45|08:00|08:15");
  EXPECT_EQ(labels(calendar_ticks(day(2024, 2, 28, 7), day(2024, 2, 28, 7 + 20.0 / 3600), 4, Unit::days)),
            "28 Feb 07:00:00|07:00:05|07:00:10|07:00:15|07:00:20");
}

TEST(CalendarTicks, OnTheFirstOfTheirMonth) {
  for (const Tick& tick : calendar_ticks(day(1899, 5, 3), day(1902, 2, 1), 8, Unit::days))
    EXPECT_EQ(civil_from_days(static_cast<Index>(tick.value)).day, 1) << tick.label.text;
  for (const Tick& tick : calendar_ticks(1899.4, 1902.1, 8, Unit::years))
    EXPECT_NEAR(12 * tick.value, std::round(12 * tick.value), 1e-6);
}

TEST(CalendarTicks, WithoutACalendarTheyAreNumbers) {
  for (const Unit unit : {Unit::days, Unit::years}) {
    EXPECT_EQ(labels(calendar_ticks(-9e6, 9e6, 4, unit)), labels(linear_ticks(-9e6, 9e6, 4)));
    EXPECT_EQ(labels(calendar_ticks(2000, 2000.000001, 4, unit)), labels(linear_ticks(2000, 2000.000001, 4)));
  }
  EXPECT_EQ(labels(calendar_ticks(2000.1, 2000.2, 4, Unit::years)), labels(linear_ticks(2000.1, 2000.2, 4)));
  EXPECT_EQ(labels(calendar_ticks(0, 10, 4, Unit::none)), labels(linear_ticks(0, 10, 4)));
}

/// Over 20 000 random ranges from a minute to millennia: inside, ascending, a readable number, few enough to be apart.
TEST(CalendarTicks, AreInsideAndReadable) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> place(0, 1);
  for (int i = 0; i < 20000; ++i) {
    const double length = std::pow(10.0, -3 + 9 * place(random));  // days
    const double low = day(200, 1, 1) + place(random) * (day(5000, 1, 1) - day(200, 1, 1));
    const int count = 3 + i % 8;
    const double high = low + length;
    const auto ticks = calendar_ticks(low, high, count, Unit::days);
    ASSERT_GE(ticks.size(), static_cast<std::size_t>(count) / 3) << low << " " << length << " " << count;
    ASSERT_LE(ticks.size(), 2U * static_cast<unsigned>(count) + 1) << low << " " << length << " " << count;
    for (std::size_t k = 0; k < ticks.size(); ++k) {
      ASSERT_GE(ticks[k].value, low - 1e-6 * length);
      ASSERT_LE(ticks[k].value, high + 1e-6 * length);
      if (k > 0) {
        ASSERT_GT(ticks[k].value, ticks[k - 1].value);
      }
      ASSERT_FALSE(ticks[k].label.text.empty());
    }
  }
}

}  // namespace
}  // namespace mercer::plot
