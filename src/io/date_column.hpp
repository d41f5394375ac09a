#pragma once
#include <mercer/view.hpp>

#include <string>
#include <string_view>

#include "base/calendar.hpp"

namespace mercer {

/// What an input column says of time, found out while its cells go by. Text that is an ISO date makes the column one of
/// dates at its first cell; numbers YYYYMMDD do at the first cell when the name says so, else only once all were seen;
/// numbers YYYYMM once all were seen and each is later than the one before.
class DateColumn {
 public:
  enum class Wish { automatic, never, always };

  DateColumn() = default;
  /// A column of new data. `alone`: it is the only input, so that its numbers may be years by their values alone.
  DateColumn(std::string_view name, Wish wish, bool alone);
  /// A column of a schema that is settled.
  explicit DateColumn(DateFormat format);

  DateFormat format() const { return format_; }
  /// True when a number is taken as it stands, without read().
  bool plain() const { return plain_; }
  /// Whether this text, in a column without values so far, makes it one of dates (valid or not).
  bool claims(std::string_view text, bool categories_allowed) const;

  /// The value of a cell that is not missing: days, or a number that stays one. `number` is NaN when the cell is text. False
  /// with what is wrong.
  bool read(std::string_view text, double number, double& value, std::string& problem);

  /// The value of a kept row, while the column is learned.
  void see(double value) {
    if (watching_) watch(value);
  }
  /// After the last row: true when the column turns out to be YYYYMMDD or YYYYMM, and the rows must be read again as dates.
  bool settle();
  /// Forgets what see() saw, for another pass.
  void begin_again();

 private:
  bool read_number(double number, double& value, std::string& problem);
  bool read_text(std::string_view text, double& value, std::string& problem);
  void watch(double value);

  DateFormat format_ = DateFormat::none;
  bool automatic_ = false;
  bool forced_ = false;
  bool learning_ = false;
  bool plain_ = true;
  bool named_year_ = false;
  bool alone_ = false;
  bool watching_ = false;
  bool compact_ = true;    ///< every number so far may be YYYYMMDD
  bool months_ = true;     ///< every number so far may be YYYYMM, later than the one before
  bool years_ = true;      ///< every number so far lies in 1500 … 2300
  bool varied_ = false;    ///< at least two are different
  bool fraction_ = false;  ///< one is no whole number
  bool any_ = false;
  double first_ = 0;
  double before_ = 0;
  Index seen_ = 0;
};

}  // namespace mercer
