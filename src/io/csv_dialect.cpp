#include "io/csv_dialect.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/calendar.hpp"
#include "base/text.hpp"
#include "io/cell.hpp"

namespace mercer {

CellKind kind_of(std::string_view cell) {
  cell = trim(cell);
  const double number = read_cell(cell);
  if (!std::isnan(number)) return CellKind::number;
  if (cell.empty()) return CellKind::missing;
  return looks_like_iso(cell) ? CellKind::date : CellKind::text;
}

char detect_delimiter(std::string_view line) {
  constexpr std::array<char, 3> candidates{',', ';', '\t'};
  std::array<std::size_t, 3> counts{};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    for (std::size_t k = 0; !quoted && k < candidates.size(); ++k) counts[k] += c == candidates[k] ? 1U : 0U;
  }
  const auto best = std::max_element(counts.begin(), counts.end()) - counts.begin();
  return candidates[static_cast<std::size_t>(best)];
}

namespace {

/// The first cell of column j below the first row that is not missing.
CellKind first_below(const std::vector<std::vector<CellKind>>& rows, std::size_t j) {
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (j < rows[i].size() && rows[i][j] != CellKind::missing) return rows[i][j];
  }
  return CellKind::missing;
}

}  // namespace

bool looks_like_header(const std::vector<std::vector<CellKind>>& rows) {
  if (rows.empty()) return false;
  const auto& first = rows.front();
  bool text_throughout = true;
  for (std::size_t j = 0; j < first.size(); ++j) {
    const bool date = first[j] == CellKind::date;  // above numbers it is a name: one column for each month
    if (date && (rows.size() == 1 || first_below(rows, j) == CellKind::date)) return false;
    text_throughout = text_throughout && (date || first[j] == CellKind::text);
  }
  for (std::size_t j = 0; j < first.size(); ++j) {
    const bool name = first[j] == CellKind::text || first[j] == CellKind::date;
    const CellKind below = first_below(rows, j);
    if (name && (below == CellKind::number || below == CellKind::date)) return true;
  }
  return text_throughout;
}

bool QuoteState::open_after(std::string_view more) {
  for (const char c : more) {
    switch (at_) {
      case At::cell_start:
        if (c == '"') {
          at_ = At::quoted;
        } else if (c != ' ' && c != delimiter_) {
          at_ = At::plain;
        }
        break;
      case At::plain:
        if (c == delimiter_) at_ = At::cell_start;
        break;
      case At::quoted:
        if (c == '"') at_ = At::after_quote;
        break;
      case At::after_quote:
        at_ = c == '"' ? At::quoted : (c == delimiter_ ? At::cell_start : At::plain);
        break;
    }
  }
  return at_ == At::quoted;
}

}  // namespace mercer
