#include "base/timeline.hpp"

#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <string>
#include <vector>

namespace mercer {
namespace {

Timeline timeline_of(const std::vector<double>& times, DateFormat format) {
  ArrayRows rows(ConstMatrix(times.data(), std::ssize(times), 1));
  const auto timeline = find_timeline(rows, format);
  EXPECT_TRUE(timeline.has_value());
  return timeline.value_or(Timeline());
}

std::vector<double> days(const std::vector<std::string>& texts) {
  std::vector<double> values;
  for (const auto& text : texts) {
    const ParsedDate parsed = parse_iso(text);
    EXPECT_TRUE(parsed.ok()) << text;
    values.push_back(parsed.days);
  }
  return values;
}

std::vector<std::string> next_times(const std::vector<std::string>& texts, Index steps,
                                    DateFormat format = DateFormat::iso_date) {
  const Timeline timeline = timeline_of(days(texts), format);
  std::vector<std::string> result;
  for (const double t : horizon(timeline, steps)) result.push_back(format_time(timeline, t));
  return result;
}

using Texts = std::vector<std::string>;

TEST(Timeline, StepsOfDaysAndWeeks) {
  EXPECT_EQ(next_times({"2024-02-26", "2024-02-27", "2024-02-28"}, 3), (Texts{"2024-02-29", "2024-03-01", "2024-03-02"}));
  // gaps, a repeat, and rows out of order
  EXPECT_EQ(next_times({"1958-04-12", "1958-03-29", "1958-04-05", "1958-04-05", "1958-05-17", "1958-05-24"}, 2),
            (Texts{"1958-05-31", "1958-06-07"}));
  // every thirty days is not every month
  Texts thirty;
  for (int k = 0; k < 20; ++k) thirty.push_back(format_days(19'000.0 + 30 * k, DateFormat::iso_date));
  EXPECT_EQ(timeline_of(days(thirty), DateFormat::iso_date).months, 0);
  EXPECT_EQ(timeline_of(days(thirty), DateFormat::iso_date).step, 30);
}

TEST(Timeline, StepsOfMonthsQuartersAndYears) {
  EXPECT_EQ(next_times({"2023-10-01", "2023-11-01", "2023-12-01"}, 3), (Texts{"2024-01-01", "2024-02-01", "2024-03-01"}));
  EXPECT_EQ(next_times({"2023-10", "2023-11", "2023-12"}, 2, DateFormat::iso_month), (Texts{"2024-01", "2024-02"}));
  // the last day of each month stays the last
  EXPECT_EQ(next_times({"2023-10-31", "2023-11-30", "2023-12-31"}, 4),
            (Texts{"2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"}));
  EXPECT_EQ(next_times({"2023-11-30", "2023-12-30", "2024-01-30"}, 2), (Texts{"2024-02-29", "2024-03-30"}));
  EXPECT_EQ(next_times({"2023-03-31", "2023-06-30", "2023-09-30", "2023-12-31"}, 2), (Texts{"2024-03-31", "2024-06-30"}));
  EXPECT_EQ(next_times({"2020-02-29", "2021-02-28", "2022-02-28"}, 2), (Texts{"2023-02-28", "2024-02-29"}));
  // a gap of four months does not change the step
  EXPECT_EQ(next_times({"2023-01-15", "2023-02-15", "2023-06-15", "2023-07-15"}, 1), (Texts{"2023-08-15"}));
  // last working days: always a month apart, never the same number of days
  const Texts working{"2023-01-31", "2023-02-28", "2023-03-31", "2023-04-28", "2023-05-31", "2023-06-30",
                      "2023-07-31", "2023-08-31", "2023-09-29", "2023-10-31", "2023-11-30", "2023-12-29"};
  EXPECT_EQ(next_times(working, 2), (Texts{"2024-01-29", "2024-02-29"}));
}

TEST(Timeline, TimesOfDay) {
  Texts hours;
  for (int k = 0; k < 30; ++k) hours.push_back(format_days(19'782 + k / 24.0, DateFormat::iso_datetime));
  EXPECT_EQ(hours[5], "2024-02-29T05:00");
  EXPECT_EQ(next_times(hours, 2, DateFormat::iso_datetime), (Texts{"2024-03-01T06:00", "2024-03-01T07:00"}));
  // monthly at six in the morning
  EXPECT_EQ(next_times({"2023-10-31T06:00Z", "2023-11-30T06:00Z", "2023-12-31T06:00Z"}, 2, DateFormat::iso_instant),
            (Texts{"2024-01-31T06:00Z", "2024-02-29T06:00Z"}));
  const Timeline minutes = timeline_of(days(hours), DateFormat::iso_datetime);
  for (const double t : horizon(minutes, 500))
    EXPECT_EQ(parse_iso(format_time(minutes, t)).days, t) << "a time reads back as the number it was predicted at";
}

TEST(Timeline, NumbersAndYears) {
  std::vector<double> months;
  for (int k = 0; k < 144; ++k) {
    // six decimals, as in the file
    const double value = static_cast<double>(static_cast<long long>((1949 + k / 12.0) * 1e6 + 0.5)) / 1e6;
    months.push_back(value);
  }
  const Timeline timeline = timeline_of(months, DateFormat::decimal_year);
  EXPECT_EQ(timeline.unit(), Timeline::Unit::years);
  EXPECT_EQ(timeline.step, 1 / 12.0);
  const auto next = horizon(timeline, 48);
  EXPECT_EQ(next[0], 1961);
  EXPECT_EQ(next[1], 1961.083333);
  EXPECT_EQ(format_time(timeline, next[1]), "1961.083333");
  EXPECT_NEAR(next[47], 1961 + 47 / 12.0, 1e-6);

  EXPECT_EQ(horizon(timeline_of({1, 2, 3, 7, 8}, DateFormat::none), 2), (std::vector<double>{9, 10}));
  EXPECT_EQ(horizon(timeline_of({0.3, 0.1, 0.2}, DateFormat::none), 2), (std::vector<double>{0.4, 0.5}));
  EXPECT_EQ(horizon(timeline_of({-3e-20, -2e-20}, DateFormat::none), 1).size(), 1U);
  EXPECT_EQ(horizon(timeline_of({1e300, 2e300}, DateFormat::none), 1), (std::vector<double>{3e300}));
}

TEST(Timeline, TellsOrderAndRepeats) {
  const Timeline tidy = timeline_of({1, 2, 3}, DateFormat::none);
  EXPECT_TRUE(tidy.ordered);
  EXPECT_EQ(tidy.repeats, 0);
  const Timeline odd = timeline_of({3, 1, 1, 2, 1}, DateFormat::none);
  EXPECT_FALSE(odd.ordered);
  EXPECT_EQ(odd.repeats, 2);
  EXPECT_EQ(odd.first, 1);
  EXPECT_EQ(odd.last, 3);
  EXPECT_EQ(odd.step, 1);
}

TEST(Timeline, RefusesWhatHasNoStep) {
  EXPECT_EQ(timeline_of({5, 5, 5}, DateFormat::none).step, 0);
  EXPECT_THROW(horizon(timeline_of({5, 5, 5}, DateFormat::none), 1), Error);
  EXPECT_THROW(horizon(timeline_of({5}, DateFormat::none), 1), Error);
  EXPECT_THROW(horizon(timeline_of(days({"9999-12-30", "9999-12-31"}), DateFormat::iso_date), 1), Error);
  const std::vector<double> two = {1, 2, 3, 4};
  ArrayRows rows(ConstMatrix(two.data(), 2, 2));
  EXPECT_FALSE(find_timeline(rows, DateFormat::none).has_value());
}

TEST(Timeline, LongSeriesAreLookedAtInPart) {
  std::vector<double> times((std::size_t{1} << 20U) + 5000);
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = 0.25 * static_cast<double>(i);
  const Timeline ordered = timeline_of(times, DateFormat::none);
  EXPECT_EQ(ordered.step, 0.25);
  EXPECT_EQ(ordered.last, times.back());
  std::swap(times[3], times[times.size() / 2]);
  EXPECT_NEAR(timeline_of(times, DateFormat::none).step, 0.25, 1e-9);
}

TEST(Timeline, SpansInWords) {
  using Unit = Timeline::Unit;
  EXPECT_EQ(format_span(Unit::days, 365.2425), "1.00 year");
  EXPECT_EQ(format_span(Unit::days, 29.53), "29.5 days");
  EXPECT_EQ(format_span(Unit::days, 1), "1 day");
  EXPECT_EQ(format_span(Unit::days, 7), "7 days");
  EXPECT_EQ(format_span(Unit::days, 6.2 / 24), "6.2 hours");
  EXPECT_EQ(format_span(Unit::days, 12.4206 / 24), "12.4 hours");
  EXPECT_EQ(format_span(Unit::days, 11.0 / 1440), "11 minutes");
  EXPECT_EQ(format_span(Unit::days, 1.5 / 86400), "1.5 seconds");
  EXPECT_EQ(format_span(Unit::years, 1.0012), "1.00 year");
  EXPECT_EQ(format_span(Unit::years, 10.96), "11.0 years");
  EXPECT_EQ(format_span(Unit::years, 1 / 12.0), "30.4 days");
  EXPECT_EQ(format_span(Unit::years, 2500), "2500 years");
  EXPECT_EQ(format_span(Unit::none, 2.0), "2");
  EXPECT_EQ(format_span(Unit::none, 0.12345), "0.123");
  EXPECT_EQ(format_span(Unit::none, 1e-9), "1e-09");
  EXPECT_EQ(format_span(Unit::days, 1.0 / 0.0), "infinite");
}

TEST(Timeline, BriefSpans) {
  using Unit = Timeline::Unit;
  EXPECT_EQ(brief_span(Unit::years, 1.003), "1 year");
  EXPECT_EQ(brief_span(Unit::years, 10.66), "10.7 years");
  EXPECT_EQ(brief_span(Unit::years, 0.5), "6 months");
  EXPECT_EQ(brief_span(Unit::years, 0.2), "2.4 months");
  EXPECT_EQ(brief_span(Unit::days, 182.3), "6 months");
  EXPECT_EQ(brief_span(Unit::days, 364.6), "1 year");
  EXPECT_EQ(brief_span(Unit::days, 29.53), "29.5 days");
  EXPECT_EQ(brief_span(Unit::days, 7), "7 days");
  EXPECT_EQ(brief_span(Unit::days, 0.998), "1 day");
  EXPECT_EQ(brief_span(Unit::days, 0.5), "12 hours");
  EXPECT_EQ(brief_span(Unit::days, 1.0 / 96), "15 minutes");
  EXPECT_EQ(brief_span(Unit::days, 2.5 / 86400), "2.5 seconds");
  EXPECT_EQ(brief_span(Unit::days, 0.25 / 86400), format_span(Unit::days, 0.25 / 86400));
  EXPECT_EQ(brief_span(Unit::none, 3.14159), "3.14");
  EXPECT_EQ(brief_span(Unit::days, std::numeric_limits<double>::infinity()), "infinite");
}

}  // namespace
}  // namespace mercer
