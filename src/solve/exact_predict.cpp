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

/// What the rows tell of f at queries: Cov f = [K(x, x') - seenᵀseen + unknownᵀunknown]/ridge with seen = L⁻¹k_x and unknown
/// = (EᵀS⁻¹E)^{-1/2}(e(x) - EᵀS⁻¹k_x), the part that the unknown intercept adds. Columns are queries.
struct Reduction {
  Matrix<double> seen;
  Matrix<double> unknown;

  /// Σ over rows of unknown² - seen², added to a number for each query.
  void add_to(std::vector<double>& variance) const {
    add_squares(-1, seen, variance);
    add_squares(1, unknown, variance);
  }
  void add_to(MutMatrix covariance) const {
    gemm<double>(true, false, -1.0, seen, seen, 1.0, covariance);
    if (!unknown.empty()) gemm<double>(true, false, 1.0, unknown, unknown, 1.0, covariance);
  }

 private:
  static void add_squares(double sign, const Matrix<double>& a, std::vector<double>& sums) {
    for (Index i = 0; i < a.rows(); ++i) {
      for (Index q = 0; q < a.cols(); ++q) sums[at(q)] += sign * a(i, q) * a(i, q);
    }
  }
};

/// Rows of width outputs each: what of them is known of queries, before it is solved for.
struct Queries {
  Index width = 1;            ///< 1 for decoupled outputs, p otherwise
  Matrix<double> kernel;      ///< (n·width) × (queries·width): √W K(X, x)
  Matrix<double> intercepts;  ///< (n·width) × width: √W E; no columns without an intercept
  Matrix<double> ones;        ///< width × (queries·width): e(x)

  Queries(const ExactProblem& problem, ConstMatrix x) : width(is_decomposable(problem.kernel) ? 1 : problem.targets.cols()) {
    const Index n = problem.inputs.rows();
    const auto root = roots(problem.weights);
    kernel = Matrix<double>(n * width, x.rows * width);
    if (is_decomposable(problem.kernel))
      gram(std::get<Decomposable>(problem.kernel.terms.front().form).kernel, problem.inputs, x, kernel);
    else
      gram(problem.kernel, problem.inputs, x, width, kernel);
    for (Index i = 0; i < kernel.rows(); ++i) {
      for (double& v : kernel.row(i)) v *= root[at(i / width)];
    }
    if (!problem.intercept) return;
    intercepts = Matrix<double>(n * width, width);
    ones = Matrix<double>(width, x.rows * width);
    for (Index i = 0; i < intercepts.rows(); ++i) intercepts(i, i % width) = root[at(i / width)];
    for (Index q = 0; q < ones.cols(); ++q) ones(q % width, q) = 1;
  }

  Reduction reduced(const Matrix<double>& factor, double gain) const {
    Reduction r{kernel, ones};
    for (double& v : r.seen.values()) v *= gain;
    solve_lower(factor, r.seen);
    if (intercepts.empty()) return r;
    Matrix<double> se = intercepts;
    solve_lower(factor, se);
    Matrix<double> inner(se.cols(), se.cols());
    accumulate_gram<double>(se, inner);
    if (cholesky(inner) >= 0) fail_internal("the intercept equations are singular");
    gemm<double>(true, false, -1.0, se, r.seen, 1.0, r.unknown);
    solve_lower(inner, r.unknown);
    return r;
  }
};

void check_spread(const ExactSolution& solution) {
  if (!solution.has_spread()) {
    fail_argument("this model was fitted without what standard deviations need; fit again with --uncertainty full");
  }
  if (solution.ridge <= 0) fail_argument("standard deviations need a penalty above 0");
}

/// The prior variance of each query.
std::vector<double> prior_variance(const ExactProblem& problem, ConstMatrix x) {
  const Index p = problem.targets.cols();
  std::vector<double> prior;
  Matrix<double> self(p, p);
  for (Index q = 0; q < x.rows; ++q) {
    if (is_decomposable(problem.kernel)) {
      prior.push_back(value(std::get<Decomposable>(problem.kernel.terms.front().form).kernel, x.row(q), x.row(q)));
      continue;
    }
    value(problem.kernel, x.row(q), x.row(q), self);
    for (Index a = 0; a < p; ++a) prior.push_back(self(a, a));
  }
  return prior;
}

/// use(gain γ, factor, Σ of d_a² over the directions d of the piece for each output) for the pieces of decoupled outputs.
template <class Use>
void for_pieces(const ExactProblem& problem, const ExactSolution& solution, const Use& use) {
  const Index p = problem.targets.cols();
  const std::vector<OutputPiece> pieces = output_pieces(problem.kernel, p);
  for (std::size_t s = 0; s < pieces.size(); ++s) {
    std::vector<double> share(at(p), 0.0);
    for (const auto& direction : pieces[s].directions) {
      for (std::size_t a = 0; a < share.size(); ++a) share[a] += direction[a] * direction[a];
    }
    use(pieces[s].gain, solution.factors[s], share);
  }
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
  check_spread(solution);
  const Index p = problem.targets.cols();
  constexpr Index block = 128;
  const auto relative = [&](double v) { return std::max(v, 0.0) / solution.ridge; };
  for (Index first = 0; first < x.rows; first += block) {
    check_stop();
    const ConstMatrix rows = x.row_range(first, std::min(block, x.rows - first));
    const Queries queries(problem, rows);
    const std::vector<double> prior = prior_variance(problem, rows);
    if (!is_decomposable(problem.kernel)) {
      std::vector<double> v = prior;
      queries.reduced(solution.factors.front(), 1).add_to(v);
      for (Index q = 0; q < rows.rows * p; ++q) variance(first + q / p, q % p) = relative(v[at(q)]);
      continue;
    }
    for (Index q = 0; q < rows.rows; ++q) std::ranges::fill(variance.row(first + q), 0.0);
    for_pieces(problem, solution, [&](double gain, const Matrix<double>& factor, const std::vector<double>& share) {
      std::vector<double> v = prior;
      for (double& k : v) k *= gain;
      queries.reduced(factor, gain).add_to(v);
      for (Index q = 0; q < rows.rows; ++q) {
        for (Index a = 0; a < p; ++a) variance(first + q, a) += share[at(a)] * relative(v[at(q)]);
      }
    });
  }
}

void covariance_exact(const ExactProblem& problem, const ExactSolution& solution, ConstMatrix x, Index output,
                      MutMatrix covariance) {
  check_spread(solution);
  const Index n = x.rows;
  const Queries queries(problem, x);
  const Index width = queries.width;
  Matrix<double> prior(n * width, n * width);
  const bool decoupled = is_decomposable(problem.kernel);
  if (decoupled)
    gram(std::get<Decomposable>(problem.kernel.terms.front().form).kernel, x, x, prior);
  else
    gram(problem.kernel, x, x, width, prior);
  for (Index i = 0; i < n; ++i) std::ranges::fill(covariance.row(i), 0.0);
  const auto add = [&](double gain, const Matrix<double>& factor, double share) {
    Matrix<double> all = prior;
    for (double& k : all.values()) k *= gain;
    queries.reduced(factor, gain).add_to(all);
    const Index own = decoupled ? 0 : output;
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j) covariance(i, j) += share / solution.ridge * all(i * width + own, j * width + own);
    }
  };
  if (!decoupled) {
    add(1, solution.factors.front(), 1);
    return;
  }
  for_pieces(problem, solution, [&](double gain, const Matrix<double>& factor, const std::vector<double>& share) {
    if (share[at(output)] > 0) add(gain, factor, share[at(output)]);
  });
}

}  // namespace mercer
