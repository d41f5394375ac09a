#pragma once
#include <mercer/kernel.hpp>

#include <optional>
#include <string>

// How far the random Fourier approximation K~ of a resolved kernel K is from it (ORFF paper, section 3, corrected:
// docs/theory.md). D independent frequencies (Sampling::monte_carlo) give 2D cos/sin columns. In a sum of terms each random
// part has its own share of the D, proportional to its weight as in FourierMap; linear and polynomial parts are exact and
// take none. Every error ε is absolute, in the units of K: divide by ‖K(0)‖₂ for a relative one. Norms of matrices are
// spectral.

namespace mercer {

/// b(δ) = D·‖E[(K~(δ) - K(δ))²]‖, exactly. For a single part it is ‖½(E[cos⟨ω,2δ⟩A²] + E[A²]) - K(δ)²‖: closed form for
/// every kernel. Infinite for fields over Matérn with ν ≤ 2. Throws Error when a random part is not shift-invariant.
double pointwise_variance(const OperatorKernel& kernel, Point delta);

/// An upper bound of b(δ) in the manner of propositions 3.1 and C.1, from E[A] and V[A] alone:
///     ‖½(K(2δ)E[A] + E[A]K(2δ)) + ½(1 - k(2δ))E[A]² - K(δ)²‖ + ‖V[A]‖,   summed over the parts.
/// From A² = (A-Ā)² + AĀ + ĀA - Ā² and 0 ≤ 1 + cos ≤ 2; equal to b(δ) for decomposable kernels.
double proposition_bound(const OperatorKernel& kernel, Point delta);

/// A bound on P{sup_{x,z ∈ C} ‖K~(x,z) - K(x,z)‖ ≥ epsilon} over any C of this diameter, at most 1; 0 when the kernel has no
/// random part. Nothing when no theorem applies (a law without the moments it takes): then why_not says so in one line.
std::optional<double> failure_probability_for(const OperatorKernel& kernel, Index inputs, Index outputs, double diameter,
                                              double epsilon, Index frequencies, std::string* why_not = nullptr);

/// The smallest error that the bound guarantees with D frequencies, except with probability failure_probability.
std::optional<double> error_for(const OperatorKernel& kernel, Index inputs, Index outputs, double diameter,
                                double failure_probability, Index frequencies, std::string* why_not = nullptr);

/// The smallest D for which the bound guarantees error < epsilon except with probability failure_probability; 0 when the
/// kernel has no random part. Nothing when no theorem applies or D would exceed 10¹⁵.
std::optional<Index> features_for(const OperatorKernel& kernel, Index inputs, Index outputs, double diameter, double epsilon,
                                  double failure_probability, std::string* why_not = nullptr);

}  // namespace mercer
