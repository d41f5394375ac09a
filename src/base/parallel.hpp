#pragma once
#include <mercer/threads.hpp>
#include <mercer/view.hpp>

#include <atomic>
#include <functional>

namespace mercer {

/// Calls task(0), …, task(count - 1), each once, spread over the pool; returns when all are done. They are begun in this
/// order and end in any.
/// Tasks must write to separate places; the way work is cut into tasks must not depend on threads(), which is what makes
/// results the same for any number of threads. The first exception thrown is rethrown here. Nested calls run serially.
/// Safe after fork(): the child starts its own threads.
void parallel_for(Index count, const std::function<void(Index)>& task);

/// Calls work(first, end) for stretches of rows that have about as many numbers as are worth waking a thread for.
void parallel_rows(Index rows, Index numbers_in_row, const std::function<void(Index first, Index end)>& work);

/// How far tasks have come that build on each other. Tasks of a parallel_for are begun in their order, so whoever waits for
/// an earlier one waits for one that is being worked on.
class Milestone {
 public:
  void wait_for(Index value) const;
  void reach(Index value);

  /// Reaches it at its end, where an exception is one as well: others must not wait for ever. They then work with what is
  /// there, and parallel_for throws.
  class Guard {
   public:
    Guard(Milestone& milestone, Index value) : milestone_(milestone), value_(value) {}
    ~Guard() { milestone_.reach(value_); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Milestone& milestone_;
    Index value_;
  };

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
