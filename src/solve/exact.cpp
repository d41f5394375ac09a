#include "solve/exact.hpp"

#include <algorithm>
#include <cmath>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "kernel/evaluate.hpp"
#include "solve/output_pieces.hpp"
#include "solve/trace.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// One dense ridge problem in weighted form: S = K' + ridge·I with K' = √W K √W, intercept columns E' = √W E, targets Y' =
/// √W Y; c = (E'ᵀS⁻¹E')⁻¹E'ᵀS⁻¹Y',  α' = S⁻¹(Y' - E'c),  residual r' = ridge·α'.
struct Dense {
  Matrix<double> kernel;      ///< N × N, lower: K'
  Matrix<double> intercepts;  ///< N × e
  Matrix<double> targets;     ///< N × r
};

struct DenseSolution {
  Matrix<double> factor;  ///< L of S
  Matrix<double> alpha;   ///< N × r
  Matrix<double> c;       ///< e × r
  Matrix<double> se;      ///< L⁻¹E'
  Matrix<double> inner;   ///< Cholesky factor of E'ᵀS⁻¹E'
  double ridge = 0;       ///< as used: raised when S was not positive definite
  std::string note;
};

DenseSolution solve_dense(const Dense& d, double ridge) {
  DenseSolution s;
  double trace = 0;
  for (Index i = 0; i < d.kernel.rows(); ++i) trace += d.kernel(i, i);
  // A direction without a kernel has only its mean, for which any ridge will do.
  double jitter = trace == 0 && ridge == 0 ? 1 : 0;
  for (int attempt = 0; attempt < 16; ++attempt) {
    s.factor = d.kernel;
    s.ridge = ridge + jitter;
    for (Index i = 0; i < s.factor.rows(); ++i) s.factor(i, i) += s.ridge;
    if (cholesky(s.factor) < 0) break;
    jitter = jitter == 0 ? 1e-15 * std::max(trace, 1e-300) : 10 * jitter;
    s.note = "the kernel matrix was not positive definite; the ridge was raised by " + shortest(jitter);
  }
  const Index e = d.intercepts.cols();
  s.c = Matrix<double>(e, d.targets.cols());
  s.alpha = d.targets;
  solve_lower(s.factor, s.alpha);
  s.se = d.intercepts;
  if (e > 0) {
    solve_lower(s.factor, s.se);
    s.inner = Matrix<double>(e, e);
    accumulate_gram<double>(s.se, s.inner);
    gemm<double>(true, false, 1.0, s.se, s.alpha, 0.0, s.c);
    if (cholesky(s.inner) >= 0) fail_internal("the intercept equations are singular");
    cholesky_solve(s.inner, s.c);
    gemm<double>(false, false, -1.0, s.se, s.c, 1.0, s.alpha);
  }
  solve_lower_transposed(s.factor, s.alpha);
  return s;
}

/// How the np rows are cut into dense problems.
struct Cut {
  bool decoupled = true;
  Matrix<double> scalar;  ///< decoupled: √W k(X,X) √W (n × n); otherwise √W K √W (np × np)
  std::vector<OutputPiece> pieces;
};

Cut cut_rows(const ExactProblem& problem) {
  const Index n = problem.inputs.rows();
  const Index p = problem.targets.cols();
  const auto root = roots(problem.weights);
  Cut cut;
  cut.decoupled = is_decomposable(problem.kernel);
  const Index size = cut.decoupled ? n : checked_product(n, p);
  cut.scalar = Matrix<double>(size, size);
  if (cut.decoupled) {
    const auto& form = std::get<Decomposable>(problem.kernel.terms.front().form);
    gram(form.kernel, problem.inputs, problem.inputs, cut.scalar);
    cut.pieces = output_pieces(problem.kernel, p);
  } else {
    gram(problem.kernel, problem.inputs, problem.inputs, p, cut.scalar);
    cut.pieces.push_back({1.0, {}});
  }
  const Index width = cut.decoupled ? 1 : p;
  parallel_for(size, [&](Index i) {
    for (Index j = 0; j <= i; ++j) cut.scalar(i, j) *= root[at(i / width)] * root[at(j / width)];
    if (!std::isfinite(cut.scalar(i, i))) {
      fail_argument("the kernel matrix overflows: scale the data (standardize) or lower the degree of the kernel");
    }
  });
  return cut;
}

/// The dense problem of a piece. Decoupled: n rows, one target column per direction; coupled: np rows, one column.
Dense dense_problem(const ExactProblem& problem, const Cut& cut, const OutputPiece& piece) {
  const Index n = problem.inputs.rows();
  const Index p = problem.targets.cols();
  const auto root = roots(problem.weights);
  Dense d;
  const Index size = cut.scalar.rows();
  d.kernel = Matrix<double>(size, size);
  parallel_for(size, [&](Index i) {
    for (Index j = 0; j <= i; ++j) d.kernel(i, j) = piece.gain * cut.scalar(i, j);
  });
  const Index width = cut.decoupled ? 1 : p;
  d.intercepts = Matrix<double>(size, problem.intercept ? width : 0);
  d.targets = Matrix<double>(size, cut.decoupled ? static_cast<Index>(piece.directions.size()) : 1);
  for (Index i = 0; i < n; ++i) {
    for (Index a = 0; a < width; ++a) {
      if (problem.intercept) d.intercepts(i * width + a, a) = root[at(i)];
      if (!cut.decoupled) d.targets(i * p + a, 0) = root[at(i)] * problem.targets(i, a);
    }
    if (!cut.decoupled) continue;
    for (Index r = 0; r < d.targets.cols(); ++r) {
      double y = 0;
      for (Index a = 0; a < p; ++a) y += piece.directions[at(r)][at(a)] * problem.targets(i, a);
      d.targets(i, r) = root[at(i)] * y;
    }
  }
  return d;
}

double total_weight(const ExactProblem& problem) {
  double sum = 0;
  for (const double w : problem.weights) sum += w;
  return sum;
}

/// tr(S⁻¹) and the width × width diagonal blocks of C = S⁻¹ - S⁻¹E(EᵀS⁻¹E)⁻¹EᵀS⁻¹, one under another. O(N³).
Matrix<double> projected_inverse_blocks(const DenseSolution& s, Index width) {
  const Index size = s.factor.rows();
  Matrix<double> inverse(size, size);
  for (Index i = 0; i < size; ++i) inverse(i, i) = 1;
  solve_lower(s.factor, inverse);  // L⁻¹; S⁻¹ = L⁻ᵀL⁻¹
  Matrix<double> sie = s.se;       // S⁻¹E, then (inner)⁻ᐟ² applied
  Matrix<double> projection(s.se.cols(), size);
  if (s.se.cols() > 0) {
    solve_lower_transposed(s.factor, sie);
    for (Index i = 0; i < size; ++i) {
      for (Index k = 0; k < sie.cols(); ++k) projection(k, i) = sie(i, k);
    }
    solve_lower(s.inner, projection);
  }
  Matrix<double> blocks(size, width);
  parallel_for(size / width, [&](Index b) {
    for (Index u = 0; u < width; ++u) {
      for (Index v = 0; v < width; ++v) {
        const Index i = b * width + u;
        const Index j = b * width + v;
        double sum = 0;
        for (Index k = std::max(i, j); k < size; ++k) sum += inverse(k, i) * inverse(k, j);
        for (Index k = 0; k < projection.rows(); ++k) sum -= projection(k, i) * projection(k, j);
        blocks(i, v) = sum;
      }
    }
  });
  return blocks;
}

/// Leave-one-out score at one penalty: with H'_i = I - ridge·C_ii the weighted hat block, leaving out u = min(1, w_i) units
/// of weight gives e_i = (I - u H'_i/w_i)⁻¹ r_i.
PenaltyScore score(const ExactProblem& problem, const Cut& cut, double penalty) {
  const Index n = problem.inputs.rows();
  const Index p = problem.targets.cols();
  const double ridge = penalty * total_weight(problem);
  PenaltyScore result{penalty, 0, std::vector<double>(at(p), 0.0)};
  if (n == 1) return result;  // nothing is left of the rows
  Matrix<double> errors(n, p);
  for (const OutputPiece& piece : cut.pieces) {
    const Dense d = dense_problem(problem, cut, piece);
    const DenseSolution s = solve_dense(d, ridge);
    const Index width = cut.decoupled ? 1 : p;
    const Matrix<double> blocks = projected_inverse_blocks(s, width);
    for (Index i = 0; i < n; ++i) {
      const double w = problem.weights[at(i)];
      const double part = std::min(1.0, w) / w;
      if (cut.decoupled) {
        const double left = 1 - part + part * s.ridge * blocks(i, 0);
        for (Index r = 0; r < s.alpha.cols(); ++r) {
          const double e = left > 0 ? s.ridge * s.alpha(i, r) / std::sqrt(w) / left : unknown_error;
          for (Index a = 0; a < p; ++a) errors(i, a) += piece.directions[at(r)][at(a)] * e;
        }
        continue;
      }
      Matrix<double> system(p, p);
      Matrix<double> rhs(p, 1);
      for (Index a = 0; a < p; ++a) {
        rhs(a, 0) = s.ridge * s.alpha(i * p + a, 0) / std::sqrt(w);
        for (Index b = 0; b < p; ++b) system(a, b) = (a == b ? 1 - part : 0.0) + part * s.ridge * blocks(i * p + a, b);
      }
      const bool known = cholesky(system) < 0;
      if (known) cholesky_solve(system, rhs);
      for (Index a = 0; a < p; ++a) errors(i, a) = known ? rhs(a, 0) : unknown_error;
    }
  }
  for (Index i = 0; i < n; ++i) {
    for (Index a = 0; a < p; ++a) {
      result.per_output[at(a)] += problem.weights[at(i)] * errors(i, a) * errors(i, a) / total_weight(problem);
    }
  }
  for (const double v : result.per_output) result.mean_square += v;
  return result;
}

/// Rows evenly spread over the data, at most `most`.
ExactProblem thinned(const ExactProblem& problem, Index most) {
  const Index n = problem.inputs.rows();
  if (n <= most) return problem;
  ExactProblem part{problem.kernel,
                    Matrix<double>(most, problem.inputs.cols()),
                    Matrix<double>(most, problem.targets.cols()),
                    {},
                    problem.intercept};
  for (Index k = 0; k < most; ++k) {
    const Index i = k * n / most;
    std::ranges::copy(problem.inputs.row(i), part.inputs.row(k).begin());
    std::ranges::copy(problem.targets.row(i), part.targets.row(k).begin());
    part.weights.push_back(problem.weights[at(i)]);
  }
  return part;
}

double choose_penalty(const ExactProblem& problem, PenaltyPath& path, Progress* progress) {
  constexpr Index most_rows = 2500;
  const Index p = problem.targets.cols();
  const ExactProblem part = thinned(problem, is_decomposable(problem.kernel) ? most_rows : most_rows / p);
  const Cut cut = cut_rows(part);
  double trace = 0;
  for (Index i = 0; i < cut.scalar.rows(); ++i) trace += cut.scalar(i, i);
  const double unit = std::pow(10.0, std::round(std::log10(std::max(trace / total_weight(part), 1e-300))));
  constexpr int decades = 14;
  for (int k = 0; k < decades; ++k) {
    report(progress, "choosing the penalty", static_cast<double>(k) / decades);
    path.scores.push_back(score(part, cut, unit * std::pow(10.0, k - decades + 2)));
  }
  find_best(path);
  path.rows = part.inputs.rows();
  path.all_rows = path.rows == problem.inputs.rows();
  return path.scores[path.best].penalty;
}

/// tr(ridge·C), what a column of targets has of its rows beyond the degrees of freedom of function and intercepts:
/// ridge·tr(S⁻¹) - ridge·tr((EᵀS⁻¹E)⁻¹ EᵀS⁻²E). It may be a millionth, which no difference of traces would tell.
double freedom_left(const DenseSolution& s) {
  double trace = inverse_trace(s.factor);
  if (s.se.cols() > 0) {
    Matrix<double> sie = s.se;
    solve_lower_transposed(s.factor, sie);
    Matrix<double> square(sie.cols(), sie.cols());
    accumulate_gram<double>(sie, square);
    mirror_lower(square);
    cholesky_solve(s.inner, square);
    for (Index k = 0; k < square.rows(); ++k) trace -= square(k, k);
  }
  return s.ridge * trace;
}

}  // namespace

ExactSolution solve_exact(const ExactProblem& problem, std::optional<double> penalty, Uncertainty keep, PenaltyPath* path,
                          Progress* progress) {
  const Index n = problem.inputs.rows();
  const Index p = problem.targets.cols();
  ExactSolution solution;
  PenaltyPath local;
  solution.penalty = penalty ? *penalty : choose_penalty(problem, local, progress);
  if (path != nullptr) *path = local;
  report(progress, "solving", 0);
  const Cut cut = cut_rows(problem);
  solution.ridge = solution.penalty * total_weight(problem);
  solution.coefficients = Matrix<double>(n, p);
  solution.intercept.assign(at(p), 0.0);
  const Index parameters = cut.scalar.rows() * static_cast<Index>(cut.pieces.size());
  const bool keep_factors = keep == Uncertainty::full || keep == Uncertainty::samples ||
                            (keep == Uncertainty::automatic && parameters <= full_posterior_limit);
  double left = 0;  // over all outputs
  double used_ridge = solution.ridge;
  Matrix<double> residuals(n, p);
  for (const OutputPiece& piece : cut.pieces) {
    const Dense d = dense_problem(problem, cut, piece);
    DenseSolution s = solve_dense(d, solution.ridge);
    if (!s.note.empty()) solution.note = s.note;
    for (Index i = 0; i < n; ++i) {
      const double root = std::sqrt(problem.weights[at(i)]);
      for (Index a = 0; a < p; ++a) {
        if (!cut.decoupled) {
          solution.coefficients(i, a) = root * s.alpha(i * p + a, 0);
          residuals(i, a) = s.ridge * s.alpha(i * p + a, 0);
          continue;
        }
        for (Index r = 0; r < s.alpha.cols(); ++r) {
          if (piece.gain > 0) solution.coefficients(i, a) += root * piece.directions[at(r)][at(a)] * s.alpha(i, r);
          residuals(i, a) += s.ridge * piece.directions[at(r)][at(a)] * s.alpha(i, r);
        }
      }
    }
    for (Index a = 0; a < (problem.intercept ? p : 0); ++a) {
      if (!cut.decoupled) solution.intercept[at(a)] = s.c(a, 0);
      for (Index r = 0; cut.decoupled && r < s.c.cols(); ++r) {
        solution.intercept[at(a)] += piece.directions[at(r)][at(a)] * s.c(0, r);
      }
    }
    if (piece.gain > 0) used_ridge = std::max(used_ridge, s.ridge);
    left += static_cast<double>(s.alpha.cols()) * freedom_left(s);
    if (keep_factors) solution.factors.push_back(std::move(s.factor));
  }
  solution.ridge = used_ridge;
  const double weight = total_weight(problem);
  left /= static_cast<double>(p);
  solution.degrees_of_freedom = static_cast<double>(n) - left;
  // Weights are numbers of rows; those that add up to less than the rows leave their share of what these would.
  const double rows_left = std::max(weight - static_cast<double>(n) + left, weight / static_cast<double>(n) * left);
  for (Index a = 0; a < p; ++a) {
    double rss = 0;
    for (Index i = 0; i < n; ++i) rss += residuals(i, a) * residuals(i, a);
    solution.noise.push_back(rows_left > 0 ? rss / rows_left : 0);
  }
  return solution;
}

Index factor_count(const OperatorKernel& kernel, Index outputs) {
  if (!is_decomposable(kernel)) return 1;
  return static_cast<Index>(output_pieces(kernel, outputs).size());
}

}  // namespace mercer
