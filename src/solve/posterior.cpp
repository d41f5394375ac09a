#include "solve/posterior.hpp"

#include <algorithm>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"

namespace mercer {
namespace {

/// Σ_j B_aj² of each output a.
std::vector<double> row_squares(const Matrix<double>& b) {
  std::vector<double> sums(static_cast<std::size_t>(b.rows()), 0.0);
  for (Index a = 0; a < b.rows(); ++a) {
    for (const double v : b.row(a)) sums[static_cast<std::size_t>(a)] += v * v;
  }
  return sums;
}

/// One gain: φ~ᵀ(γG + nλ)⁻¹φ~ serves every output, times Σ_j B_aj².
Posterior::Spread spread_one_gain(const Posterior& posterior, const Coupling& coupling, ConstMatrix phi) {
  Matrix<double> x = transposed(phi);
  solve_lower(posterior.factor, x);
  const std::vector<double> gains = row_squares(coupling.constant_factor());
  Posterior::Spread spread{transposed(x), Matrix<double>(phi.cols, coupling.outputs())};
  for (Index k = 0; k < phi.cols; ++k) std::ranges::copy(gains, spread.shares.row(k).begin());
  return spread;
}

/// Coupled outputs: L⁻¹ row_a(Φ(x)ᵀ), one output beside the other.
Posterior::Spread spread_coupled(const Posterior& posterior, const Coupling& coupling, ConstMatrix phi) {
  const Index p = coupling.outputs();
  const Index m = coupling.parameters();
  Matrix<double> rows(phi.rows * p, m);
  coupling.dense_rows(phi, rows);
  Matrix<double> x = transposed(rows);
  solve_lower(posterior.factor, x);
  Posterior::Spread spread{Matrix<double>(phi.rows, m * p), Matrix<double>(m * p, p)};
  std::ranges::copy(transposed(x).values(), spread.rows.values().begin());  // row i·p + a, of m numbers, after the other
  for (Index k = 0; k < m * p; ++k) spread.shares(k, k / m) = 1;
  return spread;
}

/// Eigenbasis of G: Σ_j B_aj² Σ_k v_k²/(γ_j Λ_k + nλ), γ_j = Σ_a B_aj².
Posterior::Spread spread_eigen(const Posterior& posterior, const Coupling& coupling, ConstMatrix phi) {
  const Matrix<double>& b = coupling.constant_factor();
  const std::vector<double> gains = row_squares(transposed(b));
  Posterior::Spread spread{Matrix<double>(phi.rows, phi.cols), Matrix<double>(phi.cols, b.rows())};
  gemm<double>(false, true, 1.0, phi, posterior.factor, 0.0, spread.rows);
  for (Index k = 0; k < phi.cols; ++k) {
    for (Index j = 0; j < b.cols(); ++j) {
      const double eigenvalue = std::max(0.0, posterior.spectrum[static_cast<std::size_t>(k)]);
      const double denominator = gains[static_cast<std::size_t>(j)] * eigenvalue + posterior.ridge;
      if (!(denominator > 0)) continue;
      for (Index a = 0; a < b.rows(); ++a) spread.shares(k, a) += b(a, j) * b(a, j) / denominator;
    }
  }
  return spread;
}

/// Mean square of the drawn deviations φ~ᵀδW.
Posterior::Spread spread_samples(const Posterior& posterior, const Coupling& coupling, ConstMatrix phi) {
  const Index p = coupling.outputs();
  const Index columns = posterior.factor.rows();
  Posterior::Spread spread{Matrix<double>(phi.rows, columns), Matrix<double>(columns, p)};
  gemm<double>(false, true, 1.0, phi, posterior.factor, 0.0, spread.rows);
  for (Index k = 0; k < columns; ++k) spread.shares(k, k % p) = static_cast<double>(p) / static_cast<double>(columns);
  return spread;
}

void centre(const Posterior& posterior, MutMatrix phi) {
  for (Index i = 0; i < phi.rows && !posterior.mean_feature.empty(); ++i) {
    for (Index c = 0; c < phi.cols; ++c) phi(i, c) -= posterior.mean_feature[static_cast<std::size_t>(c)];
  }
}

}  // namespace

Uncertainty resolve(Uncertainty wish, Index parameters, Index limit) {
  if (wish != Uncertainty::automatic) return wish;
  return parameters <= limit ? Uncertainty::full : Uncertainty::samples;
}

void Posterior::set_draw(Index s, ConstMatrix deviation) {
  for (Index c = 0; c < deviation.rows; ++c) {
    for (Index a = 0; a < deviation.cols; ++a) factor(s * deviation.cols + a, c) = deviation(c, a);
  }
}

Posterior::Spread Posterior::spread(const Coupling& coupling, ConstMatrix centred) const {
  switch (kind) {
    case Kind::cholesky:
      return coupling.is_constant() ? spread_one_gain(*this, coupling, centred) : spread_coupled(*this, coupling, centred);
    case Kind::eigen:
      return spread_eigen(*this, coupling, centred);
    case Kind::samples:
      return spread_samples(*this, coupling, centred);
    case Kind::none:
      break;
  }
  fail_argument("this model was fitted without what standard deviations need; fit again with --uncertainty full or samples");
}

void Posterior::variance(const Coupling& coupling, MutMatrix phi, MutMatrix out) const {
  centre(*this, phi);
  Spread s = spread(coupling, phi);
  for (double& v : s.rows.values()) v *= v;
  for (Index i = 0; i < out.rows; ++i) std::ranges::fill(out.row(i), intercept_variance);
  gemm<double>(false, false, 1.0, s.rows, s.shares, 1.0, out);
}

void Posterior::covariance(const Coupling& coupling, MutMatrix phi, Index output, MutMatrix out) const {
  centre(*this, phi);
  const Spread s = spread(coupling, phi);
  Matrix<double> weighted = s.rows;
  for (Index i = 0; i < weighted.rows(); ++i) {
    for (Index k = 0; k < weighted.cols(); ++k) weighted(i, k) *= s.shares(k, output);
  }
  for (Index i = 0; i < out.rows; ++i) std::ranges::fill(out.row(i), intercept_variance);
  gemm<double>(false, true, 1.0, weighted, s.rows, 1.0, out);
}

}  // namespace mercer
