#pragma once
#include <mercer/view.hpp>

#include <span>
#include <vector>

namespace mercer {

/// Adam (Kingma and Ba 2015): steps along a running mean of the gradient, divided by a running root mean square of it.
class Adam {
 public:
  explicit Adam(Index size) : mean_(static_cast<std::size_t>(size)), square_(static_cast<std::size_t>(size)) {}

  /// at -= rate·m̂/(√v̂ + 1e-8), m and v with memories of 10 and 1000 steps, corrected for their start at 0. O(size).
  void step(std::span<const double> gradient, double rate, std::span<double> at);

 private:
  std::vector<double> mean_;
  std::vector<double> square_;
  int steps_ = 0;
};

}  // namespace mercer
