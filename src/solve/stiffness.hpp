#pragma once
#include <vector>

#include "solve/admm.hpp"

namespace mercer {

/// r_i for each row, so that row i moves by steps ρ r_i. At the optimum of a loss with kinks most rows lie on a straight
/// piece of the loss, where their dual is known and a stiff copy only hinders; rows on a kink (g_i is not the slope at u_i)
/// or held by the order (z_i ≠ 0) decide the answer, and their duals must travel far. So r_i = ‖g_i + z_i‖ over its root
/// mean square, within [0.1, 100], and ten times that, at least 10, for deciding rows. Five quantiles from 0.01 to 0.99: a
/// third of the passes.
std::vector<double> row_stiffness(const SplitProblem& problem, const ConvexState& state);

}  // namespace mercer
