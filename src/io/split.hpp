#pragma once
#include <mercer/rows.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/matrix.hpp"

namespace mercer {

/// How rows are divided in two. The test part has round(test_fraction·n) rows, but each part at least one.
struct Split {
  double test_fraction = 0.2;  ///< in (0, 1)
  bool in_order = false;       ///< true: the last rows are the test part (time series); false: a random choice
  std::uint64_t seed = 0;
};

/// Some of another source's rows, in their order: those of which `chosen(row)` is true, `count` in number. `all` must
/// outlive this and not be read elsewhere during a pass; several may wrap the same source and be read one after the other,
/// each from a rewind().
class ChosenRows : public RowSource {
 public:
  ChosenRows(RowSource& all, std::function<bool(Index)> chosen, Index count);
  ~ChosenRows() override;

  Index input_count() const override { return all_.input_count(); }
  Index target_count() const override { return all_.target_count(); }
  Index row_count() const override { return count_; }
  bool next(Index max_rows, RowBlock& block) override;
  void rewind() override;
  std::string name_of(RowPart part, Index column) const override { return all_.name_of(part, column); }
  std::string place_of(Index row) const override;

 private:
  bool pull();

  RowSource& all_;
  std::function<bool(Index)> chosen_;
  Index count_;

  RowBlock from_;
  Index from_used_ = 0;  ///< rows of from_ that were looked at
  Index seen_ = 0;       ///< rows of all_ that were looked at
  bool begun_ = false;
  Index position_ = 0;
  Matrix<double> inputs_;
  Matrix<double> targets_;
  std::vector<double> weights_;
};

/// One part of a split. The random choice is exact in number: every row has a key that is a pure function of (seed, row),
/// and the rows with the smallest keys are the test part; finding the largest such key takes 8 bytes per row once.
class SplitRows : public ChosenRows {
 public:
  enum class Part { train, test };
  SplitRows(RowSource& all, const Split& split, Part part);
  ~SplitRows() override;
};

/// row_count(), by a pass over the rows where it is not known.
Index count_rows(RowSource& rows);

}  // namespace mercer
