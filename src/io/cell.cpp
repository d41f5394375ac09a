#include "io/cell.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace mercer {
namespace {

bool same_letters(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b; });
}

/// Whether a decimal number that no double can hold is too large rather than too small: its value is 0.d…·10^order with d ≠
/// 0.
bool too_large(std::string_view text) {
  const std::size_t e = text.find_first_of("eE");
  const std::string_view digits = text.substr(0, e);
  const bool negative_exponent = e != std::string_view::npos && e + 1 < text.size() && text[e + 1] == '-';
  long exponent = 0;
  if (e != std::string_view::npos) {
    std::string_view number = text.substr(e + 1);
    if (!number.empty() && (number.front() == '-' || number.front() == '+')) number.remove_prefix(1);
    constexpr long huge = 1'000'000'000;
    const auto result = std::from_chars(number.data(), number.data() + number.size(), exponent);
    if (result.ec != std::errc() || exponent > huge) exponent = huge;
    if (negative_exponent) exponent = -exponent;
  }
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.find_first_not_of("+-0.");
  if (first == std::string_view::npos) return false;
  const long order = static_cast<long>(point) - static_cast<long>(first);
  return order + exponent > 0;
}

}  // namespace

double read_odd_cell(std::string_view& text) {
  const bool missing = text.empty() || text == "?" || same_letters(text, "na") || same_letters(text, "nan") ||
                       same_letters(text, "n/a") || same_letters(text, "#n/a") || same_letters(text, "null");
  if (missing) {
    text = {};
    return missing_number;
  }
  std::string_view number = text;
  if (number.front() == '+') {
    number.remove_prefix(1);
    if (number.empty() || number.front() == '-' || number.front() == '+') return missing_number;
  }
  double value = 0;
  const auto result = std::from_chars(number.data(), number.data() + number.size(), value);
  if (result.ptr != number.data() + number.size() || result.ec == std::errc::invalid_argument) return missing_number;
  const bool negative = number.front() == '-';
  if (result.ec == std::errc::result_out_of_range) {
    value = too_large(number) ? std::numeric_limits<double>::infinity() : 0;
    return negative ? -value : value;
  }
  if (std::isnan(value)) {
    const bool plain = same_letters(text, "-nan") || same_letters(text, "+nan");
    if (plain) text = {};
    return missing_number;
  }
  return value;
}

std::string_view decimal_comma_hint(std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos || text.find_first_not_of("+-0123456789,") != std::string_view::npos) return "";
  return " (write numbers with a decimal point)";
}

}  // namespace mercer
