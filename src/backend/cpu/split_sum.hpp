#pragma once
#include <mercer/view.hpp>

#include <cstdint>

#include "base/matrix.hpp"

/// Products of tiles of floats as three products of bfloat16, where these are multiplied many times as fast: with L = H + R,
/// H the nearest bfloat16 and R that of the rest, HHᵀ + HRᵀ + RHᵀ. Every product of two numbers is off by some 2⁻¹⁸ of
/// itself, at most 3·2⁻¹⁶.
namespace mercer {

inline constexpr Index split_tile = 256;

/// `words` (256 × rows) := L (rows ≤ 256, of 256 columns) as products want it. The bits of `words` are no floats: a word has
/// two columns of a row, 16 apart; row t of `words` has those of H, row 128 + t those of R.
void split_words(MatrixView<const float> l, MatrixView<float> words);

/// The negative of a tile and sums of such products. For one thread.
class SplitSum {
 public:
  void start(MatrixView<const float> a);
  /// += LMᵀ, given by their words, and L as it is.
  void add(MatrixView<const float> l, MatrixView<const float> l_words, MatrixView<const float> m_words);
  /// += LMᵀ in floats.
  void add_precisely(MatrixView<const float> l, MatrixView<const float> m);
  void finish(MatrixView<float> a) const;  ///< A := the tile less the products

 private:
  Matrix<float> sum_{split_tile, split_tile};
  // Panels of 16 rows, as the kernels want them, for three products: a row each.
  Matrix<std::uint32_t> left_{split_tile / 16, 3 * split_tile * 8};
  Matrix<std::uint32_t> right_{split_tile / 16, 3 * split_tile * 8};
};

}  // namespace mercer
