#include "plot/axis.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace mercer::plot {

namespace {

constexpr double largest = 1e300;  // differences of two such numbers are finite

std::string with_minus(std::string text) {
  if (text.starts_with('-')) text.replace(0, 1, "−");
  return text;
}

std::string fixed(double value, int decimals) {
  std::array<char, 400> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, decimals);
  return {buffer.data(), result.ptr};
}

/// Decimals that show a multiple of 10^power.
int decimals_for(int power) {
  return std::clamp(-power, 0, 15);
}

/// The value with `power` as the place of its last digit: plainly, or as m×10^e where that would be long.
Label number_label(double value, int power, double most) {
  if (value == 0) return {"0", ""};
  if (most < 1e6 && power >= -5) return {with_minus(fixed(value, decimals_for(power))), ""};
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
  std::string mantissa = fixed(value / std::pow(10.0, exponent), decimals_for(power - exponent));
  if (mantissa.find('.') != std::string::npos) {
    mantissa.erase(mantissa.find_last_not_of('0') + 1);
    if (mantissa.back() == '.') mantissa.pop_back();
  }
  return {with_minus(mantissa) + "×10", with_minus(std::to_string(exponent))};
}

Label power_label(int exponent) {
  return {"10", with_minus(std::to_string(exponent))};
}

int floor_log10(double value) {
  return static_cast<int>(std::floor(std::log10(value) + 1e-9));
}

/// 1, 2 and 5 times the powers of ten in [low, high].
std::vector<Tick> one_two_five(double low, double high) {
  std::vector<Tick> ticks;
  for (int exponent = floor_log10(low) - 1; exponent <= floor_log10(high) + 1; ++exponent) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = digit * std::pow(10.0, exponent);
      if (value >= low && value <= high) ticks.push_back({value, number_label(value, exponent, high)});
    }
  }
  return ticks;
}

}  // namespace

std::vector<Tick> linear_ticks(double low, double high, int count) {
  const double rough = (high - low) / std::max(count, 1);
  const int power = static_cast<int>(std::floor(std::log10(rough)));
  double digit = 1;
  for (const double other : {2.0, 2.5, 5.0, 10.0}) {  // the nearest in ratio
    const double wanted = rough / std::pow(10.0, power);
    if (std::abs(std::log(other / wanted)) < std::abs(std::log(digit / wanted))) digit = other;
  }
  const double step = digit * std::pow(10.0, power);
  const int last_digit = digit == 10.0 ? power + 1 : digit == 2.5 ? power - 1 : power;
  std::vector<Tick> ticks;
  const double most = std::max(std::abs(low), std::abs(high));
  const double slack = 1e-9 * (high - low);
  const double first = std::ceil((low - slack) / step);
  for (int i = 0; i <= 4 * std::max(count, 1); ++i) {
    const double value = (first + i) * step + 0.0;  // + 0.0 turns -0 into 0
    if (value > high + slack) break;
    ticks.push_back({value, number_label(value, last_digit, most)});
  }
  return ticks;
}

std::vector<Tick> log_ticks(double low, double high, int count) {
  const int first = static_cast<int>(std::ceil(std::log10(low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
  if (last - first < 1) {
    auto ticks = one_two_five(low, high);
    return ticks.size() >= 3 ? ticks : linear_ticks(low, high, count);
  }
  const int stride = std::max(1, (last - first + count) / std::max(count, 1));
  std::vector<Tick> ticks;
  for (int exponent = first - 1; exponent <= last; ++exponent) {
    const double power = std::pow(10.0, exponent);
    const bool labelled = ((exponent - first) % stride + stride) % stride == 0;
    if (exponent >= first) ticks.push_back({power, labelled ? power_label(exponent) : Label{}});
    for (int digit = 2; digit < 10 && last - first <= 4; ++digit) {
      if (digit * power >= low && digit * power <= high) ticks.push_back({digit * power, {}});
    }
  }
  return ticks;
}

bool drawable(double value, bool log) {
  return std::isfinite(value) && std::abs(value) < largest && (!log || value > 1 / largest);
}

void Range::add(double value) {
  low = empty ? value : std::min(low, value);
  high = empty ? value : std::max(high, value);
  empty = false;
}

Axis::Axis(Range range, bool log, double padding, Timeline::Unit time) : log_(log), time_(time) {
  if (range.empty) range = log ? Range{1, 10, false} : Range{0, 1, false};
  if (log) {
    double from = std::log10(range.low);
    double to = std::log10(range.high);
    if (to - from < 1e-3) {
      from -= 0.5;
      to += 0.5;
    }
    const double margin = padding * (to - from);
    low_ = std::pow(10.0, std::max(from - margin, -305.0));  // stays a normal number
    high_ = std::pow(10.0, std::min(to + margin, 305.0));
    return;
  }
  const double most = std::max(std::abs(range.low), std::abs(range.high));
  if (most < 1 / largest) {
    range = {-1, 1, false};
  } else if (range.high - range.low < 1e-9 * most) {
    range = {range.low - 0.1 * most, range.high + 0.1 * most, false};
  }
  const double margin = padding * (range.high - range.low);
  low_ = range.low >= 0 ? std::max(0.0, range.low - margin) : range.low - margin;
  high_ = range.high <= 0 ? std::min(0.0, range.high + margin) : range.high + margin;
}

std::vector<Tick> Axis::ticks_for(int tick_count) const {
  return log_ ? log_ticks(low_, high_, tick_count) : calendar_ticks(low_, high_, tick_count, time_);
}

void Axis::place(double first, double last, int tick_count) {
  first_ = first;
  last_ = last;
  ticks_ = ticks_for(tick_count);
}

double Axis::pixel(double value) const {
  const double share = log_ ? (std::log10(value) - std::log10(low_)) / (std::log10(high_) - std::log10(low_))
                            : (value - low_) / (high_ - low_);
  return first_ + std::clamp(share, -100.0, 100.0) * (last_ - first_);  // what is far outside may be anywhere there
}

}  // namespace mercer::plot
