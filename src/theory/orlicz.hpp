#pragma once
#include <mercer/view.hpp>

#include <optional>
#include <string>

#include "theory/parts.hpp"

namespace mercer {

/// ‖ ‖A(ω)‖₂ ‖_ψ1 = inf {C : E exp(‖A(ω)‖/C) ≤ 2} of a part, never too small by rounding.
/// Decomposable: ‖A‖/ln 2.  Fields over a Gaussian of one scale: 2cσ⁻²/(1 - 2^{-2/d}), c = operator_norm_factor; other
/// Gaussian mixtures by bisection. Heavier tails (Matérn, rational quadratic, Cauchy) have none: nothing, with the reason in
/// why_not.
std::optional<double> orlicz_norm(const RandomPart& part, Index inputs, std::string* why_not = nullptr);

}  // namespace mercer
