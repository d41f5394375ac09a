#pragma once
#include <mercer/kernel.hpp>

#include <vector>

#include "base/matrix.hpp"
#include "base/random.hpp"
#include "map/sketch.hpp"

namespace mercer {

/// Approximate ridge leverage scores ℓ_i(λ) = (K(K + λnI)⁻¹)_ii of the rows x from a pilot of m rows J (uniform, distinct):
///     (1/λn)(k(x_i, x_i) - k_iJ (K_JJ + λmI)⁻¹ k_Ji),
/// exact when J is everything, cut at 1, which no leverage exceeds: far from the pilot the formula gives many times that.
/// λ is where the effective dimension of the pilot, tr K_JJ(K_JJ + λmI)⁻¹, equals `dimension` (or close to its rank, when
/// that is less). n·m kernel values, n·m² flops.
std::vector<double> leverage_scores(const Kernel& kernel, ConstMatrix x, const std::vector<Index>& pilot, double dimension);

/// λ of leverage_scores for eigenvalues (of K_JJ/m), by bisection.
double penalty_of_dimension(const std::vector<double>& eigenvalues, double dimension);

/// The first i at which the running sum of the weights exceeds u·total; weights that are not positive are passed over.
Index draw_by_weight(const std::vector<double>& weights, double total, double u);

/// Randomly pivoted Cholesky (Chen, Epperly, Tropp, Webber 2023): up to s pivots, each drawn with probability proportional
/// to the diagonal of what is left of K after the earlier ones; fewer when nothing is left. Uniform t of the stream draws
/// pivot t, as the first row at which the running sum of the diagonal exceeds u·total. n·s kernel values, n·s² flops, n·s
/// numbers of memory.
std::vector<Index> pivoted_rows(const Kernel& kernel, ConstMatrix x, Index s, const Stream& stream);

/// The sketch of rows in memory, by any law. Those that need the rows: leverage (s draws with replacement, values
/// 1/√(s q_i)) and rp_cholesky.
Sketch draw_sketch(const SketchRecipe& recipe, const Kernel& kernel, ConstMatrix x);

}  // namespace mercer
