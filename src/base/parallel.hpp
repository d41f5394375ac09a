#pragma once
#include <mercer/threads.hpp>
#include <mercer/view.hpp>

#include <atomic>
#include <functional>

namespace mercer {

/// Calls task(0), …, task(count - 1), each once, in any order, spread over the pool; returns when all are done.
/// Tasks must write to separate places; the way work is cut into tasks must not depend on threads(), which is what makes
/// results the same for any number of threads. The first exception thrown is rethrown here. Nested calls run serially.
/// Safe after fork(): the child starts its own threads.
void parallel_for(Index count, const std::function<void(Index)>& task);

/// Calls work(first, end) for stretches of rows that have about as many numbers as are worth waking a thread for.
void parallel_rows(Index rows, Index numbers_in_row, const std::function<void(Index first, Index end)>& work);

/// How far tasks have come that build on each other. Tasks of a parallel_for are taken in their order, so whoever waits for
/// an earlier one waits for one that is being worked on.
class Milestone {
 public:
  /// Never less than before, by one task at a time.
  void reach(Index value) {
    reached_.store(value);
    reached_.notify_all();
  }
  void wait_for(Index value) const;

 private:
  std::atomic<Index> reached_{0};
};

/// Tile (i, j), j ≤ i, of a triangle whose tiles are counted row by row.
struct TriangleTile {
  Index i = 0;
  Index j = 0;
};
inline TriangleTile triangle_tile(Index task) {
  Index i = 0;
  while ((i + 1) * (i + 2) / 2 <= task) ++i;
  return {i, task - i * (i + 1) / 2};
}

}  // namespace mercer
