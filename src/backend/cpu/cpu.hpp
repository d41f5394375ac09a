#pragma once

namespace mercer {

/// What this CPU (and the operating system) can execute.
struct CpuFeatures {
  bool avx2_fma = false;
  bool avx512 = false;       ///< F, DQ, BW, VL, CD
  bool avx512_bf16 = false;  ///< and dot products of bfloat16 pairs
  bool fast_bf16 = false;    ///< at the rate of multiply-adds of single floats: twice their speed
  /// A load for every multiply-add of 512 bits does not slow it down: Zen 4 takes two cycles for one, Intel does two in one.
  bool ample_loads = false;
  bool avx512_vnni = false;  ///< and dot products of four bytes
  bool amx_bf16 = false;     ///< tiles of bfloat16, and the kernel's leave to use them
  bool amx_int8 = false;     ///< tiles of bytes, likewise
};
CpuFeatures cpu_features();

}  // namespace mercer
