#pragma once
#include <mercer/view.hpp>

namespace mercer {

/// x := the nearest point with x_1 ≤ x_2 ≤ … ≤ x_p, by pooling adjacent violators. O(p). What was taken away, x_before - x,
/// lies in the polar cone {z : z_1 + … + z_k ≥ 0 for all k, with equality for k = p}.
void project_increasing(MutPoint x);

}  // namespace mercer
