#pragma once

namespace mercer {

/// M_μ(z) = z^μ K_μ(z) / (2^{μ-1} Γ(μ)), μ > 0, z ≥ 0: falls from M_μ(0) = 1 to 0. Relative error about 1e-14 while M >
/// 1e-200, absolute below. Half-integer μ cost one exponential; others two Bessel functions (μ < 30) or one exponential (μ ≥
/// 30).
double matern_correlation(double order, double z);

/// g(s) = M_ν(√(2νs)), s = r²/ℓ², with its derivatives in s:
///   g'(s) = -ν z^{ν-1}K_{ν-1}(z) / (2^{ν-1}Γ(ν)),  g''(s) = ν² z^{ν-2}K_{ν-2}(z) / (2^{ν-1}Γ(ν)),  z = √(2νs).
/// At s = 0: g'(0) = -ν/(2(ν-1)) for ν > 1, else -∞; g''(0) = ν²/(4(ν-1)(ν-2)) for ν > 2, else +∞.
double matern_value(double nu, double s);
double matern_first(double nu, double s);
double matern_second(double nu, double s);

}  // namespace mercer
