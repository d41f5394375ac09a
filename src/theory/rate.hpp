#pragma once
#include <mercer/view.hpp>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "theory/parts.hpp"

namespace mercer {

// Concentration at one point δ. A rate I with dimension N states, for all t > 0 and all δ,
//     P{‖K~(δ) - K(δ)‖₂ ≥ t} ≤ 2N exp(-D I(t)),
// D independent frequencies for this part. I is increasing.

/// Decomposable: ‖K~ - K‖ = a|k~ - k| with a = ‖A‖, a mean of D variables cos⟨ω,δ⟩ - k(δ) in an interval of length 2, of
/// absolute value at most 2 and variance ½(1 + k(2δ) - 2k(δ)²) ≤ v. With t' = t/a the better of
///     Hoeffding  t'²/2   and   Bennett  (v/4) h(2t'/v),  h(x) = (1+x)ln(1+x) - x.     N = 1.
struct ScalarRate {
  double norm = 1;      ///< a
  double variance = 1;  ///< v
  double operator()(double t) const;
};

/// Theorem B.2 (Koltchinskii 2013, theorem 4) at δ = 1, N = p. With X = cos⟨ω,δ⟩A(ω) - K(δ), ‖E X²‖ ≤ b and m ≥ 2‖‖X‖‖_ψ1:
///     t²/(4b + 2tu/3) while tu ≤ 2(e-1)b, else t/((e-1)u),   u = m ln(1 + 2m²/b).
/// Proof: e^x ≤ 1 + x + x²φ(|x|), φ(y) = (e^y-1-y)/y², so log E e^{θX} ≼ θ²E[X²φ(θ‖X‖)]. Split at ‖X‖ = u; for θ ≤ 1/u ≤ 1/m
/// the tail is at most m²E[ψ(‖X‖/m); ‖X‖ ≥ u] ≤ m²E[ψ(‖X‖/m)²]/ψ(u/m) ≤ m²/ψ(u/m) = b/2 ≤ φ(θu)b, with ψ(y) = e^y - 1 and
/// ψ(y)² ≤ ψ(2y). Hence log E e^{θX} ≼ 2bθ²φ(θu); optimise over θ ≤ 1/u in Tropp's bound p·exp(-Dθt + D‖log E e^{θX}‖).
/// The argument of the logarithm is m²/b, a pure number; the paper's (m/b_D)² is not.
struct OrliczRate {
  double variance = 1;  ///< b
  double norm = 1;      ///< m
  double operator()(double t) const;
};

/// For fields over Gaussian mixtures, N = p: without truncation and without centring. By Lieb's theorem
///     E tr exp(θΣ(Y_j - K)) ≤ tr exp(D(log E e^{θY} - θK)),  Y = ±cos⟨ω,δ⟩A(ω),  log E e^{θY} ≼ θE Y + Σ_{k≥2} θᵏE[Yᵏ]/k!,
/// and Yᵏ ≼ Aᵏ, so I(t) = sup_θ θt - G(θ) with G(θ) = ‖E[e^{θA} - I - θA]‖, whatever δ is.
/// G = ‖∫₀^θ E[A(e^{sA} - I)]ds‖ has a closed-form integrand, convex in s: the trapezoidal rule on the nodes is an upper
/// bound. Since G(θ)/θ² increases, G(θ) ≤ (θ/θ_i)²G_i below each node, so nothing is lost between nodes when t is small.
struct LiebRate {
  std::vector<double> theta;
  std::vector<double> g;
  double operator()(double t) const;
};

struct Rate {
  const char* name = "";
  double dimension = 1;  ///< N
  std::variant<ScalarRate, OrliczRate, LiebRate> form;
  double operator()(double t) const;
};

/// Every rate that is proved for the part; empty, with the reason, when none is.
std::vector<Rate> rates(const RandomPart& part, Index inputs, std::string* why_not);

/// v with Var cos⟨ω,δ⟩ = ½(1 + k(2δ) - 2k(δ)²) ≤ v for all δ:  ½ when k(2δ) ≤ k(δ)² (-log k grows at least linearly along
/// rays: Gaussian, Laplacian, Matérn with ν ≥ ½ and their products);  9/16 when 0 ≤ k(2δ) ≤ k(δ), since κ - 2κ² ≤ 1/8
/// (rational quadratic, Cauchy, any Matérn);  1 otherwise (spectral mixtures).
double variance_cap(const std::vector<Kernel>& factors);

}  // namespace mercer
