#pragma once
#include <mercer/kernel.hpp>

#include <vector>

namespace mercer {

/// Directions v_j of the outputs that share an eigenvalue γ of A: a decomposable kernel is a scalar kernel γk along each of
/// them. Directions with γ = 0 carry only a mean.
struct OutputPiece {
  double gain = 1;                              ///< γ
  std::vector<std::vector<double>> directions;  ///< orthonormal, each of length p
};
/// The pieces of a kernel of one decomposable term, ascending in γ.
std::vector<OutputPiece> output_pieces(const OperatorKernel& kernel, Index outputs);

/// √w of each row.
std::vector<double> roots(const std::vector<double>& weights);

}  // namespace mercer
