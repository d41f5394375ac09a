#pragma once
#include <nanobind/nanobind.h>
#include <mercer/rows.hpp>

#include <optional>
#include <string>

#include "arrays.hpp"
#include "options.hpp"

namespace mercer::python {

/// Rows whose columns have names where they came in a data frame.
class NamedRows : public RowSource {
 public:
  Names names;
  std::string name_of(RowPart part, Index column) const override;
};

/// Rows of numpy arrays; float32 is widened block by block.
class NumpyRows final : public NamedRows {
 public:
  /// Checks that the shapes agree.
  NumpyRows(Numbers inputs, std::optional<Numbers> targets, std::optional<Weights> weights);
  Index input_count() const override { return column_count(inputs_); }
  Index target_count() const override { return targets_ ? column_count(*targets_) : 0; }
  Index row_count() const override { return mercer::python::row_count(inputs_); }
  bool next(Index max_rows, RowBlock& block) override;
  void rewind() override { position_ = 0; }

 private:
  Numbers inputs_;
  std::optional<Numbers> targets_;
  std::optional<Weights> weights_;
  Index position_ = 0;
  Matrix<double> wide_inputs_;
  Matrix<double> wide_targets_;
};

/// Rows that Python hands over a block at a time: `restart()` gives an iterator over (inputs, targets, weights or None),
/// each pass the same blocks. Blocks are cut and joined to the sizes asked for.
class IteratorRows final : public NamedRows {
 public:
  IteratorRows(nb::object restart, Index inputs, Index targets, Index rows);
  ~IteratorRows() override;
  IteratorRows(const IteratorRows&) = delete;
  IteratorRows& operator=(const IteratorRows&) = delete;
  Index input_count() const override { return inputs_; }
  Index target_count() const override { return targets_; }
  Index row_count() const override { return rows_; }
  bool next(Index max_rows, RowBlock& block) override;
  void rewind() override;

 private:
  /// The next block from Python; false at the end.
  bool pull();

  nb::object restart_;
  nb::object iterator_;
  Index inputs_;
  Index targets_;
  Index rows_;
  Index first_row_ = 0;
  std::optional<NumpyRows> pulled_;
  Matrix<double> x_;
  Matrix<double> y_;
  std::vector<double> w_;
};

}  // namespace mercer::python
