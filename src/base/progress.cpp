#include "base/progress.hpp"

#include <mercer/error.hpp>

#include <atomic>

namespace mercer {
namespace {
std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");
}  // namespace

Progress::~Progress() = default;

void request_stop() noexcept {
  stop.store(true);
}
void clear_stop() noexcept {
  stop.store(false);
}
bool stop_requested() noexcept {
  return stop.load();
}

void check_stop() {
  if (stop.load()) throw Error(ErrorKind::interrupted, "stopped at your request; nothing was written");
}

void report(Progress* progress, std::string_view stage, double fraction) {
  check_stop();
  if (progress != nullptr) progress->update(stage, fraction);
}

void tell(Progress* progress, std::string_view sentence) {
  if (progress != nullptr) progress->tell(sentence);
}

}  // namespace mercer
