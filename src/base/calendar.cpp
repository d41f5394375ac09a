#include "base/calendar.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/fail.hpp"
#include "base/text.hpp"

namespace mercer {
namespace {

constexpr double day_milliseconds = 86'400'000;

struct Name {
  DateFormat format;
  const char* key;
  const char* words;
};
constexpr std::array<Name, 8> names{{{DateFormat::none, "none", "numbers"},
                                     {DateFormat::iso_month, "iso_month", "months (2024-02)"},
                                     {DateFormat::iso_date, "iso_date", "dates (2024-02-29)"},
                                     {DateFormat::iso_datetime, "iso_datetime", "times (2024-02-29T13:45)"},
                                     {DateFormat::iso_instant, "iso_instant", "times with a zone (2024-02-29T13:45Z)"},
                                     {DateFormat::compact, "yyyymmdd", "dates (YYYYMMDD)"},
                                     {DateFormat::compact_month, "yyyymm", "months (YYYYMM)"},
                                     {DateFormat::decimal_year, "decimal_year", "decimal years"}}};

const Name& name_of(DateFormat format) {
  return *std::ranges::find(names, format, &Name::format);
}

bool is_leap(Index year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes exactly `count` digits off the front.
bool take_number(std::string_view& text, std::size_t count, int& value) {
  if (text.size() < count || !std::ranges::all_of(text.substr(0, count), is_digit)) return false;
  std::from_chars(text.data(), text.data() + count, value);
  text.remove_prefix(count);
  return true;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

std::string problem_of(const CivilDate& date) {
  static constexpr std::array<const char*, 12> months{"January", "February", "March",     "April",   "May",      "June",
                                                      "July",    "August",   "September", "October", "November", "December"};
  if (date.year < first_year) return "there is no year 0 in dates: they begin with 0001-01-01";
  if (date.month < 1 || date.month > 12) return "a year has no month " + std::to_string(date.month);
  const int days = days_in_month(date.year, date.month);
  if (date.day >= 1 && date.day <= days) return "";
  return std::string(months[static_cast<std::size_t>(date.month - 1)]) + " " + std::to_string(date.year) + " has " +
         std::to_string(days) + " days";
}

/// What follows the T: 13:45[:10[.5]][Z|±02:00|±0200|±02]. Milliseconds of the day go to `milliseconds`.
std::string parse_time(std::string_view text, double& milliseconds, bool& zoned) {
  int hour = 0;
  int minute = 0;
  int second = 0;
  double fraction = 0;
  constexpr const char* malformed = "a time of day is written 13:45 or 13:45:10";
  if (!take_number(text, 2, hour) || !take(text, ':') || !take_number(text, 2, minute)) return malformed;
  if (take(text, ':')) {
    if (!take_number(text, 2, second)) return malformed;
    if (text.starts_with('.') || text.starts_with(',')) {
      const std::size_t end = std::min(text.find_first_not_of("0123456789", 1), text.size());
      if (end == 1) return malformed;
      const std::string digits = "0." + std::string(text.substr(1, end - 1));
      parse_number(digits, fraction);
      text.remove_prefix(end);
    }
  }
  if (hour > 24 || minute > 59 || second > 59 || (hour == 24 && (minute != 0 || second != 0 || fraction > 0)))
    return "a day has no such time";
  milliseconds = 1000.0 * (3600.0 * hour + 60.0 * minute + second) + std::round(1000.0 * fraction);
  if (text.empty()) return "";
  zoned = true;
  if (take(text, 'Z') || take(text, 'z')) return text.empty() ? "" : malformed;
  const bool west = text.starts_with('-');
  if (!west && !text.starts_with('+')) return malformed;
  text.remove_prefix(1);
  int hours = 0;
  int minutes = 0;
  if (!take_number(text, 2, hours)) return malformed;
  if (!text.empty() && ((take(text, ':') && text.empty()) || !take_number(text, 2, minutes) || !text.empty()))
    return malformed;
  if (hours > 23 || minutes > 59) return "there is no such time zone";
  milliseconds -= (west ? -60'000.0 : 60'000.0) * (60.0 * hours + minutes);
  return "";
}

std::string padded(Index number, int width) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%0*td", width, number);
  return buffer.data();
}

std::string time_text(Index milliseconds) {
  const Index seconds = milliseconds / 1000;
  std::string text = padded(seconds / 3600, 2) + ":" + padded(seconds / 60 % 60, 2);
  if (milliseconds % 60'000 != 0) text += ":" + padded(seconds % 60, 2);
  if (milliseconds % 1000 != 0) text += "." + padded(milliseconds % 1000, 3);
  return text;
}

}  // namespace

Index days_from_civil(const CivilDate& date) {
  const Index y = date.year - (date.month <= 2 ? 1 : 0);
  const Index era = (y >= 0 ? y : y - 399) / 400;
  const Index year_of_era = y - era * 400;
  const Index day_of_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
  const Index day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;
}

CivilDate civil_from_days(Index days) {
  const Index z = days + 719'468;
  const Index era = (z >= 0 ? z : z - 146'096) / 146'097;
  const Index day_of_era = z - era * 146'097;
  const Index year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const Index day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const Index m = (5 * day_of_year + 2) / 153;
  const int month = static_cast<int>(m < 10 ? m + 3 : m - 9);
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, static_cast<int>(day_of_year - (153 * m + 2) / 5 + 1)};
}

int days_in_month(Index year, int month) {
  if (month == 2) return is_leap(year) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

std::string to_string(DateFormat format) {
  return name_of(format).key;
}

bool parse_date_format(std::string_view text, DateFormat& format) {
  const auto* const found = std::ranges::find(names, text, [](const Name& name) { return std::string_view(name.key); });
  if (found == names.end()) return false;
  format = found->format;
  return true;
}

std::string date_words(DateFormat format) {
  return name_of(format).words;
}

bool counts_days(DateFormat format) {
  return format != DateFormat::none && format != DateFormat::decimal_year;
}

bool looks_like_iso(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const auto digits = [&](std::size_t first, std::size_t count) {
    return std::ranges::all_of(text.substr(first, count), is_digit);
  };
  if (text.size() < 7 || !digits(0, 4) || text[4] != '-' || !digits(5, 2)) return false;
  if (text.size() == 7) return true;
  if (text.size() < 10 || text[7] != '-' || !digits(8, 2)) return false;
  return text.size() == 10 || text[10] == 'T' || text[10] == 't' || text[10] == ' ';
}

ParsedDate parse_iso(std::string_view text) {
  ParsedDate result;
  if (!looks_like_iso(text)) return result;
  result.format = DateFormat::iso_date;
  if (text.front() == '-' || text.front() == '+') {
    result.problem = "years are written with four digits and no sign, from 0001 to 9999";
    return result;
  }
  CivilDate date;
  int year = 0;
  take_number(text, 4, year);
  date.year = year;
  take(text, '-');
  take_number(text, 2, date.month);
  if (text.empty()) {
    result.format = DateFormat::iso_month;
  } else {
    take(text, '-');
    take_number(text, 2, date.day);
  }
  double milliseconds = 0;
  result.problem = problem_of(date);
  if (!text.empty() && result.problem.empty()) {
    bool zoned = false;
    result.problem = parse_time(text.substr(1), milliseconds, zoned);
    result.format = zoned ? DateFormat::iso_instant : DateFormat::iso_datetime;
  }
  if (!result.problem.empty()) return result;
  // A zone or 24:00 may lead into another day: whole days first, so that equal instants are equal numbers.
  const double over = std::floor(milliseconds / day_milliseconds);
  result.days =
      static_cast<double>(days_from_civil(date)) + over + (milliseconds - over * day_milliseconds) / day_milliseconds;
  return result;
}

bool days_from_compact(double number, double& days) {
  if (!(number >= 17'000'101 && number <= 23'001'231) || number != std::floor(number)) return false;
  const auto whole = static_cast<Index>(number);
  const CivilDate date{whole / 10'000, static_cast<int>(whole / 100 % 100), static_cast<int>(whole % 100)};
  if (!problem_of(date).empty()) return false;
  days = static_cast<double>(days_from_civil(date));
  return true;
}

bool days_from_compact_month(double number, double& days) {
  if (!(number >= 100'001 && number <= 299'912) || number != std::floor(number)) return false;
  const auto whole = static_cast<Index>(number);
  const CivilDate date{whole / 100, static_cast<int>(whole % 100), 1};
  if (!problem_of(date).empty()) return false;
  days = static_cast<double>(days_from_civil(date));
  return true;
}

double to_millisecond(double days) {
  const double whole = std::floor(days);
  const double milliseconds = std::round((days - whole) * day_milliseconds);
  return milliseconds >= day_milliseconds ? whole + 1 : whole + milliseconds / day_milliseconds;
}

std::string format_days(double days, DateFormat format) {
  constexpr double first = -719'162;  // 0001-01-01
  constexpr double end = 2'932'897;   // 10000-01-01
  const double rounded = to_millisecond(days);
  if (!(rounded >= first && rounded < end))
    fail_argument("a date " + shortest(days) + " days from 1970-01-01 is beyond the years 1 to 9999");
  const double whole = std::floor(rounded);
  const CivilDate date = civil_from_days(static_cast<Index>(whole));
  if (format == DateFormat::compact) return padded(date.year, 4) + padded(date.month, 2) + padded(date.day, 2);
  if (format == DateFormat::compact_month) return padded(date.year, 4) + padded(date.month, 2);
  std::string text = padded(date.year, 4) + "-" + padded(date.month, 2);
  if (format == DateFormat::iso_month) return text;
  text += "-" + padded(date.day, 2);
  if (format == DateFormat::iso_date) return text;
  text += "T" + time_text(static_cast<Index>(std::round((rounded - whole) * day_milliseconds)));
  return format == DateFormat::iso_instant ? text + "Z" : text;
}

}  // namespace mercer
