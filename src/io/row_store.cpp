#include "io/row_store.hpp"

#include <algorithm>

namespace mercer {

RowStore::RowStore(Index width, Index most_bytes)
    : width_(width),
      most_rows_(std::max(most_bytes, Index{0}) / (width * static_cast<Index>(sizeof(double)))),
      piece_rows_(std::max(Index{1}, (Index{1} << 17U) / width)),
      complete_(most_rows_ > 0) {}

void RowStore::append(std::span<const double> row) {
  if (!complete_) return;
  if (rows_ == most_rows_) {
    pieces_ = {};
    complete_ = false;
    return;
  }
  if (rows_ % piece_rows_ == 0)
    pieces_.emplace_back().reserve(static_cast<std::size_t>(std::min(piece_rows_, most_rows_) * width_));
  pieces_.back().insert(pieces_.back().end(), row.begin(), row.end());
  ++rows_;
}

std::span<const double> RowStore::row(Index i) const {
  const auto& piece = pieces_[static_cast<std::size_t>(i / piece_rows_)];
  return std::span(piece).subspan(static_cast<std::size_t>(i % piece_rows_ * width_), static_cast<std::size_t>(width_));
}

void RowStore::clear() {
  pieces_ = {};
  rows_ = 0;
  complete_ = most_rows_ > 0;
}

}  // namespace mercer
