#pragma once
#include <mercer/view.hpp>

namespace mercer {

/// x := the nearest point with x_1 ≤ x_2 ≤ … ≤ x_p, by pooling adjacent violators. O(p). What was taken away, x_before - x,
/// lies in the polar cone {z : z_1 + … + z_k ≥ 0 for all k, with equality for k = p}.
void project_increasing(MutPoint x);

/// v := argmin over u_1 ≤ … ≤ u_p of step·Σ_j pinball_{τ_j}(y - u_j) + ½‖u - v‖², for one target y. O(p). With t = u - y the
/// loss is Σ_j max(0, t_j) - τ_j t_j: its linear part only moves v, and what remains is the same function of every
/// coordinate, whose proximal operator keeps equal coordinates equal, so that it may follow the projection:
///     u = y + q - clamp(q, 0, step),   q = the nearest increasing point to v - y + step·τ.
/// (v_before - u)/step = slope + pull, slope_j = clamp(q_j, 0, step)/step - τ_j a subgradient of the loss at u and pull in
/// the polar cone of the order.
void ordered_pinball_prox(Point levels, double step, double y, MutPoint v, MutPoint slope, MutPoint pull);

}  // namespace mercer
