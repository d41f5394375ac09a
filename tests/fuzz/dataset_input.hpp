#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <mercer/error.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "io/dataset.hpp"

namespace mercer {

inline void require(bool holds) {
  if (!holds) std::abort();
}

/// Two passes, with different blocks, must give the same number of rows; without Missing::keep every number is finite.
inline void read_twice(Dataset& data, bool may_hold_nan) {
  for (const Index block_rows : {7, 100}) {
    data.rewind();
    Index rows = 0;
    RowBlock block;
    while (data.next(block_rows, block)) {
      require(block.first_row == rows);
      rows += block.rows();
      for (Index i = 0; i < block.rows() && !may_hold_nan; ++i) {
        for (const double x : block.inputs.row(i)) require(std::isfinite(x));
        for (const double y : block.targets.row(i)) require(std::isfinite(y));
      }
    }
    require(rows == data.row_count() && rows > 0);
  }
}

/// One file in memory, written again for every input. Its name is a real one (HDF5 follows links), gone when the process
/// ends well.
class InputFile {
 public:
  InputFile() : path_("/dev/shm/mercer-fuzz-" + std::to_string(::getpid())) {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
    require(file_ >= 0);
  }
  ~InputFile() {
    ::close(file_);
    ::unlink(path_.c_str());
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& fill(std::span<const std::uint8_t> bytes) {
    require(::ftruncate(file_, 0) == 0);
    require(::pwrite(file_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    return path_;
  }

 private:
  std::string path_;
  int file_;
};

/// The first byte chooses the options, the rest is the file; then the same file is read by the schema it gave.
inline int read_as_dataset(std::span<const std::uint8_t> bytes, const char* format) {
  if (bytes.empty()) return 0;
  static InputFile file;
  const std::string& path = file.fill(bytes.subspan(1));
  const unsigned choice = bytes.front();
  DatasetOptions options;
  options.format = format;
  options.missing = static_cast<Missing>(choice & 3U);
  options.one_hot = (choice & 4U) != 0;
  options.targets = (choice & 8U) != 0 ? "last:1" : "";
  options.classify = (choice & 24U) == 24U;
  options.memory_bytes = (choice & 32U) != 0 ? 1 << 20 : 0;
  options.weights = (choice & 64U) != 0 ? "0" : "";
  options.header = (choice & 128U) != 0 ? "no" : "auto";
  try {
    const std::unique_ptr<Dataset> data = open_dataset({path}, options);
    read_twice(*data, options.missing == Missing::keep);
    const Schema schema = data->schema();
    options.like = &schema;
    options.targets_optional = (choice & 16U) != 0;
    const std::unique_ptr<Dataset> again = open_dataset({path}, options);
    require(again->row_count() == data->row_count() || options.targets_optional);  // which drops no row for its target
    read_twice(*again, options.missing == Missing::keep);
  } catch (const Error&) {  // refused, as it may be
  }
  return 0;
}

}  // namespace mercer
