#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "base/text.hpp"
#include "io/arff_header.hpp"
#include "io/cell.hpp"
#include "io/lines.hpp"
#include "io/readers.hpp"

namespace mercer {
namespace {

/// Attribute-relation files: rows "1,2,?" or sparse "{0 1, 4 2}", where what is not written is 0 or the first nominal value.
class ArffReader final : public TableReader {
 public:
  explicit ArffReader(std::unique_ptr<ByteSource> source);
  bool declared_text(Index column) const override { return attribute(column).type != ArffAttribute::Type::number; }
  void rewind() override;
  bool next(Cells& cells) override;
  void rest() override { lines_.rest(); }
  Index number() const override { return lines_.number(); }

 private:
  const ArffAttribute& attribute(Index column) const { return attributes_[static_cast<std::size_t>(column)]; }
  void dense_row(std::string_view text, Cells& cells);
  void sparse_row(std::string_view text, Cells& cells);
  void put(Index column, std::string_view value, bool quoted_value, Cells& cells) const;

  Lines lines_;
  std::vector<ArffAttribute> attributes_;
  std::vector<std::unordered_set<std::string_view>> allowed_;  ///< per column: its nominal values, pointing into attributes_
  Index header_lines_ = 0;
  std::string storage_;
};

ArffReader::ArffReader(std::unique_ptr<ByteSource> source) : TableReader(source->path()), lines_(std::move(source)) {
  attributes_ = read_arff_header(lines_);
  header_lines_ = lines_.number();
  std::vector<std::string> names;
  for (const auto& attribute : attributes_) {
    names.push_back(attribute.name);
    allowed_.emplace_back(attribute.values.begin(), attribute.values.end());
  }
  set_names(std::move(names));
}

void ArffReader::rewind() {
  lines_.rewind();
  std::string_view line;
  for (Index i = 0; i < header_lines_; ++i) lines_.next(line);
}

void ArffReader::put(Index column, std::string_view value, bool quoted_value, Cells& cells) const {
  const Index k = slot(column);
  if (k < 0) return;
  const auto j = static_cast<std::size_t>(k);
  const ArffAttribute& a = attribute(column);
  if (a.type == ArffAttribute::Type::number) {
    cells.numbers[j] = read_cell(value);
    cells.texts[j] = value;
    return;
  }
  const bool missing = !quoted_value && (value == "?" || value.empty());
  cells.numbers[j] = missing_number;
  cells.texts[j] = missing ? std::string_view() : value;
  if (missing || a.type == ArffAttribute::Type::text) return;
  if (!allowed_[static_cast<std::size_t>(column)].contains(value)) {
    lines_.fail("column " + quoted(a.name) + ": " + quoted(value) + " is not one of the values its @attribute line lists" +
                did_you_mean(value, a.values));
  }
}

void ArffReader::dense_row(std::string_view text, Cells& cells) {
  Index column = 0;
  while (true) {
    text = trim(text);
    std::string_view value;
    bool quoted_value = false;
    take_arff_value(lines_, text, ",", storage_, value, quoted_value);
    if (column < column_count()) put(column, value, quoted_value, cells);
    ++column;
    text = trim(text);
    if (text.empty()) break;
    if (text.front() == ',') text.remove_prefix(1);  // else: values separated by white space
  }
  if (column != column_count()) {
    lines_.fail(std::to_string(column) + (column == 1 ? " cell" : " cells") + ", expected " +
                std::to_string(column_count()));
  }
}

void ArffReader::sparse_row(std::string_view text, Cells& cells) {
  for (const Index column : used()) {
    const ArffAttribute& a = attribute(column);
    const bool number = a.type == ArffAttribute::Type::number;
    put(column, number ? "0" : (a.values.empty() ? std::string_view() : a.values.front()), false, cells);
  }
  text.remove_prefix(1);
  if (text.empty() || text.back() != '}') lines_.fail("the sparse row that { begins has no closing }");
  text = trim(text.substr(0, text.size() - 1));
  Index last = -1;
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find_first_of(" \t"), text.size());
    Index column = -1;
    const auto result = std::from_chars(text.data(), text.data() + blank, column);
    if (result.ec != std::errc() || result.ptr != text.data() + blank) lines_.fail("write sparse rows as {index value, …}");
    if (column <= last || column >= column_count()) {
      lines_.fail("index " + std::to_string(column) + " of a sparse row is not in increasing order below " +
                  std::to_string(column_count()));
    }
    last = column;
    text = trim(text.substr(blank));
    std::string_view value;
    bool quoted_value = false;
    take_arff_value(lines_, text, ",", storage_, value, quoted_value);
    if (value.empty() && !quoted_value) lines_.fail("index " + std::to_string(column) + " of a sparse row has no value");
    put(column, value, quoted_value, cells);
    text = trim(text);
    if (text.empty()) return;
    if (text.front() != ',') lines_.fail("the entries of a sparse row must be separated by commas");
    text = trim(text.substr(1));
  }
}

bool ArffReader::next(Cells& cells) {
  std::string_view line;
  while (lines_.next(line)) {
    line = trim(line);
    if (line.empty() || line.front() == '%') continue;
    cells.numbers.resize(used().size());
    cells.texts.resize(used().size());
    storage_.clear();
    storage_.reserve(line.size());  // the cells point into it
    if (line.front() == '{') {
      sparse_row(line, cells);
    } else {
      dense_row(line, cells);
    }
    return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<TableReader> open_arff(std::unique_ptr<ByteSource> source) {
  return std::make_unique<ArffReader>(std::move(source));
}

}  // namespace mercer
