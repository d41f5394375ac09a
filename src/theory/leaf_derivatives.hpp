#pragma once
#include "theory/derivatives.hpp"

namespace mercer {

/// shift_derivatives of one Gaussian, Matérn (ν > 2), Cauchy, rational quadratic or spectral mixture; `third` only on
/// demand.
ShiftDerivatives leaf_derivatives(const Kernel& leaf, Point delta, bool with_third);

}  // namespace mercer
