#pragma once
#include <sys/mman.h>
#include <unistd.h>
#include <mercer/error.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
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

/// The first byte chooses the options, the rest is the file; then the same file is read by the schema it gave.
inline int read_as_dataset(const std::uint8_t* bytes, std::size_t size, const char* format) {
  if (size == 0) return 0;
  const unsigned choice = bytes[0];
  const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  require(file >= 0);
  require(::write(file, bytes + 1, size - 1) == static_cast<ssize_t>(size - 1));
  const std::string path = "/proc/self/fd/" + std::to_string(file);
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
  } catch (const Error&) {
    static_cast<void>(::close(file));
    return 0;
  }
  static_cast<void>(::close(file));
  return 0;
}

}  // namespace mercer
