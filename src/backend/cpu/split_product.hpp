#pragma once
#include <mercer/view.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/cpu/packed_kernel.hpp"
#include "base/matrix.hpp"

/// Products of tiles of floats as three products of bfloat16, where these are multiplied many times as fast: with L = H + R,
/// H the nearest bfloat16 and R that of the rest, HHᵀ + HRᵀ + RHᵀ. Every product of two numbers is off by some 2⁻¹⁸ of
/// itself, at most 3·2⁻¹⁶.
namespace mercer {

inline constexpr Index split_tile = 256;
/// All bits for every column of a tile that counts.
using SplitColumns = std::array<std::uint32_t, static_cast<std::size_t>(split_tile)>;

/// For one thread.
class SplitProduct {
 public:
  /// C -= LMᵀ for tiles of 256 columns, of which some count; C has whole panels: it is written up to multiples of 16 rows
  /// and columns.
  void subtract(MatrixView<const float> l, MatrixView<const float> m, const SplitColumns& columns, MatrixView<float> c);

 private:
  void subtract_split(const SplitKernel& kernel, MatrixView<const float> l, MatrixView<const float> m,
                      const SplitColumns& columns, MatrixView<float> c);
  void subtract_packed(const PackedKernel<float>& kernel, MatrixView<const float> l, MatrixView<const float> m,
                       const SplitColumns& columns, MatrixView<float> c);

  // Panels of 16 rows, as the kernels want them, for up to three products: a row each.
  Matrix<std::uint32_t> left_{split_tile / 16, 3 * split_tile * 8};
  Matrix<std::uint32_t> right_{split_tile / 16, 3 * split_tile * 8};
};

}  // namespace mercer
