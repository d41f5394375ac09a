#include "gp/sparse_likelihood.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "backend/backend.hpp"
#include "gp/factor.hpp"

// One scalar process per rotated output a, with b = share.values[a] and r = the rotated residual:
//   R = bG + vI,  G = ΦᵀΦ,   β' = b R⁻¹Φᵀr   (the weights of Φ itself, √b β),   α = (r - Φβ')/v.
// ∂/∂Φ = Φ T - Σ_a α_a β'_aᵀ  with  T = Σ_a b_a R_a⁻¹.  With c and s the two columns of point j, x_k-weighted sums of rows
// give
//   ∂/∂s_jk = 2π[(T A_k)_sc - (T A_k)_cs] + 2π Σ_a [β'_c u_s - β'_s u_c],   A_k = Φᵀdiag(x_k)Φ,  u = Φᵀ(x_k∘α) = (Φᵀ(x_k∘r)
//   - A_kβ')/v, ∂/∂log a_j = (TG)_cc + (TG)_ss - Σ_a [β'_c g_c + β'_s g_s],   g = Φᵀα = (Φᵀr - Gβ')/v, ∂/∂b_a = ½(tr(R⁻¹G) -
//   gᵀg); between rotated outputs ∂/∂B̃_ab = -½ g_aᵀg_b.

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// The statistics of points with their amplitudes, outputs rotated. Scaled matrices are not formed: D A D x = D(A(Dx)).
class Scaled {
 public:
  Scaled(const SparseStatistics& s, const SparseProcess& process) : statistics_(s), process_(process) {
    scale_ = process.amplitudes;
    scale_.insert(scale_.end(), process.amplitudes.begin(), process.amplitudes.end());
  }

  /// D A D x for symmetric A.
  std::vector<double> times(const Matrix<double>& a, std::span<const double> x) const {
    Matrix<double> in(a.rows(), 1);
    std::ranges::transform(x, scale_, in.values().begin(), std::multiplies<>());
    Matrix<double> out(a.rows(), 1);
    gemm<double>(false, false, 1.0, a, in, 0.0, out);
    std::vector<double> y(scale_.size());
    std::ranges::transform(out.values(), scale_, y.begin(), std::multiplies<>());
    return y;
  }

  /// Φᵀ(x_k∘r̃_a), or Φᵀr̃_a for k = -1.
  std::vector<double> cross(Index k, Index a) const {
    const Index p = process_.share.outputs();
    const Index first = (k + 1) * p;
    std::vector<double> out(scale_.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      double sum = 0;
      for (Index o = 0; o < p; ++o)
        sum += statistics_.cross(static_cast<Index>(i), first + o) * process_.share.rotation(o, a);
      out[i] = scale_[i] * sum;
    }
    return out;
  }

  /// Φᵀh_k, h = [1, x].
  double mean_feature(Index column, Index k) const {
    const Index first = statistics_.cross.cols() - statistics_.mean_cross.rows();
    return scale_[at(column)] * statistics_.cross(column, first + k);
  }

  /// r̃_aᵀr̃_a.
  double residual_square(Index a) const {
    const Matrix<double>& u = process_.share.rotation;
    double sum = 0;
    for (Index o = 0; o < u.rows(); ++o) {
      for (Index q = 0; q < u.rows(); ++q) sum += u(o, a) * statistics_.residual_gram(o, q) * u(q, a);
    }
    return sum;
  }

  const std::vector<double>& scale() const { return scale_; }

 private:
  const SparseStatistics& statistics_;
  const SparseProcess& process_;
  std::vector<double> scale_;
};

/// What one rotated output contributes.
struct Rotated {
  double value = 0;
  double log_noise = 0;
  double trace = 0;              ///< tr(R⁻¹G)
  std::vector<double> weights;   ///< β'
  std::vector<double> features;  ///< g = Φᵀα
};

/// False when R is not positive definite. Adds b D R⁻¹D, D the amplitudes, to the lower triangle of `squares.t` when a
/// gradient is wanted.
bool rotated_likelihood(const Scaled& s, const SparseStatistics& statistics, const SparseProcess& process, Index a,
                        bool gradient, Rotated& out, SparseWorkspace::Squares& squares) {
  const double b = process.share.values[at(a)];
  const double v = process.noise;
  const Matrix<double>& gram = statistics.gram;
  const Index columns = gram.rows();
  const std::vector<double>& scale = s.scale();
  Matrix<double>& r = squares.r;
  for (Index i = 0; i < columns; ++i) {
    const double row = b * scale[at(i)];
    for (Index j = 0; j <= i; ++j) r(i, j) = row * gram(i, j) * scale[at(j)];
    r(i, i) += v;
  }
  if (cholesky(r) >= 0) return false;
  const std::vector<double> c = s.cross(-1, a);
  Matrix<double> beta(columns, 1);
  std::ranges::transform(c, beta.values().begin(), [&](double value) { return b * value; });
  cholesky_solve(r, beta);
  out.weights.assign(beta.values().begin(), beta.values().end());
  const double misfit = s.residual_square(a) - dot(c, out.weights);
  const auto n = static_cast<double>(statistics.rows);
  const auto free = n - static_cast<double>(columns);
  out.value = misfit / (2 * v) + (log_determinant(r) + free * std::log(v) + n * std::log(2 * std::numbers::pi)) / 2;
  if (!gradient) return true;
  cholesky_inverse(r, squares.work);
  const std::vector<double> gb = s.times(gram, out.weights);
  out.features.resize(c.size());
  for (std::size_t i = 0; i < c.size(); ++i) out.features[i] = (c[i] - gb[i]) / v;
  double inverse_trace = 0;
  for (Index i = 0; i < columns; ++i) inverse_trace += r(i, i);
  out.trace = 0;  // where b is 0, R⁻¹ = I/v
  for (Index i = 0; i < columns && b == 0; ++i) out.trace += scale[at(i)] * scale[at(i)] * gram(i, i) / v;
  if (b > 0) out.trace = (static_cast<double>(columns) - v * inverse_trace) / b;
  // βᵀβ of the scaled features √bΦ is b gᵀg, since √b Φᵀα = β.
  out.log_noise = -misfit / (2 * v) + (b * dot(out.features, out.features) + v * inverse_trace + free) / 2;
  for (Index i = 0; i < columns; ++i) {
    const double row = b * scale[at(i)];
    for (Index j = 0; j <= i; ++j) squares.t(i, j) += row * r(i, j) * scale[at(j)];
  }
  return true;
}

/// `t` is D T D, so that its products with statistics of amplitude 1 are those of T with D A D.
void point_gradient(const Scaled& s, const SparseStatistics& statistics, const SparseProcess& process,
                    const std::vector<Rotated>& outputs, const Matrix<double>& t, SparseGradient& g) {
  const Index m = process.frequencies.rows();
  const Index d = process.frequencies.cols();
  constexpr double two_pi = 2 * std::numbers::pi;
  g.log_amplitude.assign(at(m), 0.0);
  for (Index j = 0; j < m; ++j) {
    double sum = dot(t.row(j), statistics.gram.row(j)) + dot(t.row(m + j), statistics.gram.row(m + j));
    for (const Rotated& out : outputs) {
      sum -= out.weights[at(j)] * out.features[at(j)] + out.weights[at(m + j)] * out.features[at(m + j)];
    }
    g.log_amplitude[at(j)] = sum;
  }
  g.frequencies = Matrix<double>(m, d);
  for (Index k = 0; k < d; ++k) {
    const Matrix<double>& weighted = statistics.weighted[at(k)];
    for (Index j = 0; j < m; ++j) {
      g.frequencies(j, k) = two_pi * (dot(t.row(m + j), weighted.row(j)) - dot(t.row(j), weighted.row(m + j)));
    }
    for (std::size_t a = 0; a < outputs.size(); ++a) {
      const std::vector<double>& beta = outputs[a].weights;
      const std::vector<double> c = s.cross(k, static_cast<Index>(a));
      const std::vector<double> ab = s.times(weighted, beta);
      for (Index j = 0; j < m; ++j) {
        const double u_cos = (c[at(j)] - ab[at(j)]) / process.noise;
        const double u_sin = (c[at(m + j)] - ab[at(m + j)]) / process.noise;
        g.frequencies(j, k) += two_pi * (beta[at(j)] * u_sin - beta[at(m + j)] * u_cos);
      }
    }
  }
}

/// ∂/∂b = -[1, x]ᵀα, with α in the outputs' own basis.
void mean_gradient(const Scaled& s, const SparseStatistics& statistics, const SparseProcess& process,
                   const std::vector<Rotated>& outputs, SparseGradient& g) {
  const Matrix<double>& u = process.share.rotation;
  const Index p = u.rows();
  g.mean = Matrix<double>(process.mean.rows(), p);
  for (Index k = 0; k < process.mean.rows(); ++k) {
    for (Index o = 0; o < p; ++o) g.mean(k, o) = -statistics.mean_cross(k, o) / process.noise;
    for (Index a = 0; a < p; ++a) {
      double explained = 0;
      for (Index i = 0; i < statistics.gram.rows(); ++i) explained += s.mean_feature(i, k) * outputs[at(a)].weights[at(i)];
      for (Index o = 0; o < p; ++o) g.mean(k, o) += u(o, a) * explained / process.noise;
    }
  }
}

/// ∂/∂B = U (∂/∂B̃) Uᵀ.
void output_gradient(const SparseProcess& process, const std::vector<Rotated>& outputs, SparseGradient& g) {
  const Index p = process.share.outputs();
  Matrix<double> rotated(p, p);
  for (Index a = 0; a < p; ++a) {
    for (Index b = 0; b < p; ++b) rotated(a, b) = -dot(outputs[at(a)].features, outputs[at(b)].features) / 2;
    rotated(a, a) += outputs[at(a)].trace / 2;
  }
  g.outputs = rotated_back(process.share.rotation, rotated);
}

}  // namespace

Matrix<double> rotated_back(const Matrix<double>& rotation, const Matrix<double>& a) {
  Matrix<double> half(a.rows(), a.cols());
  gemm<double>(false, false, 1.0, rotation, a, 0.0, half);
  Matrix<double> result(a.rows(), a.cols());
  gemm<double>(false, true, 1.0, half, rotation, 0.0, result);
  return result;
}

Matrix<double> without_mean(ConstMatrix x, ConstMatrix y, ConstMatrix mean) {
  Matrix<double> r(y);
  if (mean.rows == 0) return r;
  for (Index i = 0; i < y.rows; ++i) {
    for (Index a = 0; a < y.cols; ++a) {
      r(i, a) -= mean(0, a);
      for (Index k = 1; k < mean.rows; ++k) r(i, a) -= x(i, k - 1) * mean(k, a);
    }
  }
  return r;
}

OutputShare output_share(ConstMatrix b) {
  Eigen eigen = eigh(b);
  for (double& value : eigen.values) value = std::max(value, 0.0);
  return {std::move(eigen.values), transposed(eigen.vectors)};
}

double sparse_likelihood(const SparseStatistics& statistics, const SparseProcess& process, SparseGradient* gradient,
                         SparseWorkspace::Squares& squares) {
  const Scaled s(statistics, process);
  const Index p = process.share.outputs();
  const Index columns = process.columns();
  for (Matrix<double>* m : {&squares.r, &squares.t, &squares.work}) {
    if (m->rows() != columns) *m = Matrix<double>(columns, columns);
  }
  std::ranges::fill(squares.t.values(), 0.0);
  std::vector<Rotated> outputs(at(p));
  double value = 0;
  for (Index a = 0; a < p; ++a) {
    if (!rotated_likelihood(s, statistics, process, a, gradient != nullptr, outputs[at(a)], squares))
      return std::numeric_limits<double>::infinity();
    value += outputs[at(a)].value;
  }
  if (gradient == nullptr) return value;
  mirror_lower(squares.t);
  gradient->log_noise = 0;
  for (const Rotated& out : outputs) gradient->log_noise += out.log_noise;
  point_gradient(s, statistics, process, outputs, squares.t, *gradient);
  mean_gradient(s, statistics, process, outputs, *gradient);
  output_gradient(process, outputs, *gradient);
  return value;
}

}  // namespace mercer
