#pragma once
#include <mercer/rows.hpp>

#include <span>

#include "base/matrix.hpp"
#include "map/feature_map.hpp"

namespace mercer {

/// Blocks of augmented feature rows [φ(x), 1, y] in Real, streamed from a source: the one place where rows become features.
template <class Real>
class FeatureRows {
 public:
  FeatureRows(const FeatureMap& map, RowSource& rows);

  /// Computes the next block; false at the end of the pass.
  bool next();
  /// Starts another pass.
  void rewind() { rows_.rewind(); }

  Index count() const { return block_.rows(); }
  Index first_row() const { return block_.first_row; }
  std::span<const double> weights() const { return block_.weights; }
  double weight(Index i) const { return block_.weights.empty() ? 1.0 : block_.weights[static_cast<std::size_t>(i)]; }
  const RowBlock& source_block() const { return block_; }

  /// count × (columns + 1 + p), writable: a consumer may scale rows in place.
  MatrixView<Real> augmented() { return buffer_.view().row_range(0, count()); }
  MatrixView<Real> features() { return augmented().col_range(0, map_.columns()); }
  MatrixView<Real> targets() { return augmented().col_range(map_.columns() + 1, rows_.target_count()); }

  /// Rows of a block: a feature block of about 32 MB, a multiple of 64.
  static Index block_rows(Index columns);

 private:
  const FeatureMap& map_;
  RowSource& rows_;
  RowBlock block_;
  Matrix<Real> inputs_;
  Matrix<Real> buffer_;
};

}  // namespace mercer
