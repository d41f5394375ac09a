#include "io/table.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/fail.hpp"
#include "base/text.hpp"

namespace mercer {

TableReader::~TableReader() = default;

std::vector<std::string> numbered_names(Index count) {
  std::vector<std::string> names(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = "x" + std::to_string(i);
  return names;
}

void TableReader::refuse_too_many_columns(Index columns) const {
  if (columns > most_columns) {
    fail_file(path_ + ": " + human_count(static_cast<double>(columns)) + " columns; at most " +
              human_count(static_cast<double>(most_columns)) + " are read");
  }
}

void TableReader::generate_names(Index columns) {
  refuse_too_many_columns(columns);
  names_ = numbered_names(columns);
  has_names_ = false;
}

void TableReader::adopt_names(std::vector<std::string> names) {
  refuse_too_many_columns(static_cast<Index>(names.size()));
  names_ = std::move(names);
  has_names_ = true;
}

void TableReader::set_names(std::vector<std::string> names) {
  refuse_too_many_columns(static_cast<Index>(names.size()));
  std::unordered_map<std::string_view, std::size_t> seen;
  for (std::size_t j = 0; j < names.size(); ++j) {
    names[j] = std::string(trim(names[j]));
    if (names[j].empty()) continue;
    const auto [it, fresh] = seen.emplace(names[j], j);
    if (!fresh) {
      fail_file(path_ + ": columns " + std::to_string(it->second) + " and " + std::to_string(j) + " are both called " +
                quoted(names[j]) + "; rename one");
    }
  }
  std::unordered_set<std::string> taken(names.begin(), names.end());
  for (std::size_t j = 0; j < names.size(); ++j) {
    if (!names[j].empty()) continue;
    std::string name = "x" + std::to_string(j);
    while (!taken.insert(name).second) name += '_';
    names[j] = name;
  }
  names_ = std::move(names);
  has_names_ = true;
}

void TableReader::use(std::span<const Index> columns) {
  used_.assign(columns.begin(), columns.end());
  const Index largest = columns.empty() ? 0 : *std::max_element(columns.begin(), columns.end());
  slots_.assign(static_cast<std::size_t>(std::max(column_count(), largest + 1)), -1);
  for (std::size_t j = 0; j < used_.size(); ++j) slots_[static_cast<std::size_t>(used_[j])] = static_cast<Index>(j);
}

}  // namespace mercer
