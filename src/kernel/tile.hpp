#pragma once
#include <mercer/kernel.hpp>

#include <functional>
#include <vector>

#include "base/matrix.hpp"
#include "kernel/mixture_tile.hpp"

namespace mercer {

/// Σ_k (x_ik - z_jk)²/ℓ_k² on tiles. Up to 16 inputs differences are taken directly; beyond, ‖x‖² + ‖z‖² - 2⟨x, z⟩ on inputs
/// centred by the mean of x and divided by ℓ, with entries that cancel (below 1 % of ‖x‖² + ‖z‖²) taken directly again.
class SquaredDistances {
 public:
  SquaredDistances(const LengthScale& scale, ConstMatrix x, ConstMatrix z);
  /// tile(i, j) for rows first_row + i of x and first_col + j of z.
  void fill(Index first_row, Index first_col, MutMatrix tile) const;

 private:
  ConstMatrix x_;
  ConstMatrix z_;
  std::vector<double> inverse_scale_;
  Matrix<double> scaled_x_;
  Matrix<double> scaled_z_;
  std::vector<double> norm_x_;
  std::vector<double> norm_z_;
};

/// A resolved kernel made ready to be evaluated on tiles of x × z. Keeps views: x and z must outlive it. fill() may be
/// called from several threads.
class TileKernel {
 public:
  TileKernel(const Kernel& kernel, ConstMatrix x, ConstMatrix z);
  /// tile(i, j) = k(x_{first_row + i}, z_{first_col + j}), equal to value() to 1e-12.
  void fill(Index first_row, Index first_col, MutMatrix tile) const;

 private:
  Kernel::Form form_;  ///< a leaf, or a childless shell of a sum, product or scaled kernel
  ConstMatrix x_;
  ConstMatrix z_;
  std::vector<TileKernel> children_;
  std::vector<SquaredDistances> distances_;  ///< one for radial leaves
  std::vector<MixtureTile> mixture_;         ///< one for spectral mixtures
};

/// Calls task(first_row, first_col, rows, cols) for each tile of a rows × cols matrix, in parallel; when `symmetric`, only
/// for tiles on and above the diagonal. Checks for a stop request before each.
void for_each_tile(Index rows, Index cols, bool symmetric, Index edge,
                   const std::function<void(Index, Index, Index, Index)>& task);

/// True when z is x itself, so that half of the Gram matrix is enough.
bool same_rows(ConstMatrix x, ConstMatrix z);

/// Refuses kernels that are not resolved for d inputs and outputs of the wrong shape.
void check_gram(const Kernel& kernel, ConstMatrix x, ConstMatrix z);

}  // namespace mercer
