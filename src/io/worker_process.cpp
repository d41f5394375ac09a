#include "io/worker_process.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string>

#include "base/fail.hpp"
#include "base/progress.hpp"
#include "io/byte_source.hpp"

namespace mercer {
namespace {

/// No more memory than half of the machine's beyond what was there at the fork.
void limit_memory() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  for (int field = 0; field < 6; ++field) file >> pages;  // the sixth: data and stack, which RLIMIT_DATA bounds
  if (!file) return;
  const rlim_t most = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + static_cast<rlim_t>(memory_bound(0));
  const rlimit limit{most, most};
  ::setrlimit(RLIMIT_DATA, &limit);
}

void limit_time(unsigned processor_seconds) {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto spent = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
  const rlimit limit{spent + 1 + processor_seconds, RLIM_INFINITY};
  ::setrlimit(RLIMIT_CPU, &limit);
}

/// Dies in silence of its own faults, and of nothing that is meant for the whole group of processes: when the other end is
/// gone, the socket says so.
void leave_the_host(int socket) {
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU}) ::signal(number, SIG_DFL);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(number, SIG_IGN);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  limit_memory();
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, stream);
  const auto kept = static_cast<unsigned>(socket);
  constexpr unsigned first = STDERR_FILENO + 1;
  if (kept > first) ::close_range(first, kept - 1, 0);
  ::close_range(std::max(kept + 1, first), ~0U, 0);
}

}  // namespace

WorkerProcess::WorkerProcess(std::size_t memory_bytes, unsigned processor_seconds, const Serve& serve) {
  void* memory = ::mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail_internal(std::string("no memory to share with a process: ") + std::strerror(errno));
  memory_ = {static_cast<std::byte*>(memory), memory_bytes};
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0) process_ = ::fork();
  if (process_ == 0) work(ends[1], processor_seconds, serve);
  const int code = errno;
  if (ends[1] >= 0) ::close(ends[1]);
  socket_ = ends[0];
  if (process_ < 0) {
    if (socket_ >= 0) ::close(socket_);
    ::munmap(memory_.data(), memory_.size());
    fail_internal(std::string("cannot start a process: ") + std::strerror(code));
  }
}

WorkerProcess::~WorkerProcess() {
  ::close(socket_);
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::munmap(memory_.data(), memory_.size());
}

void WorkerProcess::work(int socket, unsigned processor_seconds, const Serve& serve) const {
  leave_the_host(socket);
  char request = 0;
  while (::read(socket, &request, 1) == 1) {
    limit_time(processor_seconds);
    serve(memory_);
    if (::send(socket, &request, 1, MSG_NOSIGNAL) != 1) break;
  }
  ::_exit(0);  // runs nothing that the host has planned for its own end
}

bool WorkerProcess::ask() const {
  char byte = 0;
  if (::send(socket_, &byte, 1, MSG_NOSIGNAL) != 1) return false;
  while (true) {
    check_stop();
    const ssize_t got = ::read(socket_, &byte, 1);
    if (got == 1) return true;
    if (got == 0 || errno != EINTR) return false;
  }
}

}  // namespace mercer
