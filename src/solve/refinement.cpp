#include "solve/refinement.hpp"

#include <cmath>
#include <memory>

#include "solve/low_gram.hpp"
#include "solve/row_operator.hpp"
#include "solve/shifted_factor.hpp"
#include "solve/trace.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

/// (γ_k A + ridge) x_k = rhs_k, their preconditioner, and the trace of the hat matrix it implies.
struct Refinement::Systems {
  Matrix<double> rhs;
  std::vector<double> gain;
  Matrix<double> output_factor;  ///< B of constant couplings
  BlockOperator precondition;
  double trace = 0;
};

Refinement::Refinement(const FeatureMap& map, RowSource& rows, bool intercept, Precision precision, Progress* progress)
    : progress_(progress) {
  const auto open = [&]<class Real>(Real) {
    LowGram low(map.columns(), RowOperator<Real>::most_block_rows);
    const auto op = std::make_shared<RowOperator<Real>>(map, rows, intercept, 0, map.outputs(), progress, &low);
    system_ = op->system();
    low.move_into(system_);
    apply_ = [op](ConstMatrix v, MutMatrix out) { op->apply(v, out); };
    gram_times_ = [op](ConstMatrix w) { return op->gram_times(w); };
  };
  if (precision == Precision::single_) {
    open(float{});
  } else {
    open(double{});
  }
}

Refinement::Systems Refinement::prepare(double ridge) const {
  const Coupling& coupling = *system_.coupling;
  Systems s;
  const auto by_cholesky = [&](ConstMatrix a, double scale, double copies) {
    const auto factor = std::make_shared<const Matrix<double>>(factor_shifted(a, scale, ridge, Shift::coarse).factor);
    s.trace = copies * (static_cast<double>(a.rows) - ridge * inverse_trace(*factor));
    s.precondition = [factor](ConstMatrix r, MutMatrix z) {
      for (Index i = 0; i < r.rows; ++i) std::ranges::copy(r.row(i), z.row(i).begin());
      cholesky_solve(*factor, z);
    };
  };
  if (!coupling.is_constant()) {
    s.rhs = Matrix<double>(coupling.parameters(), 1);
    coupling.contract(system_.cross, s.rhs.values());
    s.gain = {1.0};
    by_cholesky(coupling.normal_matrix(system_.gram), 1.0, 1.0);
    return s;
  }
  Channels ch = channels(system_);
  const bool one_gain = equal_gain_runs(ch).size() <= 1;
  s.rhs = std::move(ch.rhs);
  s.gain = std::move(ch.gain);
  s.output_factor = std::move(ch.factor);
  if (one_gain) {
    by_cholesky(system_.gram, s.gain.empty() ? 1.0 : s.gain.front(), static_cast<double>(s.gain.size()));
    return s;
  }
  // Several gains share one eigenbasis: γ_k U Λ Uᵀ + ridge.
  const auto eigen = std::make_shared<const Eigen>(eigh(system_.gram));
  for (const double gain : s.gain) {
    for (const double value : eigen->values) s.trace += gain * std::max(value, 0.0) / (gain * std::max(value, 0.0) + ridge);
  }
  s.precondition = [eigen, gain = s.gain, ridge](ConstMatrix r, MutMatrix z) {
    Matrix<double> rotated(r.rows, r.cols);
    gemm<double>(false, false, 1.0, eigen->vectors, r, 0.0, rotated);
    for (Index i = 0; i < rotated.rows(); ++i) {
      for (Index k = 0; k < rotated.cols(); ++k) rotated(i, k) /= gain[at(k)] * std::max(eigen->values[at(i)], 0.0) + ridge;
    }
    gemm<double>(true, false, 1.0, eigen->vectors, rotated, 0.0, z);
  };
  return s;
}

int Refinement::faithful_iterations(double tolerance) {
  return static_cast<int>(-0.7 * std::log10(tolerance) + 1e-9);
}

int Refinement::choosing_iterations(double tolerance) {
  return static_cast<int>(-0.5 * std::log10(tolerance) + 1e-9);
}

RidgeSolution Refinement::solve(double penalty, double tolerance, int iterations) {
  const Coupling& coupling = *system_.coupling;
  const double ridge = penalty * system_.weight;
  const Systems systems = prepare(ridge);
  const auto apply = [&](ConstMatrix v, MutMatrix out) {
    apply_(v, out);
    for (Index i = 0; i < out.rows; ++i) {
      for (Index k = 0; k < out.cols; ++k) out(i, k) = systems.gain[at(k)] * out(i, k) + ridge * v(i, k);
    }
  };
  Matrix<double> theta(systems.rhs.rows(), systems.rhs.cols());
  BlockCgOutcome outcome = block_cg(apply, systems.precondition, systems.rhs, theta, {tolerance, iterations}, progress_);
  RidgeSolution solution;
  solution.solver = "refined";
  solution.gram = std::string("bf16 (") + to_string(active_bfloat()) + ")";
  solution.iterations = outcome.iterations;
  solution.residual = outcome.residual;
  solution.weights = Matrix<double>(coupling.columns(), coupling.outputs());
  if (!coupling.is_constant()) {
    coupling.expand(theta.values(), solution.weights);
    finish(system_, gram_times_(solution.weights), systems.trace, solution);
    return solution;
  }
  gemm<double>(false, true, 1.0, theta, systems.output_factor, 0.0, solution.weights);
  // The last application of the operator gave γGθ + ridge·θ: G W = Gθ Bᵀ needs no further pass.
  for (Index i = 0; i < theta.rows(); ++i) {
    for (Index k = 0; k < theta.cols(); ++k) theta(i, k) = (outcome.image(i, k) - ridge * theta(i, k)) / systems.gain[at(k)];
  }
  Matrix<double> gram_weights(coupling.columns(), coupling.outputs());
  gemm<double>(false, true, 1.0, theta, systems.output_factor, 0.0, gram_weights);
  finish(system_, gram_weights, systems.trace, solution);
  return solution;
}

}  // namespace mercer
