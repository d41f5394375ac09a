#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "io/lines.hpp"

namespace mercer {

struct ArffAttribute {
  enum class Type { number, nominal, text };
  std::string name;
  Type type = Type::number;
  std::vector<std::string> values;  ///< of a nominal attribute, in the order declared
};

/// Reads up to and including the line @data.
std::vector<ArffAttribute> read_arff_header(Lines& lines);

/// Takes the next value off the front of `text`: bare up to white space or one of `stops`, or in ' or " quotes with
/// backslash escapes. Sets `quoted`. The value is put in `value`, which may point into `storage`.
void take_arff_value(const Lines& lines, std::string_view& text, std::string_view stops, std::string& storage,
                     std::string_view& value, bool& quoted);

}  // namespace mercer
