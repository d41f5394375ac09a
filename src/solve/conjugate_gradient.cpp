#include "solve/conjugate_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
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

std::vector<double> column_dots(ConstMatrix a, ConstMatrix b) {
  std::vector<double> dots(at(a.cols), 0.0);
  for (Index i = 0; i < a.rows; ++i) {
    for (Index k = 0; k < a.cols; ++k) dots[at(k)] += a(i, k) * b(i, k);
  }
  return dots;
}

struct CgOutcome {
  int iterations = 0;
  double residual = 0;
  bool rounding = false;  ///< the passes are not precise enough for more
};

/// max_k ‖r_k‖/‖b_k‖.
double largest_ratio(ConstMatrix r, const std::vector<double>& bb) {
  const std::vector<double> rr = column_dots(r, r);
  double ratio = 0;
  for (std::size_t k = 0; k < rr.size(); ++k) {
    if (bb[k] > 0) ratio = std::max(ratio, std::sqrt(rr[k] / bb[k]));
  }
  return ratio;
}

/// Independent systems (γ_k A + ridge) x_k = b_k side by side, one pass over the rows per iteration for all of them.
/// The residual of the recurrence and the true one drift apart by the rounding of the passes. The true one is looked at
/// every `check_every` iterations: when it lags far behind without falling, precision is exhausted. Where the recurrence
/// claims to be done and is not, iterations start again from the truth.
template <class Real>
CgOutcome run_cg(RowOperator<Real>& op, const SampledPreconditioner& preconditioner, const std::vector<double>& gain,
                 double ridge, ConstMatrix b, MutMatrix x, const IterativeOptions& options, Progress* progress) {
  constexpr int check_every = 25;
  const auto apply = [&](ConstMatrix v, MutMatrix out) {
    op.apply(v, out);
    for (Index i = 0; i < out.rows; ++i) {
      for (Index k = 0; k < out.cols; ++k) out(i, k) = gain[at(k)] * out(i, k) + ridge * v(i, k);
    }
  };
  Matrix<double> r{b};
  Matrix<double> z(b.rows, b.cols);
  preconditioner.apply(gain, r, z);
  Matrix<double> direction = z;
  Matrix<double> image(b.rows, b.cols);
  std::vector<double> rz = column_dots(r, z);
  const std::vector<double> bb = column_dots(b, b);
  CgOutcome outcome;
  double last_true = std::numeric_limits<double>::infinity();
  for (;; ++outcome.iterations) {
    outcome.residual = largest_ratio(r, bb);
    report(progress, "conjugate gradients",
           outcome.residual < 1 ? std::log(std::max(outcome.residual, 1e-300)) / std::log(options.tolerance) : 0.0);
    const bool claims_done = outcome.residual <= options.tolerance;
    const bool last = outcome.iterations >= options.most_iterations;
    if (outcome.iterations > 0 && (claims_done || last || outcome.iterations % check_every == 0)) {
      const double claimed = outcome.residual;
      apply(x, image);
      for (Index i = 0; i < b.rows; ++i) {
        for (Index k = 0; k < b.cols; ++k) image(i, k) = b(i, k) - image(i, k);
      }
      outcome.residual = largest_ratio(image, bb);
      outcome.rounding = outcome.residual > 2 * claimed && outcome.residual > 0.5 * last_true;
      last_true = outcome.residual;
      if (outcome.residual <= options.tolerance || outcome.rounding || last) break;
      if (claims_done) {
        r = image;
        preconditioner.apply(gain, r, z);
        direction = z;
        rz = column_dots(r, z);
      }
    }
    apply(direction, image);
    const std::vector<double> curvature = column_dots(direction, image);
    std::vector<double> step(curvature.size(), 0.0);
    for (std::size_t k = 0; k < step.size(); ++k) step[k] = curvature[k] > 0 ? rz[k] / curvature[k] : 0.0;
    for (Index i = 0; i < b.rows; ++i) {
      for (Index k = 0; k < b.cols; ++k) {
        x(i, k) += step[at(k)] * direction(i, k);
        r(i, k) -= step[at(k)] * image(i, k);
      }
    }
    preconditioner.apply(gain, r, z);
    const std::vector<double> next = column_dots(r, z);
    for (Index i = 0; i < b.rows; ++i) {
      for (Index k = 0; k < b.cols; ++k) {
        direction(i, k) = z(i, k) + (rz[at(k)] > 0 ? next[at(k)] / rz[at(k)] : 0.0) * direction(i, k);
      }
    }
    rz = next;
  }
  return outcome;
}

template <class Real>
RidgeSolution solve_in(const FeatureMap& map, RowSource& rows, const IterativeOptions& options, Progress* progress) {
  constexpr Index sampled_rows = 1500;
  constexpr Index probes = 8;
  if (!(options.penalty > 0)) fail_argument("the cg solver needs a penalty above 0");
  RowOperator<Real> op(map, rows, options.intercept, options.memory_bytes, progress);
  const NormalSystem& system = op.system();
  const Coupling& coupling = op.coupling();
  const bool constant = coupling.is_constant();
  const double ridge = options.penalty * system.weight;
  const Index p = coupling.outputs();

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
  const bool keep = resolve(options.keep, full_posterior_limit + 1) != Uncertainty::none;
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
  const CgOutcome outcome = run_cg(op, preconditioner, gain, ridge, all, x, options, progress);

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
  finish(system, op.gram_times(solution.weights), static_cast<double>(solves * x.rows()) - ridge * inverse_trace, solution);
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
