#pragma once
#include <optional>

#include "solve/admm.hpp"
#include "solve/dual_bundle.hpp"

namespace mercer {

/// A lower bound of problem (P), by Fenchel duality: for a_i in the domain of ℓ* and z_i in the polar cone of the order,
///     D = -(1/W) Σ w_i ℓ*(a_i) - (1/2λ)‖(1/W) Σ_i Φ_i(w_i a_i + k_i z_i)‖²  ≤  optimum,
/// with Σ_i (w_i a_i + k_i z_i) = 0 where there is an intercept. The duals of the state are moved there first
/// (balancing_shift). What rounding leaves of that sum is charged against D at ten times the size of intercept and targets.
/// One read of the features, 2·n·m·p flops. Nothing when rounding left a conjugate infinite.
std::optional<DualPoint> dual_point(const SplitProblem& problem, const ConvexState& state, const Candidate& near);

/// The objective of a candidate. One read of the features, 2·n·m·p flops.
double objective(const SplitProblem& problem, const Candidate& candidate);

/// Moves the intercepts of a candidate apart by as much as its outputs cross anywhere (Admm::Pass), and a rounding error of
/// `size` more, so that it crosses nowhere. At the optimum the objective is flat along the intercepts but for the
/// multipliers of the order, so that this costs far less than, say, shrinking towards ordered constants. False when there
/// was nothing to move.
bool uncross(const std::vector<double>& crossing, double size, Candidate& candidate);

}  // namespace mercer
