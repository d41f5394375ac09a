#pragma once
#include <charconv>
#include <limits>
#include <string_view>
#include <system_error>

namespace mercer {

inline constexpr double missing_number = std::numeric_limits<double>::quiet_NaN();

/// read_cell for everything that is not plainly a number.
double read_odd_cell(std::string_view& text);

/// The number in a trimmed cell. NaN when there is none: `text` is then emptied if the cell is missing (empty, ?, NA, N/A,
/// #N/A, null, NaN), and kept if it is text. ±∞ for inf, infinity and what is beyond the range of double; what is too small
/// for one is 0.
inline double read_cell(std::string_view& text) {
  double value = 0;
  if (!text.empty() && text.front() < 'A') {
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec == std::errc() && result.ptr == text.data() + text.size() && value == value) return value;
  }
  return read_odd_cell(text);
}

/// What to add to "is not a number" where a decimal comma is the likely cause; else nothing.
std::string_view decimal_comma_hint(std::string_view text);

}  // namespace mercer
