#pragma once
#include <mercer/view.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mercer {

/// Shortest decimal text that reads back as exactly this double ("0.3", "1e-07", "nan", "inf"), independent of the locale.
std::string shortest(double value);

/// Reads a whole decimal number, locale-independent, no surrounding junk. False when it is not one.
bool parse_number(std::string_view text, double& value);

/// "1.5 GB", "320 kB"; "2 min 5 s", "31 ms".
std::string human_bytes(double bytes);
std::string human_seconds(double seconds);
/// "12 345 678": thin groups of three for people.
std::string human_count(double count);
/// "1 row", "2 000 rows", "1 pass", "2 passes".
std::string counted(Index count, const std::string& noun);

std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

/// " (did you mean 'gaussian'?)" for the nearest candidate within a third of its length, or "" when none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// A printable, shortened form of untrusted text for error messages: control characters escaped, at most 40 characters.
std::string quoted(std::string_view text);

}  // namespace mercer
