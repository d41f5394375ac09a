#pragma once
#include <mercer/view.hpp>

#include "base/matrix.hpp"
#include "theory/parts.hpp"

namespace mercer {

// Moments of the spectral law and of A(ω) of one part, all in closed form. Infinite ones are returned as infinity (fields
// over Matérn with 2ν ≤ the order of the moment, anything over Laplacian).

/// E‖ω‖² and E‖ω‖⁶.
double second_moment(const std::vector<Kernel>& factors, Index inputs);
double sixth_moment(const std::vector<Kernel>& factors, Index inputs);

/// E[A] = K(0), p × p.  Gaussian of scale σ: curl-free σ⁻²I, divergence-free (d-1)σ⁻²I.
Matrix<double> mean_operator(const RandomPart& part, Index inputs);
/// E[A²].  Gaussian: curl-free (d+2)σ⁻⁴I, divergence-free (d-1)(d+2)σ⁻⁴I.
Matrix<double> mean_square_operator(const RandomPart& part, Index inputs);
/// V[A] = E[(A - E A)²].  Gaussian: curl-free (d+1)σ⁻⁴I, divergence-free 3(d-1)σ⁻⁴I.
Matrix<double> variance_operator(const RandomPart& part, Index inputs);

/// σ_p² = E[‖ω‖²‖A(ω)‖²].  Gaussian: curl-free and (d > 1) divergence-free d(d+2)(d+4)σ⁻⁶, decomposable ‖A‖²dσ⁻².
double lipschitz_moment(const RandomPart& part, Index inputs);

}  // namespace mercer
