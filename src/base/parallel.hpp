#pragma once
#include <mercer/threads.hpp>
#include <mercer/view.hpp>

#include <functional>

namespace mercer {

/// Calls task(0), …, task(count - 1), each once, in any order, spread over the pool; returns when all are done.
/// Tasks must write to separate places; the way work is cut into tasks must not depend on threads(), which is what makes
/// results the same for any number of threads. The first exception thrown is rethrown here. Nested calls run serially.
/// Safe after fork(): the child starts its own threads.
void parallel_for(Index count, const std::function<void(Index)>& task);

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
