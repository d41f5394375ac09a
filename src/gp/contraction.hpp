#pragma once
#include <mercer/kernel.hpp>

#include <vector>

#include "base/matrix.hpp"

namespace mercer {

// Sums of a resolved kernel's derivatives against weights, tile by tile in parallel, never a matrix per parameter; bit-equal
// for any number of threads.

/// Σ_ij weights(i, j) ∂k(x_i, z_j)/∂parameters. When z is x itself (the same view), the weights are taken to be symmetric
/// and only their lower triangle is read, at half the cost. For spectral mixtures n·m exponentials a component.
std::vector<double> contract_parameter_gradient(const Kernel& kernel, ConstMatrix x, ConstMatrix z, ConstMatrix weights);

/// The same over all pairs, whatever x and z, with the derivatives in the rows of x.
struct Contraction {
  std::vector<double> parameters;
  Matrix<double> inputs;  ///< inputs(i, ·) = Σ_j weights(i, j) ∂k(x_i, z_j)/∂x_i
};
Contraction contract_gradient(const Kernel& kernel, ConstMatrix x, ConstMatrix z, ConstMatrix weights);

/// Σ_i ∂k(x_i, x_i)/∂parameters; for shift-invariant kernels O(1).
std::vector<double> diagonal_parameter_gradient(const Kernel& kernel, ConstMatrix x);
/// Σ_i k(x_i, x_i).
double diagonal_sum(const Kernel& kernel, ConstMatrix x);

}  // namespace mercer
