#include <algorithm>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "io/cell.hpp"
#include "io/csv_dialect.hpp"
#include "io/lines.hpp"
#include "io/readers.hpp"

namespace mercer {
namespace {

std::string_view trimmed(std::string_view text) {
  const bool clean = text.empty() || (text.front() > ' ' && text.back() > ' ');
  return clean ? text : trim(text);
}

/// Lines that start with # and blank lines are skipped, and a /* … */ block before the first row.
class CsvReader final : public TableReader {
 public:
  CsvReader(std::unique_ptr<ByteSource> source, char delimiter, const std::string& header);
  void rewind() override;
  bool next(Cells& cells) override;
  void rest() override { lines_.rest(); }
  Index number() const override { return lines_.number(); }

 private:
  bool next_line(std::string_view& line);
  bool next_record(std::string_view& record);
  void skip_block_comment();
  bool find_header(const std::string& header);
  template <class Take>
  void each_cell(std::string_view record, Take&& take);
  template <class Take>
  void each_quoted_cell(std::string_view record, Take&& take);
  const char* unquote(const char* at, const char* end, std::string_view& cell);

  Lines lines_;
  char delimiter_;
  bool header_ = false;
  bool begun_ = false;
  std::string unescaped_;
};

CsvReader::CsvReader(std::unique_ptr<ByteSource> source, char delimiter, const std::string& header)
    : TableReader(source->path()), lines_(std::move(source)), delimiter_(delimiter) {
  std::string_view record;
  if (!next_line(record)) fail_file(path() + ": the file is empty: no line holds data");
  if (delimiter_ == '\0') delimiter_ = detect_delimiter(record);
  header_ = find_header(header);
  rewind();
  if (!next_record(record)) fail_file(path() + ": the file changed while it was read");
  std::vector<std::string> cells;
  each_cell(record, [&](std::string_view cell) {
    refuse_too_many_columns(static_cast<Index>(cells.size()) + 1);
    cells.emplace_back(header_ ? cell : std::string_view());
  });
  if (trim(record).find('\r') != std::string_view::npos && record.find('"') == std::string_view::npos) {
    lines_.fail("a carriage return within the line; save the file with LF or CRLF line ends");
  }
  if (header_) {
    set_names(std::move(cells));
  } else {
    generate_names(static_cast<Index>(cells.size()));
  }
}

bool CsvReader::find_header(const std::string& header) {
  if (header == "yes") return true;
  if (header == "no") return false;
  constexpr std::size_t most_rows = 50;
  auto most_cells = static_cast<std::size_t>(most_columns);
  std::vector<std::vector<CellKind>> rows;
  rewind();
  std::string_view record;
  while (rows.size() < most_rows && most_cells > 0 && next_record(record)) {
    auto& kinds = rows.emplace_back();
    each_cell(record, [&](std::string_view cell) {
      if (most_cells == 0) return;
      kinds.push_back(kind_of(cell));
      --most_cells;
    });
  }
  return looks_like_header(rows);
}

void CsvReader::rewind() {
  lines_.rewind();
  begun_ = false;
  std::string_view record;
  if (header_ && column_count() > 0) next_record(record);
}

void CsvReader::skip_block_comment() {
  std::string_view line;
  while (lines_.next(line)) {
    if (line.find("*/") != std::string_view::npos) return;
  }
  fail_file(path() + ": the comment that /* begins is never closed");
}

bool CsvReader::next_line(std::string_view& line) {
  while (lines_.next(line)) {
    if (line.empty() || line.front() == '#' || line.find_first_not_of(' ') == std::string_view::npos) continue;
    if (!begun_ && line.starts_with("/*")) {
      if (line.find("*/", 2) == std::string_view::npos) skip_block_comment();
      continue;
    }
    begun_ = true;
    return true;
  }
  return false;
}

bool CsvReader::next_record(std::string_view& record) {
  if (!next_line(record)) return false;
  if (record.find('"') == std::string_view::npos) return true;
  QuoteState quotes(delimiter_);
  std::size_t seen = 0;
  while (quotes.open_after(record.substr(seen))) {
    seen = record.size();
    if (!lines_.extend(record)) lines_.fail("a quote that opens here is never closed");
  }
  return true;
}

template <class Take>
void CsvReader::each_cell(std::string_view record, Take&& take) {
  if (record.find('"') != std::string_view::npos) return each_quoted_cell(record, take);
  const char* at = record.data();
  const char* const end = at + record.size();
  while (true) {
    const char* stop = at;
    while (stop != end && *stop != delimiter_) ++stop;
    take(trimmed({at, static_cast<std::size_t>(stop - at)}));
    if (stop == end) return;
    at = stop + 1;
  }
}

template <class Take>
void CsvReader::each_quoted_cell(std::string_view record, Take&& take) {
  unescaped_.clear();
  unescaped_.reserve(record.size());  // the cells point into it
  const char* at = record.data();
  const char* const end = at + record.size();
  while (true) {
    const char* start = at;
    while (start != end && *start == ' ') ++start;
    std::string_view cell;
    const char* stop = at;
    if (start != end && *start == '"') {
      stop = unquote(start + 1, end, cell);
    } else {
      while (stop != end && *stop != delimiter_) ++stop;
      cell = trimmed({at, static_cast<std::size_t>(stop - at)});
    }
    take(cell);
    if (stop == end) return;
    at = stop + 1;
  }
}

/// Reads the quoted cell whose text begins at `at`; returns the delimiter after it, or the end.
const char* CsvReader::unquote(const char* at, const char* end, std::string_view& cell) {
  const std::size_t first = unescaped_.size();
  while (true) {
    const char* quote = std::find(at, end, '"');
    unescaped_.append(at, quote);
    if (quote == end) lines_.fail("a quote that opens here is never closed");
    if (quote + 1 == end || quote[1] != '"') {
      at = quote + 1;
      break;
    }
    unescaped_ += '"';
    at = quote + 2;
  }
  cell = std::string_view(unescaped_).substr(first);
  while (at != end && *at == ' ') ++at;
  if (at != end && *at != delimiter_) lines_.fail("text after a closing quote; inside quotes write a quote twice");
  return at;
}

bool CsvReader::next(Cells& cells) {
  std::string_view record;
  if (!next_record(record)) return false;
  cells.numbers.resize(used().size());
  cells.texts.resize(used().size());
  Index column = 0;
  each_cell(record, [&](std::string_view cell) {
    const Index k = slot(column++);
    if (k < 0) return;
    const auto j = static_cast<std::size_t>(k);
    std::string_view text = trimmed(cell);
    cells.numbers[j] = read_cell(text);
    cells.texts[j] = text;
  });
  if (column != column_count()) {
    lines_.fail(std::to_string(column) + (column == 1 ? " cell" : " cells") + ", expected " +
                std::to_string(column_count()));
  }
  return true;
}

}  // namespace

std::unique_ptr<TableReader> open_csv(std::unique_ptr<ByteSource> source, char delimiter, const std::string& header) {
  if (header != "auto" && header != "yes" && header != "no") {
    fail_argument("header must be auto, yes or no, not " + quoted(header));
  }
  return std::make_unique<CsvReader>(std::move(source), delimiter, header);
}

}  // namespace mercer
