#include "base/resources.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace mercer {

Index peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<Index>(usage.ru_maxrss) * 1024;
}

Index physical_memory_bytes() {
  return static_cast<Index>(sysconf(_SC_PHYS_PAGES)) * static_cast<Index>(sysconf(_SC_PAGESIZE));
}

Index available_memory_bytes() {
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("MemAvailable:", 0) == 0) return static_cast<Index>(std::stoll(line.substr(13))) * 1024;
  }
  return physical_memory_bytes();
}

}  // namespace mercer
