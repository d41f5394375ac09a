#pragma once
#include <span>

#include "base/matrix.hpp"

namespace mercer {

/// K unit vectors in R^{K-1} with ⟨c_i, c_j⟩ = -1/(K-1): the vertices of a regular simplex (Mroueh et al. 2012), K × (K-1).
Matrix<double> simplex_codes(Index classes);

/// scores[k] = ⟨f, c_k⟩; the class is the largest.
void simplex_scores(const Matrix<double>& codes, std::span<const double> f, std::span<double> scores);

}  // namespace mercer
