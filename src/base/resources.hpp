#pragma once
#include <mercer/view.hpp>

#include <chrono>

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

}  // namespace mercer
