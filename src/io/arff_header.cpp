#include "io/arff_header.hpp"

#include <algorithm>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "io/table.hpp"

namespace mercer {
namespace {

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

/// "'depart'" is an export of an export: the inner quotes are no part of the name.
std::string_view without_inner_quotes(std::string_view name) {
  name = trim(name);
  const bool inner = name.size() >= 2 && name.front() == name.back() && (name.front() == '\'' || name.front() == '"');
  return inner ? name.substr(1, name.size() - 2) : name;
}

std::vector<std::string> read_nominal_values(const Lines& lines, std::string_view text) {
  text.remove_prefix(1);
  std::vector<std::string> values;
  std::string storage;
  while (true) {
    text = trim(text);
    std::string_view value;
    bool quoted_value = false;
    storage.clear();
    take_arff_value(lines, text, ",}", storage, value, quoted_value);
    if (!value.empty() || quoted_value) values.emplace_back(value);
    text = trim(text);
    if (text.empty()) lines.fail("the list of values that { begins has no closing }");
    const char stop = text.front();
    text.remove_prefix(1);
    if (stop == '}') return values;
    if (stop != ',') lines.fail("the values in { } must be separated by commas");
  }
}

ArffAttribute read_attribute(const Lines& lines, std::string_view text) {
  ArffAttribute attribute;
  std::string storage;
  std::string_view name;
  bool quoted_name = false;
  text = trim(text);
  take_arff_value(lines, text, "{", storage, name, quoted_name);
  attribute.name = std::string(quoted_name ? without_inner_quotes(name) : name);
  text = trim(text);
  if (attribute.name.empty() || text.empty()) lines.fail("write @attribute <name> <type>");
  if (text.front() == '{') {
    attribute.type = ArffAttribute::Type::nominal;
    attribute.values = read_nominal_values(lines, text);
    return attribute;
  }
  const std::string type = lower_case(text.substr(0, text.find_first_of(" \t")));
  if (type == "numeric" || type == "real" || type == "integer") {
    attribute.type = ArffAttribute::Type::number;
  } else if (type == "string") {
    attribute.type = ArffAttribute::Type::text;
  } else if (type == "date") {
    lines.fail("attribute " + quoted(attribute.name) + " is a date, which is not read; turn it into a number");
  } else {
    lines.fail("attribute " + quoted(attribute.name) + " has the unknown type " + quoted(type) +
               "; numeric, real, integer, string and {a,b,…} are read");
  }
  return attribute;
}

}  // namespace

void take_arff_value(const Lines& lines, std::string_view& text, std::string_view stops, std::string& storage,
                     std::string_view& value, bool& quoted) {
  quoted = !text.empty() && (text.front() == '\'' || text.front() == '"');
  if (!quoted) {
    std::size_t length = 0;
    while (length < text.size() && text[length] != ' ' && text[length] != '\t' &&
           stops.find(text[length]) == std::string_view::npos) {
      ++length;
    }
    value = text.substr(0, length);
    text.remove_prefix(length);
    return;
  }
  const char quote = text.front();
  const std::size_t first = storage.size();
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == quote) {
      value = std::string_view(storage).substr(first);
      text.remove_prefix(i + 1);
      return;
    }
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    storage += text[i];
  }
  lines.fail("a quote is never closed");
}

std::vector<ArffAttribute> read_arff_header(Lines& lines) {
  std::vector<ArffAttribute> attributes;
  std::string_view line;
  while (lines.next(line)) {
    line = trim(line);
    if (line.empty() || line.front() == '%') continue;
    const std::string_view keyword = line.substr(0, line.find_first_of(" \t"));
    const std::string word = lower_case(keyword);
    if (word == "@data") {
      if (attributes.empty()) lines.fail("@data comes before any @attribute");
      return attributes;
    }
    if (word == "@attribute") {
      attributes.push_back(read_attribute(lines, line.substr(keyword.size())));
      if (static_cast<Index>(attributes.size()) > most_columns) lines.fail("too many attributes");
    } else if (word != "@relation") {
      lines.fail("expected @relation, @attribute or @data, not " + quoted(line));
    }
  }
  fail_file(lines.path() + ": no @data line; is this an ARFF file?");
}

}  // namespace mercer
