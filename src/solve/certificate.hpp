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

/// The least step of a candidate towards ordered constants after which it never crosses, given by how much its outputs
/// cross now (Admm::Pass). A convex combination of two ordered functions is ordered, and the constants strictly are.
/// `spread` is the size of the targets. Returns the part of the way it went.
double uncross(const SplitProblem& problem, const std::vector<double>& crossing, double spread, Candidate& candidate);

}  // namespace mercer
