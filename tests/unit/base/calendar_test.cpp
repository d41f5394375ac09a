#include "base/calendar.hpp"

#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <vector>

namespace mercer {
namespace {

struct Day {
  Index days;
  CivilDate date;
};

/// (date(y, m, d) - date(1970, 1, 1)).days of Python's datetime.
const std::vector<Day> python_days = {
    {-719162, {1, 1, 1}},      {-135140, {1600, 1, 1}},  {-135081, {1600, 2, 29}},  {-135080, {1600, 3, 1}},
    {-98616, {1699, 12, 31}},  {-98557, {1700, 2, 28}},  {-98556, {1700, 3, 1}},    {-79366, {1752, 9, 14}},
    {-25568, {1899, 12, 31}},  {-25567, {1900, 1, 1}},   {-25509, {1900, 2, 28}},   {-25508, {1900, 3, 1}},
    {-4296, {1958, 3, 29}},    {-1, {1969, 12, 31}},     {0, {1970, 1, 1}},         {789, {1972, 2, 29}},
    {10956, {1999, 12, 31}},   {10957, {2000, 1, 1}},    {11016, {2000, 2, 29}},    {11017, {2000, 3, 1}},
    {12783, {2004, 12, 31}},   {19782, {2024, 2, 29}},   {24855, {2038, 1, 19}},    {47540, {2100, 2, 28}},
    {47541, {2100, 3, 1}},     {120894, {2300, 12, 31}}, {157113, {2400, 2, 29}},   {2932896, {9999, 12, 31}},
    {-155598, {1543, 12, 28}}, {1668252, {6537, 7, 9}},  {2835232, {9732, 8, 8}},   {2645781, {9213, 11, 26}},
    {2484340, {8771, 11, 23}}, {-454473, {725, 9, 12}},  {350675, {2930, 2, 12}},   {-224576, {1355, 2, 18}},
    {1358843, {5690, 5, 21}},  {2472545, {8739, 8, 8}},  {1166140, {5162, 10, 14}}, {1261578, {5424, 2, 1}}};

struct Instant {
  const char* text;
  Index days;
  double milliseconds;
};

/// datetime.fromisoformat(text) in UTC - datetime(1970, 1, 1) of Python, as days and milliseconds.
const std::vector<Instant> python_instants = {
    {"2024-02-29T13:45", 19782, 49500000},          {"2024-02-29 13:45:10", 19782, 49510000},
    {"1600-03-01T00:00:00.5", -135080, 500},        {"1999-12-31T23:59:59.999", 10956, 86399999},
    {"2024-02-29T13:45Z", 19782, 49500000},         {"2024-01-01T00:30+02:00", 19722, 81000000},
    {"2024-12-31T23:30:00-05:30", 20089, 18000000}, {"2024-02-29T13:45:10.25+00:00", 19782, 49510250}};

TEST(Calendar, DaysAreThoseOfPython) {
  for (const auto& [days, date] : python_days) {
    EXPECT_EQ(days_from_civil(date), days);
    EXPECT_EQ(civil_from_days(days), date);
    const std::string text = format_days(static_cast<double>(days), DateFormat::iso_date);
    EXPECT_EQ(parse_iso(text).days, static_cast<double>(days)) << text;
  }
}

TEST(Calendar, EveryDayFollowsTheOneBefore) {
  CivilDate date{1, 1, 1};
  for (Index days = -719162; days < 2932897; ++days) {
    ASSERT_EQ(civil_from_days(days), date);
    ASSERT_EQ(days_from_civil(date), days);
    if (++date.day <= days_in_month(date.year, date.month)) continue;
    date.day = 1;
    if (++date.month > 12) date = {date.year + 1, 1, 1};
  }
  EXPECT_EQ(date, (CivilDate{10000, 1, 1}));
}

TEST(Calendar, TimesAreThoseOfPython) {
  for (const auto& [text, days, milliseconds] : python_instants) {
    const ParsedDate parsed = parse_iso(text);
    EXPECT_TRUE(parsed.ok()) << text << ": " << parsed.problem;
    EXPECT_EQ(parsed.days, static_cast<double>(days) + milliseconds / 86400000.0) << text;
    EXPECT_EQ(parse_iso(format_days(parsed.days, parsed.format)).days, parsed.days) << text;
  }
}

TEST(Calendar, TellsFormatsApart) {
  EXPECT_EQ(parse_iso("2024-02").format, DateFormat::iso_month);
  EXPECT_EQ(parse_iso("2024-02").days, parse_iso("2024-02-01").days);
  EXPECT_EQ(parse_iso("2024-02-29").format, DateFormat::iso_date);
  EXPECT_EQ(parse_iso("2024-02-29 07:00").format, DateFormat::iso_datetime);
  EXPECT_EQ(parse_iso("2024-02-29t07:00:00z").format, DateFormat::iso_instant);
  EXPECT_EQ(parse_iso("2024-02-29T07:00+0530").days, parse_iso("2024-02-29T01:30Z").days);
  EXPECT_EQ(parse_iso("2024-02-29T07:00+05").days, parse_iso("2024-02-29T02:00Z").days);
  EXPECT_EQ(parse_iso("2024-02-28T24:00").days, parse_iso("2024-02-29").days);
}

TEST(Calendar, RefusesWhatIsNoDate) {
  for (const char* text : {"", "x", "2024", "20240229", "2024-2-9", "2024-02-1", "2024/02/29", "24-02-29", "2024-02-29x",
                           "2024-02-290", "02-29-2024", "2024-021"}) {
    EXPECT_EQ(parse_iso(text).format, DateFormat::none) << text;
    EXPECT_FALSE(parse_iso(text).ok()) << text;
  }
  for (const char* text : {"2023-02-29",
                           "1900-02-29",
                           "2024-13-01",
                           "2024-00-01",
                           "2024-04-31",
                           "2024-01-00",
                           "0000-01-01",
                           "2024-00",
                           "2024-13",
                           "2024-01-01T",
                           "2024-01-01T7:00",
                           "2024-01-01T24:01",
                           "2024-01-01T12:60",
                           "2024-01-01T12:00:60",
                           "2024-01-01T12:00:00.",
                           "2024-01-01T12:00X",
                           "2024-01-01T12:00+2",
                           "2024-01-01T12:00+24:00",
                           "2024-01-01T12:00+01:",
                           "2024-01-01T12:00Zz",
                           "-0044-03-15"}) {
    EXPECT_FALSE(parse_iso(text).ok()) << text;
    EXPECT_FALSE(parse_iso(text).problem.empty()) << text;
  }
  EXPECT_EQ(parse_iso("2023-02-29").problem, "February 2023 has 28 days");
  EXPECT_EQ(parse_iso("-0044-03-15").problem, "years are written with four digits and no sign, from 0001 to 9999");
  EXPECT_THROW(format_days(1e7, DateFormat::iso_date), Error);
  EXPECT_THROW(format_days(-1e300, DateFormat::iso_date), Error);
  EXPECT_THROW(format_days(0.0 / 0.0, DateFormat::iso_date), Error);
}

TEST(Calendar, CompactDates) {
  double days = -1;
  EXPECT_TRUE(days_from_compact(19580329, days));
  EXPECT_EQ(days, parse_iso("1958-03-29").days);
  EXPECT_EQ(format_days(days, DateFormat::compact), "19580329");
  EXPECT_TRUE(days_from_compact(17000101, days));
  EXPECT_TRUE(days_from_compact(23001231, days));
  for (const double number :
       {16991231.0, 23010101.0, 20230229.0, 20241301.0, 20240100.0, 19580329.5, 0.0, -19580329.0, 1e300})
    EXPECT_FALSE(days_from_compact(number, days)) << number;
}

TEST(Calendar, CompactMonths) {
  double days = -1;
  EXPECT_TRUE(days_from_compact_month(195803, days));
  EXPECT_EQ(days, parse_iso("1958-03").days);
  EXPECT_EQ(format_days(days, DateFormat::compact_month), "195803");
  EXPECT_TRUE(days_from_compact_month(100001, days));
  EXPECT_TRUE(days_from_compact_month(299912, days));
  for (const double number : {99912.0, 300001.0, 195800.0, 195813.0, 195803.5, 0.0, -195803.0, 1e300})
    EXPECT_FALSE(days_from_compact_month(number, days)) << number;
}

TEST(Calendar, WritesTimesOfDay) {
  const double day = parse_iso("2024-02-29").days;
  EXPECT_EQ(format_days(day + 0.5, DateFormat::iso_date), "2024-02-29");
  EXPECT_EQ(format_days(day + 0.5, DateFormat::iso_month), "2024-02");
  EXPECT_EQ(format_days(day, DateFormat::iso_datetime), "2024-02-29T00:00");
  EXPECT_EQ(format_days(day + 45.0 / 86400, DateFormat::iso_datetime), "2024-02-29T00:00:45");
  EXPECT_EQ(format_days(day + 0.0625 + 0.25 / 86400, DateFormat::iso_instant), "2024-02-29T01:30:00.250Z");
  EXPECT_EQ(format_days(day + 1 - 1e-12, DateFormat::iso_datetime), "2024-03-01T00:00");
  EXPECT_EQ(to_millisecond(day + 1 - 1e-12), day + 1);
}

TEST(Calendar, FormatsHaveNames) {
  for (const DateFormat format :
       {DateFormat::none, DateFormat::iso_month, DateFormat::iso_date, DateFormat::iso_datetime, DateFormat::iso_instant,
        DateFormat::compact, DateFormat::compact_month, DateFormat::decimal_year}) {
    DateFormat back = DateFormat::none;
    EXPECT_TRUE(parse_date_format(to_string(format), back));
    EXPECT_EQ(back, format);
  }
  DateFormat ignored = DateFormat::none;
  EXPECT_FALSE(parse_date_format("iso", ignored));
}

}  // namespace
}  // namespace mercer
