#pragma once
#include <mercer/kernel.hpp>

#include <vector>

#include "base/matrix.hpp"

namespace mercer {

/// Derivatives of k(δ) = E cos⟨ω, δ⟩ as far as the variance of a vector field needs them:
///     hessian = ∇∇ᵀk = -E[cos⟨ω,δ⟩ ωωᵀ],   fourth_ij = Σ_r ∂_r∂_r∂_i∂_j k = E[cos⟨ω,δ⟩ ‖ω‖² ωωᵀ].
struct ShiftDerivatives {
  double value = 1;
  std::vector<double> gradient;
  Matrix<double> hessian;
  Matrix<double> third;   ///< d × d²: ∂_i∂_j∂_r k at (i, j·d + r); empty for a kernel with a single factor
  Matrix<double> fourth;  ///< the contraction above, d × d
};

/// Closed forms for every leaf, products by Leibniz' rule (the set above is closed under products). k(0) = 1. Needs
/// tail_index(factors) > 4. O(d²) for one leaf, O(d³) time and memory for a product, refused beyond 200 inputs.
ShiftDerivatives shift_derivatives(const std::vector<Kernel>& factors, Point delta);

}  // namespace mercer
