// The likelihood by n × n matrices, for fewer rows than features: with S = ΦΦᵀ and K_a = b_aS + vI for rotated output a,
//   ½ rᵀK⁻¹r + ½ log|K| + ½ n log 2π,   ∂/∂Φ = WΦ,  W = Σ_a b_a(K_a⁻¹ - α_aα_aᵀ),  α = K⁻¹r.
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "backend/backend.hpp"
#include "gp/factor.hpp"
#include "gp/sparse_likelihood.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

constexpr double two_pi = 2 * std::numbers::pi;

/// ∂/∂s and ∂/∂log a from D = ∂/∂Φ: a sum over rows for each point.
void gather_points(ConstMatrix x, const Matrix<double>& phi, const Matrix<double>& d, SparseGradient& g) {
  const Index m = phi.cols() / 2;
  g.frequencies = Matrix<double>(m, x.cols);
  g.log_amplitude.assign(at(m), 0.0);
  for (Index i = 0; i < x.rows; ++i) {
    for (Index j = 0; j < m; ++j) {
      const double turn = two_pi * (d(i, m + j) * phi(i, j) - d(i, j) * phi(i, m + j));
      g.log_amplitude[at(j)] += d(i, j) * phi(i, j) + d(i, m + j) * phi(i, m + j);
      for (Index k = 0; k < x.cols; ++k) g.frequencies(j, k) += turn * x(i, k);
    }
  }
}

/// Sums over the rotated outputs.
struct Sums {
  Matrix<double> w;       ///< W, n × n
  Matrix<double> alpha;   ///< n × p, rotated
  Matrix<double> traces;  ///< 1 × p: tr(K_a⁻¹S)
};

/// False when K is not positive definite; adds the output's share of value and gradient.
bool add_output(const Matrix<double>& s, const SparseProcess& process, Index a, double& value, SparseGradient* g,
                Sums& sums) {
  const Index n = s.rows();
  const double b = process.share.values[at(a)];
  Matrix<double> k(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j) k(i, j) = b * s(i, j);
    k(i, i) += process.noise;
  }
  if (cholesky(k) >= 0) return false;
  Matrix<double> alpha(n, 1);
  for (Index i = 0; i < n; ++i) alpha(i, 0) = sums.alpha(i, a);
  const std::vector<double> r(alpha.values().begin(), alpha.values().end());
  cholesky_solve(k, alpha);
  value += std::inner_product(r.begin(), r.end(), alpha.values().begin(), 0.0) / 2 +
           (log_determinant(k) + static_cast<double>(n) * std::log(two_pi)) / 2;
  for (Index i = 0; i < n; ++i) {
    sums.alpha(i, a) = alpha(i, 0);
  }
  if (g == nullptr) return true;
  const Matrix<double> inverse = inverse_of(k);
  double trace = 0;
  double square = 0;
  for (Index i = 0; i < n; ++i) {
    trace += inverse(i, i);
    square += alpha(i, 0) * alpha(i, 0);
    for (Index j = 0; j < n; ++j) sums.w(i, j) += b * (inverse(i, j) - alpha(i, 0) * alpha(j, 0));
  }
  g->log_noise += process.noise * (trace - square) / 2;
  sums.traces(0, a) = std::inner_product(inverse.values().begin(), inverse.values().end(), s.values().begin(), 0.0);
  return true;
}

/// ∂/∂B = U (∂/∂B̃) Uᵀ with ∂/∂B̃_ab = ½([a = b] tr(K_a⁻¹S) - α_aᵀSα_b), and ∂/∂mean = -[1, x]ᵀα Uᵀ.
void gather_outputs(ConstMatrix x, const Matrix<double>& s, const SparseProcess& process, const Sums& sums,
                    SparseGradient& g) {
  const Index p = process.share.outputs();
  Matrix<double> own(x.rows, p);  // α in the outputs' own basis
  gemm<double>(false, true, 1.0, sums.alpha, process.share.rotation, 0.0, own);
  g.mean = Matrix<double>(process.mean.rows(), p);
  for (Index i = 0; i < x.rows; ++i) {
    for (Index h = 0; h < g.mean.rows(); ++h) {
      for (Index a = 0; a < p; ++a) g.mean(h, a) -= own(i, a) * (h == 0 ? 1.0 : x(i, h - 1));
    }
  }
  Matrix<double> sa(x.rows, p);
  gemm<double>(false, false, 1.0, s, sums.alpha, 0.0, sa);
  Matrix<double> rotated(p, p);
  gemm<double>(true, false, -0.5, sums.alpha, sa, 0.0, rotated);
  for (Index a = 0; a < p; ++a) rotated(a, a) += sums.traces(0, a) / 2;
  g.outputs = rotated_back(process.share.rotation, rotated);
}

}  // namespace

double small_likelihood(ConstMatrix x, ConstMatrix residuals, const SparseProcess& process, SparseGradient* gradient) {
  const Index n = x.rows;
  const Index p = process.share.outputs();
  const Matrix<double> phi = sparse_features(x, process);
  Matrix<double> s(n, n);
  gemm<double>(false, true, 1.0, phi, phi, 0.0, s);
  Sums sums{Matrix<double>(n, n), Matrix<double>(n, p), Matrix<double>(1, p)};
  gemm<double>(false, false, 1.0, residuals, process.share.rotation, 0.0, sums.alpha);
  if (gradient != nullptr) gradient->log_noise = 0;
  double value = 0;
  for (Index a = 0; a < p; ++a) {
    if (!add_output(s, process, a, value, gradient, sums)) return std::numeric_limits<double>::infinity();
  }
  if (gradient == nullptr) return value;
  Matrix<double> d(n, phi.cols());
  gemm<double>(false, false, 1.0, sums.w, phi, 0.0, d);
  gather_points(x, phi, d, *gradient);
  gather_outputs(x, s, process, sums, *gradient);
  return value;
}

}  // namespace mercer
