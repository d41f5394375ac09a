#pragma once
#include <mercer/view.hpp>

namespace mercer {

/// Makes every column of a sum to zero, Σ_i w_i a_ij = 0, by shrinking the entries of the sign that weighs more: with P the
/// weight of the positive ones and N of the negative ones, P > N, the positive ones are multiplied by N/P. O(np).
///
/// It keeps dual points feasible where bringing single entries nearer to 0 does: boxes around 0 (separable losses) and balls
/// (radial ones). The obvious shift a_ij - t_j does not: after project_dual it leaves the box again, and before project_dual
/// (where it is the nearest such point) t_j is the root of a piecewise linear Σ_i w_i clip(a_ij - t_j), which costs many
/// passes and, for balls, is an equation in R^p. At the optimum P = N, so that both move nothing there.
void balance_signs(Point weights, MutMatrix a);

}  // namespace mercer
