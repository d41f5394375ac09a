#pragma once
#include <array>

namespace mercer {

/// f, f', f'', f''', f'''' of the Matérn profile k = f(s) at s = r²/2, for ν > 2. With z = √(4νs) and M_μ(z) = z^μ K_μ(z),
///     f⁽ⁿ⁾(s) = (-2ν)ⁿ 2^{1-ν}/Γ(ν) · M_{ν-n}(z),   since (1/z) dM_μ/dz = -M_{μ-1} and ds = z dz/2ν.
/// Relative error that of matern_correlation. At s = 0 the orders n ≥ ν, which are infinite there, are given as 0: they only
/// occur multiplied by powers of δ that win.
std::array<double, 5> matern_profile(double nu, double s);

}  // namespace mercer
