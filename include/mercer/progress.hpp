#pragma once
#include <mercer/export.hpp>

#include <string_view>

namespace mercer {

/// Receives what long work says of itself. Called from one thread at a time.
class MERCER_API Progress {
 public:
  virtual ~Progress();
  /// `fraction` in [0, 1] of the current stage ("reading", "accumulating", "solving").
  virtual void update(std::string_view stage, double fraction) = 0;
  /// A sentence about what is going to be done.
  virtual void tell(std::string_view /*sentence*/) {}
};

/// Asks all work of the process to stop soon: it throws Error(interrupted). Safe in a signal handler.
MERCER_API void request_stop() noexcept;
MERCER_API void clear_stop() noexcept;
MERCER_API bool stop_requested() noexcept;

}  // namespace mercer
