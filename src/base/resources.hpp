#pragma once
#include <mercer/view.hpp>

#include <algorithm>
#include <chrono>
#include <limits>

namespace mercer {

/// Most memory this process has had resident so far.
Index peak_memory_bytes();
/// Memory of the machine, and what of it is free for new work now.
Index physical_memory_bytes();
Index available_memory_bytes();

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Seconds of the fastest of `runs` runs.
template <class Work>
double fastest(int runs, const Work& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int k = 0; k < runs; ++k) {
    const Stopwatch watch;
    work();
    best = std::min(best, watch.seconds());
  }
  return best;
}

}  // namespace mercer
