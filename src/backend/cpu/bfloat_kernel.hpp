#pragma once
#include <cstddef>
#include <cstdint>

/// The innermost products of backend/bfloat.hpp, one file per instruction set.
namespace mercer {

struct BfloatKernel {
  /// Rounds and pairs two rows: out[16·q·panel_stride + k] holds columns 16q + k of both, for `panels` whole panels.
  void (*pack_single)(std::ptrdiff_t panels, const float* even, const float* odd, std::uint32_t* out,
                      std::ptrdiff_t panel_stride);
  void (*pack_double)(std::ptrdiff_t panels, const double* even, const double* odd, std::uint32_t* out,
                      std::ptrdiff_t panel_stride);
  /// Around a run of products by one thread; nullptr: nothing to do.
  void (*begin)();
  void (*end)();
  /// Reorders a panel that will meet many others (`pairs` lines of 16 pairs, a multiple of 16); nullptr: taken as packed.
  void (*prepare)(std::ptrdiff_t pairs, const std::uint32_t* panel, std::uint32_t* prepared);
  /// C (16 × 16·count floats, row stride `stride`) += Aᵀ B for one prepared panel A and `count` ≤ 3 packed panels B, which
  /// are `panel_stride` lines apart.
  void (*multiply)(std::ptrdiff_t pairs, const std::uint32_t* a, const std::uint32_t* b, std::ptrdiff_t panel_stride,
                   int count, float* c, std::ptrdiff_t stride);
};

BfloatKernel bfloat_portable();
BfloatKernel bfloat_avx512();
BfloatKernel bfloat_amx();

}  // namespace mercer
