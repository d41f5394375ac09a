#pragma once

namespace mercer {

/// What this CPU (and the operating system) can execute.
struct CpuFeatures {
  bool avx2_fma = false;
  bool avx512 = false;  ///< F, DQ, BW, VL, CD
};
CpuFeatures cpu_features();

}  // namespace mercer
