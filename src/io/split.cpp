#include "io/split.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/fail.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

namespace mercer {
namespace {

constexpr Index block_rows = 1024;

std::uint64_t key_bits(std::uint64_t seed, Index row) {
  return Stream(seed, "split").bits(static_cast<std::uint64_t>(row), 0);
}

/// Rows of the test part, by the rule of Split.
Index test_rows(Index n, const Split& split) {
  if (!(split.test_fraction > 0 && split.test_fraction < 1)) {
    fail_argument("the test fraction must lie between 0 and 1, not be " + shortest(split.test_fraction));
  }
  if (n < 2) fail_argument("a split needs at least two rows, not " + std::to_string(n));
  const auto wanted = static_cast<Index>(std::llround(split.test_fraction * static_cast<double>(n)));
  return std::clamp(wanted, Index{1}, n - 1);
}

using Key = std::pair<std::uint64_t, Index>;  ///< bits and row: equal bits are settled by the row

/// The largest key of the test part.
Key last_test_key(Index n, Index test, std::uint64_t seed) {
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) keys[static_cast<std::size_t>(i)] = key_bits(seed, i);
  std::nth_element(keys.begin(), keys.begin() + (test - 1), keys.end());
  const std::uint64_t bits = keys[static_cast<std::size_t>(test - 1)];
  // Equal keys (once in 2⁶⁴/n² splits) are settled by the row: as many of them as are still wanted.
  Index ties = test - std::count_if(keys.begin(), keys.end(), [&](std::uint64_t key) { return key < bits; });
  Key last{};
  for (Index i = 0; i < n && ties > 0; ++i) {
    if (key_bits(seed, i) != bits) continue;
    last = {bits, i};
    --ties;
  }
  return last;
}

std::function<bool(Index)> chooser(RowSource& all, const Split& split, bool test) {
  const Index n = count_rows(all);
  const Index size = test_rows(n, split);
  if (split.in_order) return [=](Index row) { return (row >= n - size) == test; };
  return [=, seed = split.seed, last = last_test_key(n, size, split.seed)](Index row) {
    return (Key{key_bits(seed, row), row} <= last) == test;
  };
}

Index part_rows(RowSource& all, const Split& split, bool test) {
  const Index n = count_rows(all);
  const Index size = test_rows(n, split);
  return test ? size : n - size;
}

}  // namespace

Index count_rows(RowSource& rows) {
  if (rows.row_count() >= 0) return rows.row_count();
  Index count = 0;
  RowBlock block;
  rows.rewind();
  while (rows.next(block_rows, block)) count += block.rows();
  rows.rewind();
  return count;
}

ChosenRows::ChosenRows(RowSource& all, std::function<bool(Index)> chosen, Index count)
    : all_(all), chosen_(std::move(chosen)), count_(count) {}

ChosenRows::~ChosenRows() = default;

SplitRows::SplitRows(RowSource& all, const Split& split, Part part)
    : ChosenRows(all, chooser(all, split, part == Part::test), part_rows(all, split, part == Part::test)) {}

SplitRows::~SplitRows() = default;

/// Moves to the next row of this part: the row from_used_ - 1 of from_.
bool ChosenRows::pull() {
  while (true) {
    if (from_used_ == from_.rows()) {
      if (!all_.next(block_rows, from_)) return false;
      if (from_.first_row != seen_) fail_internal("the source of a split was read elsewhere during a pass");
      from_used_ = 0;
    }
    ++from_used_;
    if (chosen_(seen_++)) return true;
  }
}

bool ChosenRows::next(Index max_rows, RowBlock& block) {
  if (max_rows < 1) fail_argument("a block must have at least one row, not " + std::to_string(max_rows));
  if (!begun_) {
    all_.rewind();
    begun_ = true;
  }
  const Index count = std::min(max_rows, count_ - position_);
  if (count == 0) return false;
  if (inputs_.rows() < count) {
    inputs_ = Matrix<double>(count, input_count());
    targets_ = Matrix<double>(count, target_count());
  }
  weights_.clear();
  for (Index i = 0; i < count; ++i) {
    if (!pull()) fail_internal("the source of a split has fewer rows than before");
    const Index row = from_used_ - 1;
    std::ranges::copy(from_.inputs.row(row), inputs_.row(i).begin());
    if (target_count() > 0) std::ranges::copy(from_.targets.row(row), targets_.row(i).begin());
    if (!from_.weights.empty()) weights_.push_back(from_.weights[static_cast<std::size_t>(row)]);
  }
  block.first_row = position_;
  block.inputs = inputs_.view().row_range(0, count);
  block.targets = targets_.view().row_range(0, count);
  block.weights = weights_;
  position_ += count;
  return true;
}

std::string ChosenRows::place_of(Index row) const {
  Index in_all = 0;
  for (Index before = row; before > 0 || !chosen_(in_all); ++in_all) before -= chosen_(in_all) ? 1 : 0;
  return all_.place_of(in_all);
}

void ChosenRows::rewind() {
  begun_ = false;
  from_ = {};
  from_used_ = 0;
  seen_ = 0;
  position_ = 0;
}

}  // namespace mercer
