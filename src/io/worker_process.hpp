#pragma once
#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <span>

namespace mercer {

/// A copy of this process that serves requests through memory the two share, so that a library which damaged bytes can
/// crash, or send round in circles, takes only the copy with it. The copy has no say here: what it leaves in the memory is
/// to be checked like bytes from a file. Costs one fork, and one round trip through a socket per request.
class WorkerProcess {
 public:
  using Serve = std::function<void(std::span<std::byte>)>;

  /// `serve(memory)` runs in the copy, once per ask(), and must not throw; `processor_seconds` is what each may take.
  WorkerProcess(std::size_t memory_bytes, unsigned processor_seconds, const Serve& serve);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  std::span<std::byte> memory() const { return memory_; }
  /// Has the request that stands in memory() served; false when the worker died of it.
  bool ask() const;

 private:
  [[noreturn]] void work(int socket, unsigned processor_seconds, const Serve& serve) const;

  std::span<std::byte> memory_;
  int socket_ = -1;
  pid_t process_ = -1;
};

}  // namespace mercer
