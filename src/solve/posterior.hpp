#pragma once
#include <string>
#include <vector>

#include "base/matrix.hpp"
#include "map/coupling.hpp"

namespace mercer {

/// What to keep for predictive standard deviations.
enum class Uncertainty {
  automatic,  ///< full up to 4096 unknowns (2048 where that takes an eigenbasis), samples beyond
  full,       ///< a factor of the posterior precision: exact
  samples,    ///< 64 draws of the posterior: relative error of a standard deviation about 9 %
  none,
};
constexpr Index full_posterior_limit = 4096;
constexpr Index full_eigen_limit = 2048;  ///< 2000 unknowns: a second; 4000: ten, where their factor takes one
constexpr Index posterior_samples = 64;
/// Which of full, samples, none it is for a model of this many parameters.
Uncertainty resolve(Uncertainty wish, Index parameters, Index limit = full_posterior_limit);

/// The spread of f(x) under the Gaussian-process reading of ridge: θ ~ N(θ^, σ² M⁻¹), M = ΦΦᵀ + nλI (centred rows).
/// variance(x)_a is relative to the noise variance σ²_a: multiply by it.
struct Posterior {
  enum class Kind { none, cholesky, eigen, samples };
  Kind kind = Kind::none;
  /// cholesky, one gain: L of γG + nλI (m × m); coupled: L of M (parameters²).
  /// eigen: eigenvectors of G as rows.  samples: (count·p) × columns deviations of the weights W.
  Matrix<double> factor;
  std::vector<double> spectrum;      ///< eigen: eigenvalues of G
  double ridge = 0;                  ///< nλ
  std::vector<double> mean_feature;  ///< columns; subtracted before anything else
  double intercept_variance = 0;     ///< 1/n with an intercept, 0 without

  /// Cov(f_a(x_i), f_a(x_j))/σ²_a = intercept_variance + Σ_k rows(i, k) rows(j, k) shares(k, a).
  struct Spread {
    Matrix<double> rows;    ///< n × r
    Matrix<double> shares;  ///< r × p, non-negative
  };
  /// Of centred features φ~ (n × columns); linear in them. O(n m²), m the columns, or the parameters of coupled outputs.
  Spread spread(const Coupling& coupling, ConstMatrix centred) const;

  /// Stores draw s of the deviations of W (columns × p) in `factor`, which must have room for it.
  void set_draw(Index s, ConstMatrix deviation);

  /// out (rows × p): Var f_a(x_i)/σ²_a for feature rows φ (rows × columns). phi is centred in place.
  void variance(const Coupling& coupling, MutMatrix phi, MutMatrix out) const;
  /// out (n × n): Cov(f_a(x_i), f_a(x_j))/σ²_a of one output a. phi is centred in place.
  void covariance(const Coupling& coupling, MutMatrix phi, Index output, MutMatrix out) const;
};

}  // namespace mercer
