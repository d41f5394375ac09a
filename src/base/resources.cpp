#include "base/resources.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace mercer {

namespace {

/// "Name:   123 kB" of a file in /proc, in bytes; -1 when it is not there.
Index proc_bytes(const char* file, const std::string& name) {
  std::ifstream info(file);
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with(name)) return static_cast<Index>(std::stoll(line.substr(name.size()))) * 1024;
  }
  return -1;
}

}  // namespace

Index peak_memory_bytes() {
  // getrusage counts what the parent had resident between fork and exec as ours.
  if (const Index peak = proc_bytes("/proc/self/status", "VmHWM:"); peak > 0) return peak;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<Index>(usage.ru_maxrss) * 1024;
}

Index physical_memory_bytes() {
  return static_cast<Index>(sysconf(_SC_PHYS_PAGES)) * static_cast<Index>(sysconf(_SC_PAGESIZE));
}

Index available_memory_bytes() {
  const Index available = proc_bytes("/proc/meminfo", "MemAvailable:");
  return available > 0 ? available : physical_memory_bytes();
}

}  // namespace mercer
