#pragma once
#include <cstddef>
#include <cstdint>

/// The innermost products of backend/bfloat.hpp, one file per instruction set.
namespace mercer {

/// Neighbouring panels, `stride` lines apart.
struct BfloatPanels {
  const std::uint32_t* data;
  std::ptrdiff_t stride;
  int count;
};

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
  /// C (16·left.count × 16·right.count floats, row stride `stride`) += Aᵀ B for prepared panels A and packed panels B, no
  /// more of them than `most_left` and `most_right`.
  void (*multiply)(std::ptrdiff_t pairs, const BfloatPanels& left, const BfloatPanels& right, float* c,
                   std::ptrdiff_t stride);
  std::ptrdiff_t most_left;
  std::ptrdiff_t most_right;
  std::ptrdiff_t depth;        ///< lines to multiply at once, of
  std::ptrdiff_t tile_panels;  ///< a square of so many panels of G: what stays in the caches (measured)
};

BfloatKernel bfloat_portable();
BfloatKernel bfloat_avx512();
BfloatKernel bfloat_amx();

}  // namespace mercer
