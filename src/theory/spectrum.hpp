#pragma once
#include <mercer/kernel.hpp>

#include <cstdint>
#include <vector>

#include "base/matrix.hpp"
#include "map/sketch.hpp"

namespace mercer {

/// What a Nyström factor K̂ = FFᵀ of randomly pivoted rows tells of K. Because K̂ ≼ K and the diagonal of K is known,
///     values[j] ≤ μ_j ≤ values[j] + missed   and   Σ_j (μ_j - values[j]) = missed,
/// μ_j the eigenvalues of K/n: the error is measured, not estimated.
struct GramSpectrum {
  std::vector<double> values;  ///< eigenvalues of K̂/n, descending, positive
  Matrix<double> vectors;      ///< one orthonormal eigenvector of K̂ a row
  double trace = 0;            ///< tr K/n
  double missed = 0;           ///< tr(K - K̂)/n
  double largest_kernel = 0;   ///< max k(x_i, x_i)
  Index rows = 0;              ///< n

  Index rank() const { return static_cast<Index>(values.size()); }
};

/// With `rank` pivots. n·rank kernel values twice, about 2n·rank² + 10 rank³ flops, 3n·rank numbers; no n × n matrix.
GramSpectrum gram_spectrum(const Kernel& kernel, ConstMatrix x, Index rank, std::uint64_t seed);

/// δ_n² and d_n for n = `population` rows with the spectrum of these, all of them or a sample; and how far they can be from
/// the truth whatever the part of the spectrum that was missed.
struct CriticalRadius {
  double squared = 0;           ///< δ_n² with the missed part as many small eigenvalues: the most it can be
  double least_squared = 0;     ///< the least it can be
  Index dimension = 0;          ///< d_n with `squared`: the least it can be
  Index largest_dimension = 0;  ///< the most it can be
};
CriticalRadius critical_radius(const GramSpectrum& spectrum, Index population);

/// Doubles the rank from 128 until what is missed is below a twentieth of δ_n², so that d_n is known but for eigenvalues
/// that close to δ_n²; at most `most_rank`.
GramSpectrum spectrum_to_radius(const Kernel& kernel, ConstMatrix x, Index population, std::uint64_t seed,
                                Index most_rank = 1024);

/// Definition 3 for a drawn sketch of the spectrum's rows.
struct Satisfiability {
  double isometry = 0;  ///< ‖(SU_1)ᵀSU_1 - I‖, to be at most ½
  double tail = 0;      ///< ‖S U_2 D_2^½‖
  double constant = 0;  ///< c = tail/δ_n
  bool holds() const { return isometry <= 0.5; }
};

/// `sketched` is S K Sᵀ (sketched_gram). The tail is ‖S(K/n - U_1D_1U_1ᵀ)Sᵀ‖^½, so U_2 is never formed.
/// 2s'·d_n·s + s²·d_n + 10 s³ flops.
Satisfiability k_satisfiability(const GramSpectrum& spectrum, Index dimension, double radius_squared, const Sketch& sketch,
                                ConstMatrix sketched);

}  // namespace mercer
