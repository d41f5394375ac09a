#pragma once
#include <vector>

#include "base/random.hpp"
#include "gp/spectral_objective.hpp"

namespace mercer {

/// The posterior of a sparse-spectrum process under one draw of its points:
///   f(x) = m(x) + Φ(x)W,   Cov of the weights of rotated output a: v R_a⁻¹, R_a = b_aΦᵀΦ + vI, on features √b_a Φ.
struct SpectralDraw {
  SparseProcess process;
  Matrix<double> weights;               ///< 2M × p, outputs as they are
  std::vector<Matrix<double>> factors;  ///< Cholesky of R_a for each rotated output
};

/// The average over draws. Everything is in the units the process was trained in.
class SpectralPosterior {
 public:
  SpectralPosterior() = default;
  explicit SpectralPosterior(std::vector<SpectralDraw> draws) : draws_(std::move(draws)) {}

  /// One pass over the rows for all draws.
  static SpectralPosterior condition(ConstMatrix x, ConstMatrix y, const SpectralParameters& parameters,
                                     const std::vector<SpectralPoints>& points, Index memory_bytes);

  /// The same processes, points included, conditioned on other rows.
  SpectralPosterior conditioned_on(ConstMatrix x, ConstMatrix y, Index memory_bytes) const;

  Index outputs() const { return draws_.front().process.share.outputs(); }
  Index inputs() const { return draws_.front().process.frequencies.cols(); }
  double noise() const { return draws_.front().process.noise; }
  const std::vector<SpectralDraw>& draws() const { return draws_; }

  void mean(ConstMatrix x, MutMatrix out) const;
  /// Var f by the law of total variance: the mean over draws of the variance, plus the variance of the mean among
  /// draws, which is itself estimated from the K at hand: another draw is off their average by Student's law of K - 1
  /// degrees, whose variance is Σ(m_k - m̄)²/(K - 3)·(1 + 1/K). Below 4 draws it has none, and K - 3 counts as 1.
  /// O(rows (2M)² p K).
  void variance(ConstMatrix x, MutMatrix out) const;
  /// `count` functions drawn from the posterior, each at all rows: out(i, s·p + a) is output a of function s. Function s
  /// comes from draw s mod K.
  void sample(ConstMatrix x, Index count, const Stream& stream, MutMatrix out) const;
  /// Cov(f_a(x_i), f_a(x_j)) of output `output`, n × n.
  void covariance(ConstMatrix x, Index output, MutMatrix out) const;

 private:
  std::vector<SpectralDraw> draws_;
};

}  // namespace mercer
