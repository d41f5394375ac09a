#pragma once
#include <mercer/kernel.hpp>

#include <vector>

#include "base/matrix.hpp"
#include "kernel/mixture_tile.hpp"
#include "kernel/tile.hpp"

namespace mercer {

/// A resolved kernel made ready to have its derivatives contracted with weights on tiles of x × z: what reverse-mode
/// differentiation of a function of the Gram matrix needs, without a matrix per parameter. Sums hand their weights on,
/// products multiply them by the values of the other factors, leaves contract. Spectral mixtures, Gaussian and Matérn leaves
/// are vectorised; the others go entry by entry. Keeps views; contract() may be called from several threads.
class TileGradient {
 public:
  TileGradient(const Kernel& kernel, ConstMatrix x, ConstMatrix z);
  /// How many parameters the kernel has.
  Index size() const { return size_; }
  /// parameters += Σ_ij weights(i, j) ∂k(x_{first_row + i}, z_{first_col + j})/∂parameters, and, when `inputs` (rows × d) is
  /// not empty, inputs(i, ·) += Σ_j weights(i, j) ∂k/∂x_{first_row + i}.
  void contract(Index first_row, Index first_col, ConstMatrix weights, MutPoint parameters, MutMatrix inputs) const;

 private:
  void contract_children(Index first_row, Index first_col, ConstMatrix weights, MutPoint parameters, MutMatrix inputs) const;
  void contract_product(Index first_row, Index first_col, ConstMatrix weights, MutPoint parameters, MutMatrix inputs) const;
  void contract_scaled(double factor, Index first_row, Index first_col, ConstMatrix weights, MutPoint parameters,
                       MutMatrix inputs) const;

  Kernel::Form form_;  ///< a leaf, or a childless shell of a sum, product or scaled kernel
  ConstMatrix x_;
  ConstMatrix z_;
  Index size_ = 0;
  std::vector<TileGradient> children_;
  std::vector<TileKernel> values_;           ///< of the children, for products and scaled kernels
  std::vector<SquaredDistances> distances_;  ///< one for vectorised radial leaves
  std::vector<MixtureTile> mixture_;         ///< one for spectral mixtures
};

}  // namespace mercer
