#pragma once
#include <mercer/view.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/atomic_file.hpp"

namespace mercer {

/// Writes a CSV of numbers (shortest round-trip decimals; NaN as empty) or text row by row, atomically. Names and text that
/// need it are quoted. "-" writes to standard output.
class CsvWriter {
 public:
  CsvWriter(const std::string& path, const std::vector<std::string>& header);
  ~CsvWriter();
  void row(std::span<const double> values);
  void row(const std::vector<std::string>& cells);
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes a rows × cols NPY (version 1.0, '<f8', C order) block of rows by block of rows, atomically; what is written must
/// add up to `rows`.
class NpyWriter {
 public:
  NpyWriter(const std::string& path, Index rows, Index cols);
  ~NpyWriter();
  void append(ConstMatrix block);
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mercer
