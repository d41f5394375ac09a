#include <algorithm>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "base/text.hpp"
#include "io/byte_window.hpp"
#include "io/npy_header.hpp"
#include "io/readers.hpp"

namespace mercer {
namespace {

/// NumPy arrays: row-major ones stream, column-major ones are held whole.
class NpyReader final : public TableReader {
 public:
  NpyReader(std::unique_ptr<ByteSource> source, Index memory_bytes);
  void rewind() override;
  bool next(Cells& cells) override;
  void rest() override { window_.rest(); }
  Index number() const override { return row_; }
  const char* unit() const override { return "row"; }

 private:
  void read_header();
  void check_size();
  void load(Index memory_bytes);

  ByteWindow window_;
  NpyHeader header_;
  std::size_t data_begin_ = 0;
  std::size_t row_bytes_ = 0;
  bool whole_ = false;  ///< column-major: `columns_` holds the data
  std::vector<char> columns_;
  std::vector<Index> places_;  ///< of the used cells of a row among the elements
  Index row_ = 0;
};

NpyReader::NpyReader(std::unique_ptr<ByteSource> source, Index memory_bytes)
    : TableReader(source->path()), window_(std::move(source)) {
  read_header();
  if (header_.rows == 0) fail_file(path() + ": no rows of data");
  if (header_.cols == 0) fail_file(path() + ": an array of no columns");
  refuse_too_many_columns(header_.cols);
  check_size();
  row_bytes_ = static_cast<std::size_t>(header_.cols) * header_.element.size;
  whole_ = header_.column_major && header_.rows > 1 && header_.cols > 1;
  if (whole_) load(memory_bytes);
  generate_names(header_.cols);
}

void NpyReader::read_header() {
  constexpr std::string_view magic = "\x93NUMPY";
  constexpr std::size_t prefix = 8;
  constexpr std::size_t longest = std::size_t{1} << 16U;
  window_.fill(prefix + 4);
  const std::string_view view = window_.view();
  if (view.size() < prefix + 2 || !view.starts_with(magic)) fail_file(path() + ": not an NPY file");
  const auto byte = [&](std::size_t i) { return i < view.size() ? static_cast<unsigned char>(view[i]) : 0U; };
  const unsigned version = byte(6);
  if (version < 1 || version > 3) fail_file(path() + ": NPY version " + std::to_string(version) + " is not known");
  std::size_t length = byte(8) | (byte(9) << 8U);
  if (version > 1) length |= (byte(10) << 16U) | (static_cast<std::size_t>(byte(11)) << 24U);
  const std::size_t begin = prefix + (version == 1 ? 2U : 4U);
  if (length > longest) fail_file(path() + ": an NPY header of " + std::to_string(length) + " bytes; the file is damaged");
  if (!window_.fill(begin + length)) fail_file(path() + ": the file ends within its NPY header");
  header_ = parse_npy_header(window_.view().substr(begin, length), path());
  data_begin_ = begin + length;
}

void NpyReader::check_size() {
  constexpr Index most_bytes = Index{1} << 62U;
  if (header_.rows > most_bytes / (header_.cols * static_cast<Index>(header_.element.size))) {
    fail_file(path() + ": the NPY header promises " + std::to_string(header_.rows) + " × " + std::to_string(header_.cols) +
              " numbers, more than any file holds");
  }
  const std::size_t bytes = checked_bytes(header_.rows, header_.cols, header_.element.size);
  const Index size = window_.source().size();
  if (size < 0) return;
  const Index held = size - static_cast<Index>(data_begin_);
  if (held != static_cast<Index>(bytes)) {
    fail_file(path() + ": the NPY header promises " + std::to_string(bytes) + " bytes of data, the file holds " +
              std::to_string(held));
  }
}

void NpyReader::load(Index memory_bytes) {
  const std::size_t bytes = checked_bytes(header_.rows, header_.cols, header_.element.size);
  if (static_cast<Index>(bytes) > memory_bound(memory_bytes)) {
    fail_file(path() + ": a column-major (Fortran order) array of " + human_bytes(static_cast<double>(bytes)) +
              " does not fit in memory; save it with numpy.ascontiguousarray");
  }
  window_.skip(data_begin_);
  constexpr std::size_t step = std::size_t{1} << 20U;
  while (columns_.size() < bytes) {
    const std::size_t count = std::min(step, bytes - columns_.size());
    if (!window_.fill(count)) fail_file(path() + ": the file ends within its data");
    columns_.insert(columns_.end(), window_.view().data(), window_.view().data() + count);
    window_.skip(count);
  }
  if (window_.fill(1)) fail_file(path() + ": the file goes on after its data");
}

void NpyReader::rewind() {
  row_ = 0;
  places_.assign(used().begin(), used().end());
  if (whole_) {
    for (Index& place : places_) place *= header_.rows;
    return;
  }
  window_.rewind();
  if (!window_.fill(data_begin_)) fail_file(path() + ": the file changed while it was read");
  window_.skip(data_begin_);
}

bool NpyReader::next(Cells& cells) {
  cells.numbers.resize(places_.size());
  cells.texts.clear();
  if (row_ == header_.rows) {
    if (!whole_ && window_.fill(1)) fail_file(path() + ": the file goes on after its data");
    return false;
  }
  if (whole_) {
    const std::size_t offset = static_cast<std::size_t>(row_) * header_.element.size;
    decode_elements(header_.element, columns_.data() + offset, places_, cells.numbers);
  } else {
    if (!window_.fill(row_bytes_)) {
      fail_file(path() + ": the file ends after " + std::to_string(row_) + " of " + std::to_string(header_.rows) + " rows");
    }
    decode_elements(header_.element, window_.view().data(), places_, cells.numbers);
    window_.skip(row_bytes_);
  }
  ++row_;
  return true;
}

}  // namespace

std::unique_ptr<TableReader> open_npy(std::unique_ptr<ByteSource> source, Index memory_bytes) {
  return std::make_unique<NpyReader>(std::move(source), memory_bytes);
}

}  // namespace mercer
