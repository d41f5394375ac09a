#pragma once
#include <mercer/kernel.hpp>

#include <string>
#include <vector>

#include "base/matrix.hpp"

namespace mercer {

/// Reads the edges of a graph on the outputs (CSV: from, to[, weight]; a header line, blank lines and lines starting with #
/// may stand; outputs by name or 0-based number; weight 1 when not given) and returns its Laplacian L = diag(Σ w) - W, p ×
/// p. An edge may be listed in both directions with one weight. Throws Error(file) with file and line.
Matrix<double> read_graph_laplacian(const std::string& file, const std::vector<std::string>& output_names, Index outputs);

/// (mix·L + (1 - mix)·I)⁻¹, or the pseudo-inverse of L when mix = 1. O(p³).
Matrix<double> graph_output_matrix(const Matrix<double>& laplacian, double mix);

}  // namespace mercer
