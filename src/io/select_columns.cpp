#include "io/select_columns.hpp"

#include <algorithm>
#include <charconv>

#include "base/fail.hpp"
#include "base/text.hpp"

namespace mercer {
namespace {

bool parse_index(std::string_view text, Index& value) {
  if (text.empty() || text.front() == '-') return false;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

}  // namespace

ColumnNames::ColumnNames(const std::vector<std::string>& names, const std::string& path) : names_(&names), path_(path) {}

Index ColumnNames::find(std::string_view name) const {
  constexpr int few = 16;  // a few searches cost less than the index
  if (searches_ < few) {
    ++searches_;
    const auto it = std::find(names_->begin(), names_->end(), name);
    return it == names_->end() ? -1 : it - names_->begin();
  }
  if (positions_.empty()) {
    positions_.reserve(names_->size());
    for (std::size_t j = 0; j < names_->size(); ++j) positions_.emplace((*names_)[j], static_cast<Index>(j));
  }
  const auto it = positions_.find(name);
  return it == positions_.end() ? -1 : it->second;
}

std::string ColumnNames::list() const {
  constexpr std::size_t shown = 8;
  std::vector<std::string> some;
  for (std::size_t j = 0; j < std::min(shown, names_->size()); ++j) some.push_back(quoted((*names_)[j]));
  std::string text = "; its columns are " + join(some, ", ");
  if (names_->size() > shown) text += ", … (" + std::to_string(names_->size()) + " in all)";
  return text;
}

std::string ColumnNames::nearest(std::string_view name) const {
  constexpr std::size_t most = 10'000;                      // the search costs one edit distance per name
  if (names_->size() > most || name.size() < 2) return "";  // one letter is near every other
  return did_you_mean(name, *names_);
}

Index ColumnNames::name_or_number(std::string_view text) const {
  const Index position = find(text);
  if (position >= 0) return position;
  Index number = -1;
  return parse_index(text, number) && number < count() ? number : -1;
}

bool ColumnNames::select_count(std::string_view item, const std::string& what, std::vector<Index>& chosen) const {
  const bool first = item.starts_with("first:");
  if (!first && !item.starts_with("last:")) return false;
  Index number = 0;
  if (!parse_index(item.substr(item.find(':') + 1), number) || number == 0) {
    fail_argument(what + ": " + quoted(item) + " needs a positive number, as in last:2");
  }
  if (number > count()) {
    fail_argument(what + ": " + quoted(item) + " asks for more columns than the " + std::to_string(count()) + " of " +
                  path_);
  }
  for (Index j = 0; j < number; ++j) chosen.push_back(first ? j : count() - number + j);
  return true;
}

/// Every '-' may be the one that separates the two ends, as names may hold one themselves.
bool ColumnNames::select_range(std::string_view item, const std::string& what, std::vector<Index>& chosen) const {
  for (std::size_t dash = item.find('-'); dash != std::string_view::npos; dash = item.find('-', dash + 1)) {
    const Index first = name_or_number(trim(item.substr(0, dash)));
    const Index last = name_or_number(trim(item.substr(dash + 1)));
    if (first < 0 || last < 0) continue;
    if (last < first) fail_argument(what + ": the range " + quoted(item) + " runs backwards");
    for (Index j = first; j <= last; ++j) chosen.push_back(j);
    return true;
  }
  return false;
}

void ColumnNames::select_item(std::string_view item, const std::string& what, std::vector<Index>& chosen) const {
  const Index position = name_or_number(item);
  if (position >= 0) return chosen.push_back(position);
  if (select_count(item, what, chosen) || select_range(item, what, chosen)) return;
  Index number = 0;
  if (parse_index(item, number)) {
    fail_argument(what + ": there is no column " + std::string(item) + " in " + path_ + ", which has " +
                  std::to_string(count()) + ", counted from 0");
  }
  fail_argument(what + ": no column " + quoted(item) + " in " + path_ + nearest(item) + list());
}

std::vector<Index> ColumnNames::select(const std::string& selection, const std::string& what) const {
  std::vector<Index> chosen;
  if (find(selection) >= 0) {
    chosen.push_back(find(selection));
    return chosen;
  }
  std::vector<bool> taken(names_->size());
  for (const auto& item : split(selection, ',')) {
    if (trim(item).empty()) fail_argument(what + ": an empty name in " + quoted(selection));
    const std::size_t before = chosen.size();
    select_item(trim(item), what, chosen);
    for (std::size_t k = before; k < chosen.size(); ++k) {
      const auto j = static_cast<std::size_t>(chosen[k]);
      if (taken[j]) fail_argument(what + ": column " + quoted((*names_)[j]) + " is chosen twice in " + quoted(selection));
      taken[j] = true;
    }
  }
  return chosen;
}

}  // namespace mercer
