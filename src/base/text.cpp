#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <numeric>

namespace mercer {

std::string shortest(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

bool parse_number(std::string_view text, double& value) {
  if (text.starts_with('+')) {  // from_chars knows no plus sign, and "+-1" is no number
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) return false;
  }
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

namespace {

std::string with_unit(double value, const char* unit) {
  std::array<char, 48> buffer{};
  const bool whole = value >= 100 || std::abs(value - std::round(value)) < 0.05;
  std::snprintf(buffer.data(), buffer.size(), "%.*f %s", whole ? 0 : (value < 10 ? 2 : 1), value, unit);
  return buffer.data();
}

}  // namespace

std::string human_bytes(double bytes) {
  if (bytes >= 1e12) return with_unit(bytes / 1e12, "TB");
  if (bytes >= 1e9) return with_unit(bytes / 1e9, "GB");
  if (bytes >= 1e6) return with_unit(bytes / 1e6, "MB");
  if (bytes >= 1e3) return with_unit(bytes / 1e3, "kB");
  return with_unit(bytes, "bytes");
}

std::string human_seconds(double seconds) {
  if (seconds < 1e-3) return with_unit(seconds * 1e6, "us");
  if (seconds < 1) return with_unit(seconds * 1e3, "ms");
  if (seconds < 120) return with_unit(seconds, "s");
  const auto total = static_cast<long long>(std::llround(seconds));
  if (total < 7200) return std::to_string(total / 60) + " min " + std::to_string(total % 60) + " s";
  return std::to_string(total / 3600) + " h " + std::to_string(total % 3600 / 60) + " min";
}

std::string human_count(double count) {
  std::array<char, 48> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.0f", count);
  std::string digits = buffer.data();
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > (digits.front() == '-' ? 1 : 0); i -= 3) {
    digits.insert(static_cast<std::size_t>(i), 1, ' ');
  }
  return digits;
}

std::string counted(Index count, const std::string& noun) {
  const char* many = noun.ends_with('s') ? "es" : "s";
  return human_count(static_cast<double>(count)) + " " + noun + (count == 1 ? "" : many);
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) result += separator;
    result += parts[i];
  }
  return result;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

namespace {

/// Edit distance in which swapping two neighbours counts once (optimal string alignment), O(|a||b|).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  std::iota(d[0].begin(), d[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), d[i - 1][j] + 1, d[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d.back().back();
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest_word = 64;
  if (word.size() > longest_word) return "";
  std::string best;
  std::size_t best_distance = 1 + std::max<std::size_t>(1, word.size() / 3);
  for (const auto& candidate : candidates) {
    if (candidate.size() > longest_word) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best.empty() ? "" : " (did you mean '" + best + "'?)";
}

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string result = "'";
  for (const char c : text.substr(0, longest)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      std::array<char, 8> buffer{};
      std::snprintf(buffer.data(), buffer.size(), "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      result += buffer.data();
    } else {
      result += c;
    }
  }
  return result + (text.size() > longest ? "…'" : "'");
}

}  // namespace mercer
