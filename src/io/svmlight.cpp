#include <algorithm>
#include <charconv>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "base/text.hpp"
#include "io/cell.hpp"
#include "io/lines.hpp"
#include "io/readers.hpp"

namespace mercer {
namespace {

/// A few bytes can name any column, and rows are dense from here on: every column costs memory throughout.
constexpr Index largest_index = 200'000;

/// Takes the next word, ended by white space, off the front of `text`; empty at the end.
std::string_view take_word(std::string_view& text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return text = {};
  const std::size_t last = std::min(text.find_first_of(" \t\r", first), text.size());
  const std::string_view word = text.substr(first, last - first);
  text.remove_prefix(last);
  return word;
}

/// Lines "label index:value …". Columns: target, x0, x1, …; what is not written is 0. Indices count from 1 unless index 0
/// occurs somewhere; opening reads the file once to learn that and the largest.
class SvmlightReader final : public TableReader {
 public:
  explicit SvmlightReader(std::unique_ptr<ByteSource> source);
  bool sparse() const override { return true; }
  bool counts_from_zero() const override { return from_zero_; }
  void count_from_zero() override;
  void rewind() override { lines_.rewind(); }
  bool next(Cells& cells) override;
  void rest() override { lines_.rest(); }
  Index number() const override { return lines_.number(); }

 private:
  bool next_line(std::string_view& line);
  bool take_entry(std::string_view& line, Index& index, std::string_view& value);
  void name_columns();
  void refuse_too_sparse(Index rows, Index bytes) const;

  Lines lines_;
  bool from_zero_ = false;
  Index largest_ = 0;
};

SvmlightReader::SvmlightReader(std::unique_ptr<ByteSource> source) : TableReader(source->path()), lines_(std::move(source)) {
  std::string_view line;
  Index rows = 0;
  Index bytes = 0;
  while (next_line(line)) {
    ++rows;
    bytes += static_cast<Index>(line.size()) + 1;
    take_word(line);
    Index index = 0;
    std::string_view value;
    while (take_entry(line, index, value)) {
      from_zero_ = from_zero_ || index == 0;
      largest_ = std::max(largest_, index);
    }
  }
  if (rows == 0) fail_file(path() + ": the file is empty: no line holds data");
  refuse_too_sparse(rows, bytes);
  name_columns();
}

/// Rows are dense from here on, so a small file can stand for an absurd amount of work. Text collections at their sparsest
/// have some 300 cells per byte.
void SvmlightReader::refuse_too_sparse(Index rows, Index bytes) const {
  constexpr Index always_fine = Index{1} << 24U;
  constexpr Index most_per_byte = 1000;
  const Index cells = checked_product(rows, largest_ + 1);
  if (cells > always_fine && cells / bytes > most_per_byte) {
    fail_file(path() + ": " + human_count(static_cast<double>(rows)) + " rows × " +
              human_count(static_cast<double>(largest_)) + " columns from " + human_bytes(static_cast<double>(bytes)) +
              ": too sparse to be treated as dense rows; keep fewer columns");
  }
}

void SvmlightReader::name_columns() {
  std::vector<std::string> names = numbered_names(from_zero_ ? largest_ + 1 : largest_);
  names.insert(names.begin(), "target");
  adopt_names(std::move(names));
}

void SvmlightReader::count_from_zero() {
  from_zero_ = true;
  name_columns();
}

bool SvmlightReader::next_line(std::string_view& line) {
  while (lines_.next(line)) {
    line = trim(line.substr(0, line.find('#')));
    if (!line.empty()) return true;
  }
  return false;
}

bool SvmlightReader::take_entry(std::string_view& line, Index& index, std::string_view& value) {
  std::string_view word = take_word(line);
  while (word.starts_with("qid:")) word = take_word(line);
  if (word.empty()) return false;
  const std::size_t colon = word.find(':');
  const std::string_view number = word.substr(0, colon);
  const auto result = std::from_chars(number.data(), number.data() + number.size(), index);
  if (colon == std::string_view::npos || result.ptr != number.data() + number.size() || number.empty() ||
      number.front() == '-') {
    lines_.fail(quoted(word) + " is not index:value");
  }
  if (result.ec != std::errc() || index > largest_index) {
    lines_.fail("index " + std::string(number.substr(0, 30)) + " is beyond the " +
                human_count(static_cast<double>(largest_index)) + " columns that are read");
  }
  value = word.substr(colon + 1);
  return true;
}

bool SvmlightReader::next(Cells& cells) {
  std::string_view line;
  if (!next_line(line)) return false;
  cells.numbers.assign(used().size(), 0.0);
  cells.texts.assign(used().size(), std::string_view());
  const auto put = [&](Index column, std::string_view text) {
    const Index j = slot(column);
    if (j < 0) return;
    cells.numbers[static_cast<std::size_t>(j)] = read_cell(text);
    cells.texts[static_cast<std::size_t>(j)] = text;
  };
  put(0, take_word(line));
  Index index = 0;
  Index last = -1;
  std::string_view value;
  while (take_entry(line, index, value)) {
    if (index <= last) lines_.fail("index " + std::to_string(index) + " comes after index " + std::to_string(last));
    if (value.empty()) lines_.fail("index " + std::to_string(index) + " has no value");
    last = index;
    put(from_zero_ ? index + 1 : index, value);
  }
  return true;
}

}  // namespace

std::unique_ptr<TableReader> open_svmlight(std::unique_ptr<ByteSource> source) {
  return std::make_unique<SvmlightReader>(std::move(source));
}

}  // namespace mercer
