#include <array>
#include <bit>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "io/write.hpp"

namespace mercer {

static_assert(std::endian::native == std::endian::little, "NPY files are written in the byte order of the machine");

struct NpyWriter::State {
  State(const std::string& path_, Index rows_, Index cols_) : file(path_), path(path_), rows(rows_), cols(cols_) {}
  AtomicFile file;
  std::string path;
  Index rows;
  Index cols;
  Index written = 0;
};

/// Magic, version 1.0, the length of the dictionary in two bytes, the dictionary padded with blanks to a multiple of 64.
NpyWriter::NpyWriter(const std::string& path, Index rows, Index cols) {
  checked_bytes(rows, cols, sizeof(double));
  state_ = std::make_unique<State>(path, rows, cols);
  constexpr std::size_t prefix = 10;
  constexpr std::size_t alignment = 64;
  std::string dictionary =
      "{'descr': '<f8', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " + std::to_string(cols) + "), }";
  const std::size_t unpadded = prefix + dictionary.size() + 1;
  dictionary.append((alignment - unpadded % alignment) % alignment, ' ');
  dictionary += '\n';
  const std::array<char, 2> length{static_cast<char>(dictionary.size() & 0xffU), static_cast<char>(dictionary.size() >> 8U)};
  state_->file.write(std::string_view("\x93NUMPY\x01\x00", 8));
  state_->file.write(std::string_view(length.data(), length.size()));
  state_->file.write(std::string_view(dictionary));
}

NpyWriter::~NpyWriter() = default;

void NpyWriter::append(ConstMatrix block) {
  if (block.cols != state_->cols || block.rows > state_->rows - state_->written) {
    fail_internal(state_->path + ": " + std::to_string(block.rows) + " × " + std::to_string(block.cols) + " numbers where " +
                  std::to_string(state_->rows - state_->written) + " × " + std::to_string(state_->cols) +
                  " were left to write");
  }
  for (Index i = 0; i < block.rows; ++i) state_->file.write(std::as_bytes(block.row(i)));
  state_->written += block.rows;
}

void NpyWriter::commit() {
  if (state_->written != state_->rows) {
    fail_internal(state_->path + ": " + std::to_string(state_->written) + " of " + std::to_string(state_->rows) +
                  " rows were written");
  }
  state_->file.commit();
}

}  // namespace mercer
