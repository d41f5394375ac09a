#include "solve/feature_chunks.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <type_traits>
#include <vector>

#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"

namespace mercer {
namespace {

/// The stretches of a slot, or of a lane, one after the other.
class Turns {
 public:
  explicit Turns(Index slots) : done_(static_cast<std::size_t>(slots)) {}

  bool failed() const { return failed_; }  ///< slots may be in disorder

  class Turn {
   public:
    /// That of the stretch which is the `mine`-th of its slot.
    Turn(Turns& turns, Index slot, Index mine)
        : turns_(turns), done_(turns.done_[static_cast<std::size_t>(slot)]), mine_(mine) {}
    void wait() const { done_.wait_for(mine_); }
    ~Turn() {
      if (std::uncaught_exceptions() > exceptions_) turns_.failed_ = true;
      done_.reach(mine_ + 1);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Turns& turns_;
    Milestone& done_;
    Index mine_;
    int exceptions_ = std::uncaught_exceptions();
  };

 private:
  std::vector<Milestone> done_;  ///< of every slot
  std::atomic<bool> failed_ = false;
};

}  // namespace

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
  // Sums of all features are read and written for every chunk, those of doubles with little to do between.
  constexpr Index cache_bytes = std::is_same_v<Real, float> ? Index{3} << 18 : Index{1} << 20;
  const Index rows = cache_bytes / (static_cast<Index>(sizeof(Real)) * std::max<Index>(1, map_.columns()));
  return std::clamp<Index>(rows / 8 * 8, 8, slot_rows);
}

template <class Real>
void FeatureChunks<Real>::consume_stretch(Index slot, Index stretch, Index first_row, const RowBlock& block,
                                          const Consumer& consume) {
  thread_local Matrix<Real> inputs;
  thread_local Matrix<Real> buffer;
  const Index rows = chunk_rows();
  if (inputs.rows() != rows || inputs.cols() != map_.inputs()) inputs = Matrix<Real>(rows, map_.inputs());
  const bool compute = !kept_;
  if (!keep_ && (buffer.rows() != rows || buffer.cols() != map_.columns())) buffer = Matrix<Real>(rows, map_.columns());
  const Index begin = stretch * slot_rows;
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
    chunk.first_of_stretch = first == begin;
    chunk.last_of_stretch = first + count == end;
    chunk.rows = block.inputs.row_range(first, count);
    chunk.features = features;
    chunk.targets = block.targets.cols > 0 ? block.targets.row_range(first, count) : ConstMatrix();
    if (!block.weights.empty())
      chunk.weights = block.weights.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    consume(chunk);
  }
}

template <class Real>
void FeatureChunks<Real>::for_each(const Consumer& consume, const BlockHook& before, const Ends& ends) {
  // Threads wait for each other at the end of a block, which is little of what two dozen stretches take each of them. More
  // rows take more memory, mostly fresh: scaled ones are copies. Slots are the same for any number of blocks.
  constexpr Index stretches_each = 24;
  constexpr double features = 1 << 29;
  constexpr double numbers = 1 << 23;
  const auto width = static_cast<double>(rows_.input_count() + rows_.target_count() + 1);
  const double most_rows = std::min(features / static_cast<double>(std::max<Index>(1, map_.columns())), numbers / width);
  const auto most_blocks = static_cast<Index>(most_rows / static_cast<double>(block_rows()));
  Index blocks = std::max<Index>(1, std::min(most_blocks, (threads() * stretches_each + slots_ - 1) / slots_));
  if (const Index n = rows_.row_count(); n > 0) {
    // All of nearly the same size: few rows at the end would leave most of many threads idle.
    const Index all = (n + block_rows() - 1) / block_rows();
    const Index most = std::max<Index>(1, most_blocks);
    const Index times = std::max({Index{1}, (all + most - 1) / most, (all + blocks / 2) / blocks});
    blocks = (all + times - 1) / times;
  }
  // A single slot is worked on by one thread at a time, and what it calls by all of them if it is alone.
  pass((slots_ == 1 ? 1 : blocks) * block_rows(), consume, before, {}, ends);
}

template <class Real>
void FeatureChunks<Real>::for_each_block(Index rows, const Consumer& consume, const BlockHook& before, const Others& others,
                                         const Ends& ends) {
  pass(rows, consume, before, others, ends);
}

template <class Real>
void FeatureChunks<Real>::pass(Index rows_at_once, const Consumer& consume, const BlockHook& before, const Others& others,
                               const Ends& ends) {
  if (keep_ && features_.empty()) features_ = Matrix<Real>(rows_.row_count(), map_.columns());
  rows_.rewind();
  RowBlock block;
  Index first_row = 0;
  Index first_stretch = 0;
  const Index lane_count = std::max<Index>(1, ends.lanes);
  Turns lanes(lane_count);
  while (rows_.next(rows_at_once, block)) {
    check_stop();
    if (before) before(first_row, block.rows());
    Turns turns(slots_);
    const Index stretches = (block.rows() + slot_rows - 1) / slot_rows;
    const Index other_tasks = others.count ? others.count() : 0;
    const Index tasks = stretches + other_tasks;
    parallel_for(tasks, [&](Index task) {
      const Index stretch = task * stretches / tasks;  // spread evenly among the others
      if ((task + 1) * stretches / tasks == stretch) {
        others.run(task - stretch);
        return;
      }
      // Before anything may fail: others wait for their ends. That of the lane comes first, and tells them of a failure.
      const Index in_all = first_stretch + stretch;  // blocks are of different sizes for other numbers of threads
      const Index slot = in_all % slots_;
      const Turns::Turn turn(turns, slot, stretch / slots_);
      const Turns::Turn end(lanes, in_all % lane_count, in_all / lane_count);
      turn.wait();
      if (turns.failed()) return;
      check_stop();
      consume_stretch(slot, stretch, first_row, block, consume);
      if (!ends.done) return;
      end.wait();
      if (!lanes.failed()) ends.done(in_all % lane_count, slot);
    });
    first_row += block.rows();
    first_stretch += stretches;
  }
  kept_ = keep_;
}

template class FeatureChunks<float>;
template class FeatureChunks<double>;

}  // namespace mercer
