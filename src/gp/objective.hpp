#pragma once
#include <mercer/view.hpp>

#include <span>

namespace mercer {

/// A function of `size()` unconstrained numbers that is to be made small, with its gradient.
class Objective {
 public:
  virtual ~Objective() = default;
  virtual Index size() const = 0;
  /// The value at `at`; `gradient` (size()) is overwritten. Infinity where the function is not defined: a line search then
  /// shortens its step.
  virtual double evaluate(std::span<const double> at, std::span<double> gradient) = 0;
};

}  // namespace mercer
