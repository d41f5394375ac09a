#include <fstream>
#include <string>

#include "backend/backend.hpp"
#include "backend/cpu/blas.hpp"

namespace mercer {

BackendInfo backend_info() {
  BackendInfo info;
  std::ifstream cpu("/proc/cpuinfo");
  for (std::string line; std::getline(cpu, line);) {
    if (line.rfind("model name", 0) == 0) {
      info.cpu = line.substr(line.find(':') + 2);
      break;
    }
  }
  info.blas_library = blas().library;
  info.blas_config = blas().config;
  info.blas_kernels = blas().kernels;
  info.blas_note = blas().note;
  info.warning = blas().warning;
  info.simd = to_string(active_simd());
  return info;
}

}  // namespace mercer
