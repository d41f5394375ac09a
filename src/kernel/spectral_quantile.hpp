#pragma once

namespace mercer {

// Inverse distribution functions from +, -, *, /, sqrt alone (and frexp, ldexp, floor, which are exact), since a model
// stores the recipe of its frequencies and a hash: no libm may change their last bit. u lies in (0, 1).

/// Standard Cauchy: tan(π(u - ½)).
double cauchy_quantile(double u);

/// Laplace of scale 1: log 2u below ½, -log 2(1 - u) above.
double laplace_quantile(double u);

/// Gamma of mean 1, Gamma(shape, rate = shape); kept within [1e-100, 1e100]. Relative error below 1e-11 for shapes
/// from 1e-3 up. O(min(√shape, 100)), about 1 µs.
double gamma_quantile(double shape, double u);

}  // namespace mercer
