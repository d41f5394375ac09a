#include "solve/conjugate_gradient.hpp"

#include <algorithm>
#include <cmath>

#include "base/fail.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "solve/block_cg.hpp"
#include "solve/row_operator.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// P = (γ/share) ZᵀZ + ridge·I from sampled rows Z, which carry `share` of the weight of all. With ZZᵀ = EᵀDE:
/// P⁻¹r = (r - ZᵀEᵀ (D + c_γ)⁻¹ E Z r)/ridge, c_γ = ridge·share/γ.
class SampledPreconditioner {
 public:
  SampledPreconditioner(Matrix<double> z, double share, double ridge) : z_(std::move(z)), ridge_(ridge), share_(share) {
    Matrix<double> inner(z_.rows(), z_.rows());
    gemm<double>(false, true, 1.0, z_, z_, 0.0, inner);
    eigen_ = eigh(inner);
  }

  void apply(const std::vector<double>& gain, ConstMatrix r, MutMatrix out) const {
    Matrix<double> t(z_.rows(), r.cols);
    gemm<double>(false, false, 1.0, z_, r, 0.0, t);
    Matrix<double> rotated(t.rows(), t.cols());
    gemm<double>(false, false, 1.0, eigen_.vectors, t, 0.0, rotated);
    for (Index k = 0; k < rotated.rows(); ++k) {
      for (Index s = 0; s < rotated.cols(); ++s) {
        rotated(k, s) /= std::max(0.0, eigen_.values[at(k)]) + ridge_ * share_ / gain[at(s)];
      }
    }
    gemm<double>(true, false, 1.0, eigen_.vectors, rotated, 0.0, t);
    for (Index i = 0; i < r.rows; ++i) std::ranges::copy(r.row(i), out.row(i).begin());
    gemm<double>(true, false, -1 / ridge_, z_, t, 1 / ridge_, out);
  }

 private:
  Matrix<double> z_;
  double ridge_;
  double share_;
  Eigen eigen_;
};

template <class Real>
RidgeSolution solve_in(const FeatureMap& map, RowSource& rows, const IterativeOptions& options, Progress* progress) {
  constexpr Index sampled_rows = 1500;
  constexpr Index probes = 8;
  if (!(options.penalty > 0)) fail_argument("the cg solver needs a penalty above 0");
  const Index p = map.outputs();
  const bool keep = resolve(options.keep, full_posterior_limit + 1) != Uncertainty::none;
  RowOperator<Real> op(map, rows, options.intercept, options.memory_bytes, p * (1 + (keep ? posterior_samples : probes)),
                       progress);
  const NormalSystem& system = op.system();
  const Coupling& coupling = op.coupling();
  const bool constant = coupling.is_constant();
  const double ridge = options.penalty * system.weight;

  // Columns: the systems to solve, then random ones whose solutions are draws of the posterior.
  Matrix<double> rhs;
  std::vector<double> gain{1.0};
  std::vector<std::vector<Index>> runs{{0}};
  Matrix<double> factor;
  if (constant) {
    Channels ch = channels(system);
    runs = equal_gain_runs(ch);
    rhs = std::move(ch.rhs);
    gain = std::move(ch.gain);
    factor = std::move(ch.factor);
  } else {
    rhs = Matrix<double>(coupling.parameters(), 1);
    coupling.contract(system.cross, rhs.values());
  }
  const Index solves = rhs.cols();
  struct Draw {
    Index channel;
    double systems;  ///< how many systems it stands for: those of equal gain have equal traces
  };
  std::vector<Draw> plan;
  for (Index s = 0; s < (keep ? posterior_samples : probes); ++s) {
    for (Index j = 0; keep && j < solves; ++j) plan.push_back({j, 1.0 / posterior_samples});
    for (const auto& run : runs) {
      if (!keep) plan.push_back({run.front(), static_cast<double>(run.size()) / probes});
    }
  }
  const auto draws = static_cast<Index>(plan.size());
  Matrix<double> noise(rhs.rows(), draws);
  op.random_rhs("posterior rows", noise);
  const Stream prior(0, "posterior prior");
  Matrix<double> all(rhs.rows(), solves + draws);
  for (Index i = 0; i < all.rows(); ++i) {
    for (Index k = 0; k < solves; ++k) all(i, k) = rhs(i, k);
    for (Index d = 0; d < draws; ++d) {
      // Cov(√γ Σ√wΦε + √ridge η) = γA + ridge·I = M, so M⁻¹ of it is a draw of N(0, M⁻¹).
      const double g = gain[at(plan[at(d)].channel)];
      all(i, solves + d) = std::sqrt(g) * noise(i, d) +
                           std::sqrt(ridge) * prior.normal(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(d));
    }
  }
  for (const Draw& draw : plan) gain.push_back(gain[at(draw.channel)]);

  double sampled_weight = 0;
  Matrix<double> sampled = op.sample_rows(sampled_rows, sampled_weight);
  const SampledPreconditioner preconditioner(std::move(sampled), sampled_weight > 0 ? sampled_weight / system.weight : 1.0,
                                             ridge);
  Matrix<double> x(all.rows(), all.cols());
  const auto apply = [&](ConstMatrix v, MutMatrix out) {
    op.apply(v, out);
    for (Index i = 0; i < out.rows; ++i) {
      for (Index k = 0; k < out.cols; ++k) out(i, k) = gain[at(k)] * out(i, k) + ridge * v(i, k);
    }
  };
  const auto precondition = [&](ConstMatrix r, MutMatrix z) { preconditioner.apply(gain, r, z); };
  const BlockCgOutcome outcome = block_cg(
      apply, precondition, all, x, {.tolerance = options.tolerance, .most_iterations = options.most_iterations}, progress);

  RidgeSolution solution;
  solution.solver = "cg";
  solution.iterations = outcome.iterations;
  solution.residual = outcome.residual;
  if (!(outcome.residual <= 10 * options.tolerance)) {
    solution.note =
        "conjugate gradients stopped at a relative residual of " + shortest(outcome.residual) +
        (outcome.rounding ? std::string(", the limit of ") + (sizeof(Real) == sizeof(float) ? "float32" : "float64")
                          : " after " + std::to_string(outcome.iterations) + " iterations");
  }
  solution.weights = Matrix<double>(map.columns(), p);
  const MatrixView<double> main = x.view().col_range(0, solves);
  if (constant) {
    gemm<double>(false, true, 1.0, main, factor, 0.0, solution.weights);
  } else {
    std::vector<double> theta(at(x.rows()));
    for (Index i = 0; i < x.rows(); ++i) theta[at(i)] = x(i, 0);
    coupling.expand(theta, solution.weights);
  }
  double inverse_trace = 0;  // Σ over systems of tr(M⁻¹) = E‖draw‖²
  for (Index d = 0; d < draws; ++d) {
    for (Index i = 0; i < x.rows(); ++i) inverse_trace += plan[at(d)].systems * x(i, solves + d) * x(i, solves + d);
  }
  finish(system, column_dots(solution.weights, op.gram_times(solution.weights)),
         static_cast<double>(solves * x.rows()) - ridge * inverse_trace, solution);
  if (!keep) return solution;
  Posterior& posterior = solution.posterior;
  posterior.kind = Posterior::Kind::samples;
  posterior.ridge = ridge;
  posterior.mean_feature = system.mean_feature;
  posterior.intercept_variance = system.intercept ? 1 / system.weight : 0;
  posterior.factor = Matrix<double>(posterior_samples * p, map.columns());
  Matrix<double> w(map.columns(), p);
  std::vector<double> theta(at(x.rows()));
  for (Index s = 0; s < posterior_samples; ++s) {
    if (constant) {
      gemm<double>(false, true, 1.0, x.view().col_range(solves + s * solves, solves), factor, 0.0, w);
    } else {
      for (Index i = 0; i < x.rows(); ++i) theta[at(i)] = x(i, solves + s);
      coupling.expand(theta, w);
    }
    posterior.set_draw(s, w);
  }
  return solution;
}

}  // namespace

RidgeSolution solve_conjugate_gradient(const FeatureMap& map, RowSource& rows, Precision precision,
                                       const IterativeOptions& options, Progress* progress) {
  return precision == Precision::single_ ? solve_in<float>(map, rows, options, progress)
                                         : solve_in<double>(map, rows, options, progress);
}

}  // namespace mercer
