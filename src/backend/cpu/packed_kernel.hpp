#pragma once
#include <cstddef>
#include <cstdint>

/// The innermost products of backend/packed_rows.hpp, one file per instruction set.
namespace mercer {

/// Neighbouring panels, `stride` lines apart.
struct Panels {
  const std::uint32_t* data;
  std::ptrdiff_t stride;
  int count;
};

/// Products of floats as three products of bfloat16, L = H + R. A step is 32 columns of L: a tile of 16 lines of H, in pairs
/// of columns 16 apart, and one of R.
struct SplitKernel {
  /// A panel of 16 rows of L or fewer (`stride` from one to the next): -L as on the left, or L as on the right. Columns for
  /// which `keep` has no bits count as 0. What is there of rows that L has not is not to be used.
  void (*left)(std::ptrdiff_t rows, std::ptrdiff_t steps, const float* l, std::ptrdiff_t stride, const std::uint32_t* keep,
               std::uint32_t* panel);
  void (*right)(std::ptrdiff_t rows, std::ptrdiff_t steps, const float* l, std::ptrdiff_t stride, const std::uint32_t* keep,
                std::uint32_t* panel);
  /// C (16·left.count × 16·right.count sums, row stride `stride`) -= HHᵀ + RHᵀ + HRᵀ for one or two panels on each side.
  void (*multiply)(std::ptrdiff_t steps, const Panels& left, const Panels& right, float* c, std::ptrdiff_t stride);
};

template <class Sum>
struct PackedKernel {
  static constexpr std::ptrdiff_t most_panels = 3;

  /// Rounds a group of rows into words: out[16·q·panel_stride + k] holds columns 16q + k of all of them, for `panels` whole
  /// panels. `scales`: one for each column, for bytes.
  void (*pack_single)(std::ptrdiff_t panels, const float* const* rows, const float* scales, std::uint32_t* out,
                      std::ptrdiff_t panel_stride);
  void (*pack_double)(std::ptrdiff_t panels, const double* const* rows, const float* scales, std::uint32_t* out,
                      std::ptrdiff_t panel_stride);
  /// Around a run of products by one thread; nullptr: nothing to do.
  void (*begin)();
  void (*end)();
  /// Reorders a panel that will meet many others (`lines` lines of 16 words, a multiple of 16); nullptr: taken as packed.
  void (*prepare)(std::ptrdiff_t lines, const std::uint32_t* panel, std::uint32_t* prepared);
  /// start[0, 16·right.count) := what the sums with these panels are to start from, for any panel on the left; nullptr: 0.
  void (*offsets)(std::ptrdiff_t lines, const Panels& right, Sum* start);
  /// C (16·left.count × 16·right.count sums, row stride `stride`) += Aᵀ B for prepared panels A and packed panels B, no
  /// more of them than `most_left` and `most_right`.
  void (*multiply)(std::ptrdiff_t lines, const Panels& left, const Panels& right, const Sum* start, Sum* c,
                   std::ptrdiff_t stride);
  /// For split_product.hpp, of bfloat16 alone; nullptr: panels are taken as packed, and multiplied as others.
  const SplitKernel* split = nullptr;
  std::ptrdiff_t most_left;
  std::ptrdiff_t most_right;   ///< at most `most_panels`, as most_left
  std::ptrdiff_t depth;        ///< lines to multiply at once, of
  std::ptrdiff_t tile_panels;  ///< a square of so many panels of G: what stays in the caches (measured)
};

/// That of the active path.
template <class Sum>
PackedKernel<Sum> active_kernel();

PackedKernel<float> bfloat_portable();
PackedKernel<float> bfloat_avx512();
PackedKernel<float> bfloat_amx();
PackedKernel<std::int32_t> byte_portable();
PackedKernel<std::int32_t> byte_avx512();
PackedKernel<std::int32_t> byte_amx();

}  // namespace mercer
