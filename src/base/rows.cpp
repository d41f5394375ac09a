#include <mercer/rows.hpp>

#include <algorithm>

#include "base/fail.hpp"

namespace mercer {

RowSource::~RowSource() = default;
ArrayRows::~ArrayRows() = default;

std::string RowSource::name_of(RowPart part, Index column) const {
  switch (part) {
    case RowPart::input:
      return "input " + std::to_string(column);
    case RowPart::target:
      return "target " + std::to_string(column);
    case RowPart::weight:
      break;
  }
  return "the weight";
}

std::string RowSource::place_of(Index row) const {
  return "row " + std::to_string(row);
}

ArrayRows::ArrayRows(ConstMatrix inputs, ConstMatrix targets, std::span<const double> weights)
    : inputs_(inputs), targets_(targets), weights_(weights) {
  if (targets_.cols > 0 && targets_.rows != inputs_.rows) {
    fail_argument("inputs have " + std::to_string(inputs_.rows) + " rows but targets have " + std::to_string(targets_.rows));
  }
  if (!weights_.empty() && static_cast<Index>(weights_.size()) != inputs_.rows) {
    fail_argument("inputs have " + std::to_string(inputs_.rows) + " rows but there are " + std::to_string(weights_.size()) +
                  " weights");
  }
}

bool ArrayRows::next(Index max_rows, RowBlock& block) {
  const Index count = std::min(max_rows, inputs_.rows - position_);
  if (count <= 0) return false;
  block.first_row = position_;
  block.inputs = inputs_.row_range(position_, count);
  block.targets = targets_.cols > 0 ? targets_.row_range(position_, count) : ConstMatrix(nullptr, count, 0);
  block.weights =
      weights_.empty() ? weights_ : weights_.subspan(static_cast<std::size_t>(position_), static_cast<std::size_t>(count));
  position_ += count;
  return true;
}

}  // namespace mercer
