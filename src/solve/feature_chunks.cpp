#include "solve/feature_chunks.hpp"

#include <algorithm>

#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"

namespace mercer {

template <class Real>
FeatureChunks<Real>::FeatureChunks(const FeatureMap& map, RowSource& rows, Index slots, Index memory_bytes)
    : map_(map),
      rows_(rows),
      slots_(slots),
      keep_(rows.row_count() >= 0 &&
            static_cast<double>(rows.row_count()) * static_cast<double>(map.columns()) * sizeof(Real) <=
                static_cast<double>(memory_bytes)) {
  if (rows.input_count() != map.inputs()) {
    fail_argument("the map takes " + std::to_string(map.inputs()) + " inputs but the rows have " +
                  std::to_string(rows.input_count()));
  }
}

template <class Real>
Index FeatureChunks<Real>::chunk_rows() const {
  constexpr Index cache_bytes = Index{3} << 18;
  const Index rows = cache_bytes / (static_cast<Index>(sizeof(Real)) * std::max<Index>(1, map_.columns()));
  return std::clamp<Index>(rows / 8 * 8, 8, slot_rows);
}

template <class Real>
void FeatureChunks<Real>::consume_slot(Index slot, Index first_row, const RowBlock& block, const Consumer& consume) {
  thread_local Matrix<Real> inputs;
  thread_local Matrix<Real> buffer;
  const Index rows = chunk_rows();
  if (inputs.rows() != rows || inputs.cols() != map_.inputs()) inputs = Matrix<Real>(rows, map_.inputs());
  const bool compute = !kept_;
  if (!keep_ && (buffer.rows() != rows || buffer.cols() != map_.columns())) buffer = Matrix<Real>(rows, map_.columns());
  const Index begin = slot * slot_rows;
  const Index end = std::min(block.rows(), begin + slot_rows);
  for (Index first = begin; first < end; first += rows) {
    const Index count = std::min(rows, end - first);
    MatrixView<Real> features =
        keep_ ? features_.view().row_range(first_row + first, count) : buffer.view().row_range(0, count);
    if (compute) {
      for (Index i = 0; i < count; ++i) {
        std::ranges::transform(block.inputs.row(first + i), inputs.row(i).begin(),
                               [](double v) { return static_cast<Real>(v); });
      }
      map_.features(inputs.view().row_range(0, count), features);
    }
    Chunk chunk;
    chunk.slot = slot;
    chunk.first_row = first_row + first;
    chunk.row_in_block = first;
    chunk.last_of_slot = first + count == end;
    chunk.rows = block.inputs.row_range(first, count);
    chunk.features = features;
    chunk.targets = block.targets.cols > 0 ? block.targets.row_range(first, count) : ConstMatrix();
    if (!block.weights.empty())
      chunk.weights = block.weights.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    consume(chunk);
  }
}

template <class Real>
void FeatureChunks<Real>::for_each(const Consumer& consume, const BlockHook& before, const BlockHook& after) {
  if (keep_ && features_.empty()) features_ = Matrix<Real>(rows_.row_count(), map_.columns());
  rows_.rewind();
  RowBlock block;
  Index first_row = 0;
  while (rows_.next(block_rows(), block)) {
    check_stop();
    if (before) before(first_row, block.rows());
    parallel_for((block.rows() + slot_rows - 1) / slot_rows,
                 [&](Index slot) { consume_slot(slot, first_row, block, consume); });
    if (after) after(first_row, block.rows());
    first_row += block.rows();
  }
  kept_ = keep_;
}

template class FeatureChunks<float>;
template class FeatureChunks<double>;

}  // namespace mercer
