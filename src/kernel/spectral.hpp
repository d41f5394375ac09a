#pragma once
#include <mercer/kernel.hpp>

#include <cstdint>
#include <vector>

#include "base/matrix.hpp"
#include "base/random.hpp"

namespace mercer {

/// How frequencies are drawn.
enum class Sampling {
  automatic,    ///< orthogonal where the law allows it, Monte Carlo elsewhere
  monte_carlo,  ///< independent draws
  orthogonal,   ///< blocks of d orthogonal directions (QR of a Gaussian block) with the radii of independent draws
  quasi,        ///< digitally shifted Sobol points through the inverse distribution functions
};

/// coefficient · Π_i x_i^exponents[i].
struct Monomial {
  double coefficient = 1;
  std::vector<int> exponents;  ///< d
};

/// One additive part of a kernel:  weight · (Σ_r e_r(x) e_r(z)) · E cos⟨ω, x - z⟩, with e_r the monomials (just {1} for a
/// shift-invariant part) and ω the sum of independent draws from the spectral laws of `factors` (none: ω = 0, cos = 1).
struct SpectralTerm {
  double weight = 1;
  std::vector<Monomial> monomials;  ///< never empty
  std::vector<Kernel> factors;      ///< Gaussian, Matern, Laplacian, Cauchy, RationalQuadratic or SpectralMixture leaves

  bool has_frequencies() const { return !factors.empty(); }
};

/// The kernel as a sum of such terms: products are multiplied out, (⟨x,z⟩+c)^degree becomes its monomials. SpectralMixture
/// leaves are normalised to k(0) = 1, their Σw moved into `weight`.
/// Throws Error when there are more than 100 000 monomials.
std::vector<SpectralTerm> spectral_terms(const Kernel& kernel, Index inputs);

/// Refuses, saying why, a sampling that the laws of this term do not allow; turns `automatic` into a definite one.
Sampling resolve_sampling(Sampling sampling, const SpectralTerm& term, Index inputs);

/// count × d frequencies of the term: row j is a pure function of (stream, j) (for quasi: of (stream, j) and never of
/// count). Bit-equal on every machine and for every number of threads.
Matrix<double> sample_frequencies(const SpectralTerm& term, Index inputs, Index count, Sampling sampling,
                                  const Stream& stream);

}  // namespace mercer
