#include "solve/output_pieces.hpp"

#include <algorithm>
#include <cmath>

#include "backend/backend.hpp"
#include "kernel/resolve.hpp"

namespace mercer {

std::vector<OutputPiece> output_pieces(const OperatorKernel& kernel, Index outputs) {
  const OperatorTerm& term = kernel.terms.front();
  const Eigen e = eigh(output_matrix(std::get<Decomposable>(term.form).outputs, outputs));
  const double largest = term.weight * e.values.back();
  std::vector<OutputPiece> pieces;
  for (Index k = 0; k < outputs; ++k) {
    double gain = term.weight * e.values[static_cast<std::size_t>(k)];
    if (gain <= static_cast<double>(outputs) * 1e-15 * largest) gain = 0;
    if (pieces.empty() || std::abs(pieces.back().gain - gain) > 1e-12 * largest) pieces.push_back({gain, {}});
    pieces.back().directions.emplace_back(e.vectors.row(k).begin(), e.vectors.row(k).end());
  }
  return pieces;
}

std::vector<double> roots(const std::vector<double>& weights) {
  std::vector<double> r(weights.size());
  std::ranges::transform(weights, r.begin(), [](double w) { return std::sqrt(w); });
  return r;
}

}  // namespace mercer
