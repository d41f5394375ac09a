#pragma once
#include <mercer/view.hpp>

#include <cstdint>

#include "backend/cpu/packed_kernel.hpp"
#include "base/matrix.hpp"

/// Products of tiles of floats as three products of bfloat16, where these are multiplied many times as fast: with L = H + R,
/// H the nearest bfloat16 and R that of the rest, HHᵀ + HRᵀ + RHᵀ. Every product of two numbers is off by some 2⁻¹⁸ of
/// itself, at most 3·2⁻¹⁶.
namespace mercer {

inline constexpr Index split_tile = 256;

/// The negative of a tile and sums of such products. For one thread.
class SplitSum {
 public:
  void start(MatrixView<const float> a);
  /// += LMᵀ, tiles of 256 columns.
  void add(MatrixView<const float> l, MatrixView<const float> m);
  /// += LMᵀ in floats.
  void add_precisely(MatrixView<const float> l, MatrixView<const float> m);
  void finish(MatrixView<float> a) const;        ///< A := the tile less the products
  void finish_lower(MatrixView<float> a) const;  ///< the same for its lower triangle alone

 private:
  void add_split(const SplitKernel& kernel, MatrixView<const float> l, MatrixView<const float> m);
  void add_packed(const PackedKernel<float>& kernel, MatrixView<const float> l, MatrixView<const float> m);

  Matrix<float> sum_{split_tile, split_tile};
  // Panels of 16 rows, as the kernels want them, for up to three products: a row each.
  Matrix<std::uint32_t> left_{split_tile / 16, 3 * split_tile * 8};
  Matrix<std::uint32_t> right_{split_tile / 16, 3 * split_tile * 8};
};

}  // namespace mercer
