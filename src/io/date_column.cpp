#include "io/date_column.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.hpp"

namespace mercer {
namespace {

constexpr double first_likely_year = 1500;
constexpr double last_likely_year = 2300;
constexpr Index fewest_months = 3;  // of six ascending digits 12 in 100 end like a month: three of them in a row 2 in 1000

/// The words of a column name, in lower case: "Sample_Date (UTC)" → sample, date, utc.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool letter = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (letter && !inside) words.emplace_back();
    if (letter) words.back() += upper ? static_cast<char>(c - 'A' + 'a') : c;
    inside = letter;
  }
  return words;
}

bool has_word(std::string_view name, const std::vector<std::string>& wanted) {
  return std::ranges::any_of(words_of(name), [&](const auto& w) { return std::ranges::find(wanted, w) != wanted.end(); });
}

}  // namespace

DateColumn::DateColumn(std::string_view name, Wish wish, bool alone)
    : automatic_(wish == Wish::automatic),
      forced_(wish == Wish::always),
      learning_(true),
      plain_(wish == Wish::never || (wish == Wish::automatic && !has_word(name, {"date", "dates", "yyyymmdd", "datum"}))),
      named_year_(has_word(name, {"year", "years", "yr"}) || name == "decimal_date"),
      alone_(alone),
      watching_(wish == Wish::automatic) {}

DateColumn::DateColumn(DateFormat format) : format_(format), plain_(!counts_days(format)) {}

bool DateColumn::claims(std::string_view text, bool categories_allowed) const {
  if (!automatic_ || format_ != DateFormat::none) return false;
  const ParsedDate parsed = parse_iso(text);
  if (parsed.format == DateFormat::none) return false;
  if (!categories_allowed) return true;
  // Where text may be a category, only what is plainly a date is one: part number 4711-08 is none.
  if (!parsed.ok()) return false;
  if (parsed.format != DateFormat::iso_month) return true;
  const auto year = static_cast<double>(civil_from_days(static_cast<Index>(parsed.days)).year);
  return year >= first_likely_year && year <= last_likely_year;
}

bool DateColumn::read(std::string_view text, double number, double& value, std::string& problem) {
  const bool good = std::isnan(number) ? read_text(text, value, problem) : read_number(number, value, problem);
  if (good) return true;
  const std::string shown = std::isnan(number) || !text.empty() ? std::string(text) : shortest(number);
  problem = mercer::quoted(shown) + " " + problem +
            (automatic_ && (format_ == DateFormat::compact || format_ == DateFormat::compact_month)
                 ? "; --dates none reads the column as numbers"
                 : "");
  return false;
}

bool DateColumn::read_number(double number, double& value, std::string& problem) {
  if (format_ == DateFormat::none && days_from_compact(number, value)) {
    format_ = DateFormat::compact;
    watching_ = false;
    return true;
  }
  if (format_ == DateFormat::none && forced_ && days_from_compact_month(number, value)) {
    format_ = DateFormat::compact_month;
    return true;
  }
  if (format_ == DateFormat::none && !forced_) {
    plain_ = true;  // a name that misled
    value = number;
    return true;
  }
  if (format_ == DateFormat::none && number >= 1 && number < 10'000) {
    format_ = DateFormat::decimal_year;
    plain_ = true;
  }
  value = number;
  if (format_ == DateFormat::decimal_year) return true;
  if (format_ == DateFormat::compact && days_from_compact(number, value)) return true;
  if (format_ == DateFormat::compact_month && days_from_compact_month(number, value)) return true;
  problem = format_ == DateFormat::none            ? "is not a date (2024-02-29 or 20240229)"
            : format_ == DateFormat::compact       ? "is not a date written YYYYMMDD, from 1700 to 2300"
            : format_ == DateFormat::compact_month ? "is not a month written YYYYMM, from 1000 to 2999"
                                                   : "is a number, and the column holds " + date_words(format_);
  return false;
}

bool DateColumn::read_text(std::string_view text, double& value, std::string& problem) {
  const ParsedDate parsed = parse_iso(text);
  if (!parsed.problem.empty()) {
    problem = "is not a date: " + parsed.problem;
    return false;
  }
  if (parsed.format == DateFormat::none) {
    problem = format_ == DateFormat::none ? "is not a date (2024-02-29 or 20240229)"
                                          : "is not a date, and the column holds " + date_words(format_);
    return false;
  }
  if (format_ == DateFormat::none) {
    format_ = parsed.format;
    plain_ = watching_ = false;
  }
  // Midnight may be left out of times.
  const bool later_times = learning_ && format_ == DateFormat::iso_date && parsed.format == DateFormat::iso_datetime;
  if (later_times) format_ = DateFormat::iso_datetime;
  const bool midnight = format_ == DateFormat::iso_datetime && parsed.format == DateFormat::iso_date;
  if (parsed.format != format_ && !midnight) {
    problem = "is written otherwise than the rest of the column, which holds " + date_words(format_);
    return false;
  }
  value = parsed.days;
  return true;
}

void DateColumn::watch(double value) {
  double ignored = 0;
  compact_ = compact_ && days_from_compact(value, ignored);
  months_ = months_ && days_from_compact_month(value, ignored) && (!any_ || value > before_);
  years_ = years_ && value >= first_likely_year && value <= last_likely_year;
  varied_ = varied_ || (any_ && value != first_);
  fraction_ = fraction_ || value != std::floor(value);
  if (!any_) first_ = value;
  any_ = true;
  before_ = value;
  ++seen_;
  watching_ = compact_ || months_ || years_;
}

bool DateColumn::settle() {
  learning_ = false;
  if (format_ != DateFormat::none || !automatic_) return false;
  if (any_ && compact_ && varied_) {
    format_ = DateFormat::compact;
    plain_ = watching_ = false;
    return true;
  }
  if (months_ && seen_ >= fewest_months) {
    format_ = DateFormat::compact_month;
    plain_ = watching_ = false;
    return true;
  }
  if (any_ && (named_year_ || (alone_ && years_ && fraction_))) format_ = DateFormat::decimal_year;
  return false;
}

void DateColumn::begin_again() {
  any_ = varied_ = fraction_ = false;
  compact_ = months_ = years_ = true;
  seen_ = 0;
  watching_ = false;
}

}  // namespace mercer
