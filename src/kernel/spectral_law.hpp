#pragma once
#include <mercer/kernel.hpp>

namespace mercer {

// The spectral law of one shift-invariant leaf, written as ω = f(z, u): z has d independent entries from a standard law, and
// u is one uniform that picks a radius or a component where the law is a mixture.

enum class StandardLaw { normal, cauchy, laplace };

StandardLaw standard_law(const Kernel& leaf);
/// True when ω needs u: a radius (Matérn, rational quadratic) or a component (spectral mixture).
bool is_mixture(const Kernel& leaf);

/// Quantile of the standard law of the entries of z.
double quantile(StandardLaw law, double u);

/// omega += f(z, u).
///   Gaussian             z/ℓ
///   Matérn               z/(√γ ℓ), γ ~ Gamma(ν, rate ν): Student with 2ν degrees of freedom, since 2νγ ~ χ²(2ν)
///   rational quadratic   √τ z/ℓ,   τ ~ Gamma(α, rate α)
///   Laplacian, Cauchy    z/ℓ
///   spectral mixture     ±2π(μ_q + σ_q∘z): q and the sign from u. The sign is idle in cos⟨ω,δ⟩ alone, but in a product of
///   two
///                        mixtures E cos⟨ω+ω',δ⟩ = k k' needs laws that are symmetric.
void add_frequency(const Kernel& leaf, Point z, double u, MutPoint omega);

}  // namespace mercer
