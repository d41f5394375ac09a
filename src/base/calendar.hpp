#pragma once
#include <mercer/view.hpp>

#include <string>
#include <string_view>

namespace mercer {

/// A day of the proleptic Gregorian calendar.
struct CivilDate {
  Index year = 1970;
  int month = 1;  ///< 1 … 12
  int day = 1;    ///< 1 … 31
  bool operator==(const CivilDate&) const = default;
};

/// Days since 1970-01-01, and back: Hinnant's algorithm, on years that begin in March.
Index days_from_civil(const CivilDate& date);
CivilDate civil_from_days(Index days);
int days_in_month(Index year, int month);

/// How a column writes its times. Values are days since 1970-01-01 (UTC) of all but the first and the last.
enum class DateFormat {
  none,           ///< plain numbers
  iso_month,      ///< 2024-02, its first day
  iso_date,       ///< 2024-02-29
  iso_datetime,   ///< 2024-02-29T13:45[:10[.5]], or with a space for the T
  iso_instant,    ///< the same with Z or an offset such as +02:00
  compact,        ///< 20240229
  compact_month,  ///< 202402, its first day
  decimal_year,   ///< 2024.16: a number in years
};

/// "iso_date" and so on, for files and JSON; parse_date_format gives false for a text that is none of them.
std::string to_string(DateFormat format);
bool parse_date_format(std::string_view text, DateFormat& format);
/// "dates (YYYYMMDD)", for people.
std::string date_words(DateFormat format);
/// True when values are days since 1970-01-01.
bool counts_days(DateFormat format);

/// The first and the last year that ISO text can write.
inline constexpr Index first_year = 1;
inline constexpr Index last_year = 9999;

/// An ISO 8601 date or time of the calendar above. `problem` is empty when it is one; `format` none when the text does not
/// even look like one (then it is just some text).
struct ParsedDate {
  DateFormat format = DateFormat::none;
  double days = 0;
  std::string problem;  ///< "February 2023 has 28 days"
  bool ok() const { return format != DateFormat::none && problem.empty(); }
};
ParsedDate parse_iso(std::string_view text);
/// True for what parse_iso calls a date, at the cost of a glance.
bool looks_like_iso(std::string_view text);

/// Days of a number written YYYYMMDD, from 1700 to 2300; false when it is none.
bool days_from_compact(double number, double& days);
/// Days of the first of a month written YYYYMM, from 1000 to 2999; false when it is none.
bool days_from_compact_month(double number, double& days);

/// Days to the nearest millisecond: the value that reading back format_days(days, iso_datetime) gives.
double to_millisecond(double days);
/// The text that reads back as `days` (to the millisecond; a format without time of day gives the day). Refuses years that
/// cannot be written.
std::string format_days(double days, DateFormat format);

}  // namespace mercer
