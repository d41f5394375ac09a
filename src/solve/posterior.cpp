#include "solve/posterior.hpp"

#include <algorithm>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"

namespace mercer {
namespace {

/// Column sums of squares.
std::vector<double> column_squares(ConstMatrix a) {
  std::vector<double> sums(static_cast<std::size_t>(a.cols), 0.0);
  for (Index i = 0; i < a.rows; ++i) {
    for (Index j = 0; j < a.cols; ++j) sums[static_cast<std::size_t>(j)] += a(i, j) * a(i, j);
  }
  return sums;
}

/// One gain: φ~ᵀ(γG + nλ)⁻¹φ~ serves every output, times Σ_j B_aj².
void variance_one_gain(const Posterior& posterior, const Coupling& coupling, ConstMatrix phi, MutMatrix out) {
  Matrix<double> x = transposed(phi);
  solve_lower(posterior.factor, x);
  const std::vector<double> spread = column_squares(x);
  const Matrix<double>& b = coupling.constant_factor();
  for (Index i = 0; i < phi.rows; ++i) {
    for (Index a = 0; a < b.rows(); ++a) {
      double gain = 0;
      for (Index j = 0; j < b.cols(); ++j) gain += b(a, j) * b(a, j);
      out(i, a) += gain * spread[static_cast<std::size_t>(i)];
    }
  }
}

/// Coupled outputs: ‖L⁻¹ row_a(Φ(x)ᵀ)‖².
void variance_coupled(const Posterior& posterior, const Coupling& coupling, ConstMatrix phi, MutMatrix out) {
  const Index p = coupling.outputs();
  Matrix<double> rows(phi.rows * p, coupling.parameters());
  coupling.dense_rows(phi, rows);
  Matrix<double> x = transposed(rows);
  solve_lower(posterior.factor, x);
  const std::vector<double> spread = column_squares(x);
  for (Index i = 0; i < phi.rows; ++i) {
    for (Index a = 0; a < p; ++a) out(i, a) += spread[static_cast<std::size_t>(i * p + a)];
  }
}

/// Eigenbasis of G: Σ_j B_aj² Σ_k v_k²/(γ_j Λ_k + nλ).
void variance_eigen(const Posterior& posterior, const Coupling& coupling, ConstMatrix phi, MutMatrix out) {
  const Matrix<double>& b = coupling.constant_factor();
  const Index m = phi.cols;
  Matrix<double> v(phi.rows, m);
  gemm<double>(false, true, 1.0, phi, posterior.factor, 0.0, v);
  for (double& value : v.values()) value *= value;
  Matrix<double> inverse(m, b.cols());
  for (Index j = 0; j < b.cols(); ++j) {
    double gain = 0;
    for (Index a = 0; a < b.rows(); ++a) gain += b(a, j) * b(a, j);
    for (Index k = 0; k < m; ++k) {
      const double denominator = gain * std::max(0.0, posterior.spectrum[static_cast<std::size_t>(k)]) + posterior.ridge;
      inverse(k, j) = denominator > 0 ? 1 / denominator : 0;
    }
  }
  Matrix<double> spread(phi.rows, b.cols());
  gemm<double>(false, false, 1.0, v, inverse, 0.0, spread);
  for (Index i = 0; i < phi.rows; ++i) {
    for (Index a = 0; a < b.rows(); ++a) {
      for (Index j = 0; j < b.cols(); ++j) out(i, a) += b(a, j) * b(a, j) * spread(i, j);
    }
  }
}

/// Mean square of the drawn deviations φ~ᵀδW.
void variance_samples(const Posterior& posterior, const Coupling& coupling, ConstMatrix phi, MutMatrix out) {
  const Index p = coupling.outputs();
  const Index count = posterior.factor.rows() / p;
  Matrix<double> deviation(phi.rows, count * p);
  gemm<double>(false, true, 1.0, phi, posterior.factor, 0.0, deviation);
  for (Index i = 0; i < phi.rows; ++i) {
    for (Index s = 0; s < count; ++s) {
      for (Index a = 0; a < p; ++a)
        out(i, a) += deviation(i, s * p + a) * deviation(i, s * p + a) / static_cast<double>(count);
    }
  }
}

}  // namespace

Uncertainty resolve(Uncertainty wish, Index parameters) {
  if (wish != Uncertainty::automatic) return wish;
  return parameters <= full_posterior_limit ? Uncertainty::full : Uncertainty::samples;
}

void Posterior::set_draw(Index s, ConstMatrix deviation) {
  for (Index c = 0; c < deviation.rows; ++c) {
    for (Index a = 0; a < deviation.cols; ++a) factor(s * deviation.cols + a, c) = deviation(c, a);
  }
}

void Posterior::variance(const Coupling& coupling, MutMatrix phi, MutMatrix out) const {
  if (kind == Kind::none) {
    fail_argument(
        "this model was fitted without what standard deviations need; fit again with --uncertainty full or samples");
  }
  for (Index i = 0; i < phi.rows; ++i) {
    for (Index c = 0; c < phi.cols; ++c) phi(i, c) -= mean_feature[static_cast<std::size_t>(c)];
    std::ranges::fill(out.row(i), intercept_variance);
  }
  switch (kind) {
    case Kind::cholesky:
      if (coupling.is_constant()) {
        variance_one_gain(*this, coupling, phi, out);
      } else {
        variance_coupled(*this, coupling, phi, out);
      }
      break;
    case Kind::eigen:
      variance_eigen(*this, coupling, phi, out);
      break;
    case Kind::samples:
      variance_samples(*this, coupling, phi, out);
      break;
    case Kind::none:
      break;
  }
}

}  // namespace mercer
