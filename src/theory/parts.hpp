#pragma once
#include <mercer/kernel.hpp>

#include <vector>

#include "base/matrix.hpp"

namespace mercer {

/// One additive part of a kernel that is approximated with frequencies of its own:
///     K_part(δ) = E[cos⟨ω, δ⟩ A(ω)],  ω the sum of independent draws from the laws of `factors`.
/// Fields: A(ω) = scale · (curl ωωᵀ + divergence (‖ω‖²I - ωωᵀ)).  Decomposable: A(ω) = scale · outputs, constant.
struct RandomPart {
  double scale = 1;
  double share = 1;             ///< of the D frequencies of the map: proportional to the weights
  std::vector<Kernel> factors;  ///< leaves with a spectral law, never empty
  bool shift_invariant = true;  ///< false when monomials multiply the cosine: no bound covers that
  bool field = false;
  double curl = 0;
  double divergence = 0;   ///< 0 when d = 1, which has no divergence-free direction
  Matrix<double> outputs;  ///< p × p, decomposable only
};

/// The parts with frequencies of a resolved kernel, in the order of the Fourier map; explicit ones (linear, polynomial) have
/// no error and are left out. Throws Error for a kernel that is not resolved or does not fit d inputs and p outputs.
std::vector<RandomPart> random_parts(const OperatorKernel& kernel, Index inputs, Index outputs);

/// p where the kernel alone tells (a given matrix, a field), else 1, which serves since A = I has the same norms for any p.
Index implied_outputs(const OperatorKernel& kernel, Index inputs);

/// c in ‖A(ω)‖₂ = c for decomposable parts, c‖ω‖² for fields.
double operator_norm_factor(const RandomPart& part);

/// Moments E‖ω‖^q are finite for q below this: 2ν for Matérn, 1 for Laplacian, infinity for the others.
double tail_index(const std::vector<Kernel>& factors);

/// k(δ) = Π_f k_f(δ), normalised to k(0) = 1.
double scalar_value(const std::vector<Kernel>& factors, Point delta);

}  // namespace mercer
