#include <numeric>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "io/byte_window.hpp"
#include "io/element.hpp"
#include "io/readers.hpp"

namespace mercer {
namespace {

/// One IDX file: 00 00 type dimensions, the dimensions as big-endian 32-bit numbers, then the data, big-endian.
class IdxArray {
 public:
  explicit IdxArray(std::unique_ptr<ByteSource> source);

  const std::string& path() const { return window_.path(); }
  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  std::size_t dimensions() const { return dimensions_; }
  void rewind();
  void rest() { window_.rest(); }
  void next(std::span<const Index> places, std::span<double> values);
  /// Refuses what follows the last row.
  void expect_end();

 private:
  ByteWindow window_;
  Element element_;
  Index rows_ = 0;
  Index cols_ = 1;
  std::size_t dimensions_ = 0;
  std::size_t row_bytes_ = 0;
};

Element idx_element(unsigned type, const std::string& path) {
  switch (type) {
    case 0x08:
      return {Element::Kind::natural, 1, true};
    case 0x09:
      return {Element::Kind::integer, 1, true};
    case 0x0b:
      return {Element::Kind::integer, 2, true};
    case 0x0c:
      return {Element::Kind::integer, 4, true};
    case 0x0d:
      return {Element::Kind::floating, 4, true};
    case 0x0e:
      return {Element::Kind::floating, 8, true};
    default:
      fail_file(path + ": IDX type " + std::to_string(type) + " is not known");
  }
}

IdxArray::IdxArray(std::unique_ptr<ByteSource> source) : window_(std::move(source)) {
  constexpr std::size_t most_dimensions = 8;
  if (!window_.fill(4)) fail_file(path() + ": too short for an IDX file");
  const std::string_view magic = window_.view();
  if (magic[0] != 0 || magic[1] != 0) fail_file(path() + ": not an IDX file (it must begin with two zero bytes)");
  element_ = idx_element(static_cast<unsigned char>(magic[2]), path());
  dimensions_ = static_cast<unsigned char>(magic[3]);
  if (dimensions_ == 0 || dimensions_ > most_dimensions) {
    fail_file(path() + ": an IDX file of " + std::to_string(dimensions_) + " dimensions is not read");
  }
  const std::size_t header = 4 + 4 * dimensions_;
  if (!window_.fill(header)) fail_file(path() + ": the file ends within its IDX header");
  std::vector<Index> places(dimensions_);
  std::iota(places.begin(), places.end(), Index{0});
  std::vector<double> sizes(dimensions_);
  decode_elements({Element::Kind::natural, 4, true}, window_.view().data() + 4, places, sizes);
  rows_ = static_cast<Index>(sizes[0]);
  for (std::size_t i = 1; i < dimensions_; ++i) {
    cols_ = checked_product(cols_, static_cast<Index>(sizes[i]));
    if (cols_ == 0 || cols_ > most_columns) {
      fail_file(path() + ": IDX items of " + std::to_string(cols_) + " numbers are not read");
    }
  }
  row_bytes_ = checked_bytes(1, cols_, element_.size);
  const std::size_t bytes = checked_bytes(rows_, cols_, element_.size);
  const Index size = window_.source().size();
  if (size >= 0 && static_cast<std::size_t>(size) - header != bytes) {
    fail_file(path() + ": the IDX header promises " + std::to_string(bytes) + " bytes of data, the file holds " +
              std::to_string(size - static_cast<Index>(header)));
  }
}

void IdxArray::rewind() {
  window_.rewind();
  const std::size_t header = 4 + 4 * dimensions_;
  if (!window_.fill(header)) fail_file(path() + ": the file changed while it was read");
  window_.skip(header);
}

void IdxArray::next(std::span<const Index> places, std::span<double> values) {
  if (!window_.fill(row_bytes_))
    fail_file(path() + ": the file ends before its " + std::to_string(rows_) + " items are complete");
  decode_elements(element_, window_.view().data(), places, values);
  window_.skip(row_bytes_);
}

void IdxArray::expect_end() {
  if (window_.fill(1)) fail_file(path() + ": the file goes on after its data");
}

/// Items as rows x0, x1, … and, where there is a file of labels, label as the last column.
class IdxReader final : public TableReader {
 public:
  IdxReader(std::unique_ptr<ByteSource> images, std::unique_ptr<ByteSource> labels);
  void rewind() override;
  bool next(Cells& cells) override;
  void rest() override;
  Index number() const override { return row_; }
  const char* unit() const override { return "row"; }

 private:
  IdxArray images_;
  std::unique_ptr<IdxArray> labels_;
  std::vector<Index> places_;
  std::vector<std::size_t> cells_;  ///< which used cell each of places_ is
  std::vector<double> values_;
  Index row_ = 0;
};

IdxReader::IdxReader(std::unique_ptr<ByteSource> images, std::unique_ptr<ByteSource> labels)
    : TableReader(images->path()), images_(std::move(images)) {
  if (images_.rows() == 0) fail_file(path() + ": no rows of data");
  if (images_.dimensions() == 1) {
    adopt_names({"label"});
    return;
  }
  std::vector<std::string> names = numbered_names(images_.cols());
  if (labels != nullptr) {
    labels_ = std::make_unique<IdxArray>(std::move(labels));
    if (labels_->dimensions() != 1) fail_file(labels_->path() + ": labels must have one dimension");
    if (labels_->rows() != images_.rows()) {
      fail_file(path() + ": " + std::to_string(images_.rows()) + " items, but " + labels_->path() + " has " +
                std::to_string(labels_->rows()) + " labels");
    }
    names.emplace_back("label");
  }
  adopt_names(std::move(names));
}

void IdxReader::rewind() {
  row_ = 0;
  images_.rewind();
  if (labels_ != nullptr) labels_->rewind();
  places_.clear();
  cells_.clear();
  for (std::size_t j = 0; j < used().size(); ++j) {
    if (used()[j] >= images_.cols()) continue;
    places_.push_back(used()[j]);
    cells_.push_back(j);
  }
  values_.resize(places_.size());
}

bool IdxReader::next(Cells& cells) {
  if (row_ == images_.rows()) {
    images_.expect_end();
    if (labels_ != nullptr) labels_->expect_end();
    return false;
  }
  cells.numbers.resize(used().size());
  cells.texts.clear();
  images_.next(places_, values_);
  for (std::size_t k = 0; k < cells_.size(); ++k) cells.numbers[cells_[k]] = values_[k];
  if (labels_ != nullptr) {
    const Index first = 0;
    double label = 0;
    labels_->next({&first, 1}, {&label, 1});
    const Index j = slot(images_.cols());
    if (j >= 0) cells.numbers[static_cast<std::size_t>(j)] = label;
  }
  ++row_;
  return true;
}

void IdxReader::rest() {
  images_.rest();
  if (labels_ != nullptr) labels_->rest();
}

}  // namespace

std::unique_ptr<TableReader> open_idx(std::unique_ptr<ByteSource> images, std::unique_ptr<ByteSource> labels) {
  return std::make_unique<IdxReader>(std::move(images), std::move(labels));
}

}  // namespace mercer
