#pragma once
#include <mercer/kernel.hpp>

#include "base/matrix.hpp"

namespace mercer {

/// A spectral mixture on tiles of x × z. With φ_q(x) = 2π⟨μ_q, x⟩, whose cosine and sine are kept per row,
/// cos(φ_q(x) - φ_q(z)) = cos φ_q(x) cos φ_q(z) + sin φ_q(x) sin φ_q(z): an entry costs one exponential a component and no
/// cosine. Phases are reduced from exact products μ_qk x_k, so that far-off inputs (dates) lose no digits. Keeps views.
class MixtureTile {
 public:
  MixtureTile(const SpectralMixture& kernel, ConstMatrix x, ConstMatrix z);
  /// tile(i, j) = k(x_{first_row + i}, z_{first_col + j}).
  void fill(Index first_row, Index first_col, MutMatrix tile) const;
  /// parameters += Σ_ij weights(i, j) ∂k/∂parameters, in the order of evaluate.hpp; when `inputs` (rows × d) is not empty,
  /// inputs(i, ·) += Σ_j weights(i, j) ∂k/∂x_i. All from the same exponentials.
  void contract(Index first_row, Index first_col, ConstMatrix weights, MutPoint parameters, MutMatrix inputs) const;

 private:
  struct Waves {
    Matrix<double> cosine;  ///< components × rows
    Matrix<double> sine;
  };
  static Waves waves(const SpectralMixture& kernel, ConstMatrix rows);

  SpectralMixture kernel_;
  ConstMatrix x_;
  ConstMatrix z_;
  Waves at_x_;
  Waves at_z_;
};

}  // namespace mercer
