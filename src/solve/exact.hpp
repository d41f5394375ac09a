#pragma once
#include <mercer/kernel.hpp>
#include <mercer/progress.hpp>

#include <optional>
#include <string>
#include <vector>

#include "base/matrix.hpp"
#include "solve/leave_one_out.hpp"
#include "solve/posterior.hpp"

namespace mercer {

/// Exact operator-valued kernel ridge: the baseline that random features approximate. O((n·p)³) time, O((n·p)²) memory; for
/// decomposable kernels O(n³) per distinct eigenvalue of A.
struct ExactProblem {
  OperatorKernel kernel;        ///< resolved
  Matrix<double> inputs;        ///< n × d
  Matrix<double> targets;       ///< n × p
  std::vector<double> weights;  ///< n; rows of weight 0 must have been left out
  bool intercept = true;
};

struct ExactSolution {
  Matrix<double> coefficients;    ///< n × p: f(x) = Σ_i K(x, x_i) α_i + c
  std::vector<double> intercept;  ///< p
  std::vector<double> noise;      ///< p
  double degrees_of_freedom = 0;
  double penalty = 0;
  std::string note;
  // For the spread: L of √W K √W + nλI per distinct eigenvalue of A (decomposable) or for all outputs together, if
  // kept.
  std::vector<Matrix<double>> factors;
  double ridge = 0;  ///< nλ, or more where that was not enough for a factorisation

  bool has_spread() const { return !factors.empty(); }
};

/// Fits at the given penalty, or at the one of least leave-one-out error when there is none (then `path` is filled).
ExactSolution solve_exact(const ExactProblem& problem, std::optional<double> penalty, Uncertainty keep, PenaltyPath* path,
                          Progress* progress);

/// How many factors a kept spread has: the distinct eigenvalues of A, or 1.
Index factor_count(const OperatorKernel& kernel, Index outputs);

/// Mean of f at rows x (rows × p), in blocks of rows; never an (n·p)² matrix.
void predict_exact(const ExactProblem& problem, const ExactSolution& solution, ConstMatrix x, MutMatrix mean);
/// Var f_a(x_i)/σ²_a.
void variance_exact(const ExactProblem& problem, const ExactSolution& solution, ConstMatrix x, MutMatrix variance);
/// Cov(f_a(x_i), f_a(x_j))/σ²_a of output a, rows × rows. O(n² rows) for each piece of the outputs.
void covariance_exact(const ExactProblem& problem, const ExactSolution& solution, ConstMatrix x, Index output,
                      MutMatrix covariance);

}  // namespace mercer
