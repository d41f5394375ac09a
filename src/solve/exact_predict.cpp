#include <algorithm>
#include <cmath>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/progress.hpp"
#include "kernel/evaluate.hpp"
#include "kernel/resolve.hpp"
#include "solve/exact.hpp"
#include "solve/output_pieces.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// [k(x,x) - k_xᵀS⁻¹k_x + gᵀ(EᵀS⁻¹E)⁻¹g]/ridge with g = e(x) - EᵀS⁻¹k_x, the part that the unknown intercept adds, for the
/// query columns `kx` (N × q, rows weighted) with prior variances `prior` and intercept columns `e0` (width × q).
std::vector<double> spread(const Matrix<double>& factor, const Matrix<double>& intercepts, Matrix<double> kx,
                           const std::vector<double>& prior, const Matrix<double>& e0, double ridge) {
  solve_lower(factor, kx);
  std::vector<double> variance = prior;
  for (Index i = 0; i < kx.rows(); ++i) {
    for (Index q = 0; q < kx.cols(); ++q) variance[at(q)] -= kx(i, q) * kx(i, q);
  }
  if (intercepts.cols() > 0) {
    Matrix<double> se = intercepts;
    solve_lower(factor, se);
    Matrix<double> inner(se.cols(), se.cols());
    accumulate_gram<double>(se, inner);
    if (cholesky(inner) >= 0) fail_internal("the intercept equations are singular");
    Matrix<double> gap = e0;
    gemm<double>(true, false, -1.0, se, kx, 1.0, gap);
    solve_lower(inner, gap);
    for (Index i = 0; i < gap.rows(); ++i) {
      for (Index q = 0; q < gap.cols(); ++q) variance[at(q)] += gap(i, q) * gap(i, q);
    }
  }
  for (double& v : variance) v = std::max(v, 0.0) / ridge;
  return variance;
}

}  // namespace

void predict_exact(const ExactProblem& problem, const ExactSolution& solution, ConstMatrix x, MutMatrix mean) {
  const Index n = problem.inputs.rows();
  const Index p = solution.coefficients.cols();
  const bool decoupled = is_decomposable(problem.kernel);
  const Index block = std::max<Index>(1, (Index{1} << 22) / checked_product(n, decoupled ? 1 : p * p));
  Matrix<double> mixed;
  if (decoupled) {  // k(x, X) (α A)
    const auto& form = std::get<Decomposable>(problem.kernel.terms.front().form);
    const Matrix<double> a = output_matrix(form.outputs, p);
    mixed = Matrix<double>(n, p);
    gemm<double>(false, false, problem.kernel.terms.front().weight, solution.coefficients, a, 0.0, mixed);
  }
  for (Index first = 0; first < x.rows; first += block) {
    check_stop();
    const Index count = std::min(block, x.rows - first);
    const ConstMatrix rows = x.row_range(first, count);
    const MutMatrix out = mean.row_range(first, count);
    if (decoupled) {
      Matrix<double> k(count, n);
      gram(std::get<Decomposable>(problem.kernel.terms.front().form).kernel, rows, problem.inputs, k);
      gemm<double>(false, false, 1.0, k, mixed, 0.0, out);
    } else {
      Matrix<double> k(count * p, n * p);
      gram(problem.kernel, rows, problem.inputs, p, k);
      Matrix<double> f(count * p, 1);
      gemm<double>(false, false, 1.0, k, ConstMatrix(solution.coefficients.data(), n * p, 1), 0.0, f);
      for (Index i = 0; i < count; ++i) {
        for (Index a = 0; a < p; ++a) out(i, a) = f(i * p + a, 0);
      }
    }
    for (Index i = 0; i < count; ++i) {
      for (Index a = 0; a < p; ++a) out(i, a) += solution.intercept[at(a)];
    }
  }
}

void variance_exact(const ExactProblem& problem, const ExactSolution& solution, ConstMatrix x, MutMatrix variance) {
  if (!solution.has_spread()) {
    fail_argument("this model was fitted without what standard deviations need; fit again with --uncertainty full");
  }
  if (solution.ridge <= 0) fail_argument("standard deviations need a penalty above 0");
  const Index n = problem.inputs.rows();
  const Index p = problem.targets.cols();
  const auto root = roots(problem.weights);
  for (Index i = 0; i < x.rows; ++i) std::ranges::fill(variance.row(i), 0.0);
  constexpr Index block = 128;
  const bool decoupled = is_decomposable(problem.kernel);
  std::vector<OutputPiece> pieces;
  if (decoupled) pieces = output_pieces(problem.kernel, p);
  for (Index first = 0; first < x.rows; first += block) {
    check_stop();
    const Index count = std::min(block, x.rows - first);
    const ConstMatrix rows = x.row_range(first, count);
    const Index width = decoupled ? 1 : p;
    Matrix<double> k(n * width, count * width);
    std::vector<double> prior(at(count * width));
    Matrix<double> e0(problem.intercept ? width : 0, count * width);
    Matrix<double> intercepts(n * width, problem.intercept ? width : 0);
    for (Index i = 0; problem.intercept && i < n; ++i) {
      for (Index a = 0; a < width; ++a) intercepts(i * width + a, a) = root[at(i)];
    }
    for (Index q = 0; problem.intercept && q < count; ++q) {
      for (Index a = 0; a < width; ++a) e0(a, q * width + a) = 1;
    }
    Matrix<double> self(p, p);
    if (decoupled) {
      const Kernel& scalar = std::get<Decomposable>(problem.kernel.terms.front().form).kernel;
      gram(scalar, problem.inputs, rows, k);
      for (Index q = 0; q < count; ++q) prior[at(q)] = value(scalar, rows.row(q), rows.row(q));
    } else {
      gram(problem.kernel, problem.inputs, rows, p, k);
      for (Index q = 0; q < count; ++q) {
        value(problem.kernel, rows.row(q), rows.row(q), self);
        for (Index a = 0; a < p; ++a) prior[at(q * p + a)] = self(a, a);
      }
    }
    for (Index i = 0; i < k.rows(); ++i) {
      for (double& v : k.row(i)) v *= root[at(i / width)];
    }
    if (!decoupled) {
      const auto v = spread(solution.factors.front(), intercepts, k, prior, e0, solution.ridge);
      for (Index q = 0; q < count * p; ++q) variance(first + q / p, q % p) = v[at(q)];
      continue;
    }
    for (std::size_t s = 0; s < pieces.size(); ++s) {
      const double gain = pieces[s].gain;
      Matrix<double> scaled = k;
      std::vector<double> own = prior;
      for (double& v : scaled.values()) v *= gain;
      for (double& v : own) v *= gain;
      const auto v = spread(solution.factors[s], intercepts, scaled, own, e0, solution.ridge);
      for (const auto& direction : pieces[s].directions) {
        for (Index q = 0; q < count; ++q) {
          for (Index a = 0; a < p; ++a) variance(first + q, a) += direction[at(a)] * direction[at(a)] * v[at(q)];
        }
      }
    }
  }
}

}  // namespace mercer
