#pragma once
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace mercer::plot {

/// "" when the text is one well-formed XML element (the subset without comments, declarations and CDATA), else what is
/// wrong.
inline std::string well_formed(const std::string& text) {
  static const std::string entity = "&(?:amp|lt|gt|quot|#[0-9]+);";
  static const std::regex tag(R"(<(/?)([a-zA-Z]+)((?: [a-zA-Z0-9:-]+="[^"<]*")*)\s*(/?)>)");
  static const std::regex name(R"( ([a-zA-Z0-9:-]+)=")");
  static const std::regex entities(entity);
  std::vector<std::string> open;
  std::string rest;
  std::size_t place = 0;
  bool done = false;
  while (place < text.size()) {
    const std::size_t next = text.find('<', place);
    const std::string between = text.substr(place, next == std::string::npos ? next : next - place);
    if (open.empty() && between.find_first_not_of(" \n") != std::string::npos) return "text outside: " + between;
    rest += between;
    if (next == std::string::npos) break;
    const std::size_t end = text.find('>', next);
    if (end == std::string::npos) return "tag without end";
    const std::string whole = text.substr(next, end - next + 1);
    std::smatch match;
    if (whole.size() > 100000) {
      if (whole.rfind("<path d=\"", 0) != 0) return "long tag: " + whole.substr(0, 40);  // std::regex recurses by length
    } else if (!std::regex_match(whole, match, tag)) {
      return "bad tag: " + whole.substr(0, 80);
    } else {
      if (done) return "two roots";
      const std::string attributes = match[3];
      rest += attributes;
      std::set<std::string> names;
      for (auto i = std::sregex_iterator(attributes.begin(), attributes.end(), name); i != std::sregex_iterator(); ++i) {
        if (!names.insert((*i)[1]).second) return "attribute twice: " + whole.substr(0, 80);
      }
      if (match[1] == "/") {
        if (open.empty() || open.back() != match[2]) return "unmatched " + whole;
        open.pop_back();
      } else if (match[4] != "/") {
        open.push_back(match[2]);
      }
      done = open.empty();
    }
    place = end + 1;
  }
  if (!open.empty()) return "not closed: " + open.back();
  return std::regex_replace(rest, entities, "").find('&') == std::string::npos ? "" : "bare &";
}

}  // namespace mercer::plot
