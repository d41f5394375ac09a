#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace mercer {

enum class CellKind : std::uint8_t { missing, number, date, text };

CellKind kind_of(std::string_view cell);

/// The most frequent of , ; and tab outside quotes; a comma when there is none.
char detect_delimiter(std::string_view line);

/// Whether the first of these rows names the columns: it has text in a column whose first present value below is a number,
/// or a date, or it is text throughout. A row of numbers, or with a date above dates, never does.
bool looks_like_header(const std::vector<std::vector<CellKind>>& rows);

/// Follows the quotes of a record that comes line by line: whether a quoted cell is still open after what has been seen.
/// A quote opens a cell only as its first character.
class QuoteState {
 public:
  explicit QuoteState(char delimiter) : delimiter_(delimiter) {}
  bool open_after(std::string_view more);

 private:
  enum class At { cell_start, plain, quoted, after_quote };
  char delimiter_;
  At at_ = At::cell_start;
};

}  // namespace mercer
