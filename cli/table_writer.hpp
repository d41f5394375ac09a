#pragma once
#include <optional>
#include <string>
#include <vector>

#include "io/write.hpp"

namespace mercer::cli {

/// A table as CSV, or one of numbers alone as NPY.
class TableWriter {
 public:
  enum class Form { csv, npy };

  /// NPY has no names for its columns, and its number of rows must be known.
  TableWriter(const std::string& path, Form form, const std::vector<std::string>& header, Index rows) {
    if (form == Form::npy) {
      npy_.emplace(path, rows, static_cast<Index>(header.size()));
    } else {
      csv_.emplace(path, header);
    }
  }

  void append(ConstMatrix block) {
    if (npy_) return npy_->append(block);
    for (Index i = 0; i < block.rows; ++i) csv_->row(block.row(i));
  }
  /// Of CSV alone.
  void append(const std::vector<std::string>& cells) { csv_.value().row(cells); }

  void commit() { npy_ ? npy_->commit() : csv_->commit(); }

 private:
  std::optional<NpyWriter> npy_;
  std::optional<CsvWriter> csv_;
};

}  // namespace mercer::cli
