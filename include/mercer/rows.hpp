#pragma once
#include <mercer/export.hpp>
#include <mercer/view.hpp>

#include <span>
#include <string>

namespace mercer {

/// Consecutive rows of a data set. The views stay valid until the next call on the source that gave them.
struct RowBlock {
  Index first_row = 0;              ///< number of the first row in the whole source, counting rows kept
  ConstMatrix inputs;               ///< rows × d
  ConstMatrix targets;              ///< rows × p; no columns when the source has no targets
  std::span<const double> weights;  ///< one per row, non-negative; empty means all 1

  Index rows() const { return inputs.rows; }
};

/// What a number of a row is there for.
enum class RowPart { input, target, weight };

/// Rows that stream by, as often as wanted, always the same and in the same order.
class MERCER_API RowSource {
 public:
  virtual ~RowSource();
  virtual Index input_count() const = 0;
  virtual Index target_count() const = 0;
  /// The number of rows, or -1 while it is not known.
  virtual Index row_count() const = 0;
  /// The next at most `max_rows` rows; false at the end. Only the last block of a pass has fewer than max_rows.
  virtual bool next(Index max_rows, RowBlock& block) = 0;
  /// Starts again from the first row.
  virtual void rewind() = 0;

  /// For messages: "input 3" or what the source calls it, and "row 17" or where that row came from.
  virtual std::string name_of(RowPart part, Index column) const;
  virtual std::string place_of(Index row) const;
};

/// Rows that lie in memory already; nothing is copied.
class MERCER_API ArrayRows : public RowSource {
 public:
  explicit ArrayRows(ConstMatrix inputs, ConstMatrix targets = {}, std::span<const double> weights = {});
  ~ArrayRows() override;
  Index input_count() const override { return inputs_.cols; }
  Index target_count() const override { return targets_.cols; }
  Index row_count() const override { return inputs_.rows; }
  bool next(Index max_rows, RowBlock& block) override;
  void rewind() override { position_ = 0; }

 private:
  ConstMatrix inputs_;
  ConstMatrix targets_;
  std::span<const double> weights_;
  Index position_ = 0;
};

}  // namespace mercer
