#include "model/fit_kernel_process.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "gp/exact_likelihood.hpp"
#include "gp/lbfgs.hpp"
#include "gp/vfe.hpp"
#include "map/anchor_map.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

struct Start {
  Kernel kernel;
  double noise = 0.1;
};

/// The scalar kernel whose parameters are learned, with a factor of its own, near the data where it was left open.
Start start_of(const Gathered& rows, const ProcessPlan& plan, const OperatorKernel& asked, const Stream& stream) {
  if (!plan.mixture_kernel) {
    if (!has_one_scalar_kernel(asked)) {
      fail_argument(
          "a Gaussian process learns a scalar kernel; curl_free and other kernels of vector fields are for ridge, without "
          "--gp");
    }
    return {with_amplitudes(one_scalar_kernel(asked))};
  }
  const SpectralParameters start = initial_parameters(rows.x, rows.y, plan, stream, 0);
  return {to_kernel(start.mixture), start.noise};
}

/// Of the start and of starts with shorter length scales, the one of least value: from far too long ones a likelihood often
/// leads to a flat function and noise. One evaluation each.
template <class Likelihood>
std::vector<double> best_start(Likelihood& objective, const std::vector<double>& start) {
  std::vector<double> best = start;
  std::vector<double> idle(start.size());
  double least = objective.evaluate(start, idle);
  const std::vector<std::string>& names = objective.kernel_coordinates().names();
  for (const double shorter : {1.0, 2.0, 3.0, 4.0}) {
    std::vector<double> position = start;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].find("length_scale") != std::string::npos) position[i] -= shorter;
    }
    const double value = objective.evaluate(position, idle);
    if (!(value < least)) continue;
    least = value;
    best = position;
  }
  return best;
}

struct Learned {
  std::vector<double> at;  ///< coordinates
  double nlml = 0;
  int iterations = 0;
  std::vector<TrainingStep> trace;
};

/// Minimises from `start` and from starts around it; keeps the least value.
template <class Likelihood>
Learned learn(Likelihood& objective, const std::vector<double>& start, const FitOptions& options, const Stream& stream) {
  Learned best;
  for (int restart = 0; restart < options.gp.restarts; ++restart) {
    std::vector<double> position = start;
    const Stream jitter = stream.child("restart", static_cast<std::uint64_t>(restart));
    for (std::size_t i = 0; restart > 0 && i < position.size(); ++i) position[i] += 0.7 * jitter.normal(i, 0);
    const Stopwatch watch;
    const double missing = std::numeric_limits<double>::quiet_NaN();
    std::vector<TrainingStep> trace;
    LbfgsOptions lbfgs;
    lbfgs.max_iterations = options.gp.steps > 0 ? options.gp.steps : lbfgs_steps;
    lbfgs.value_tolerance = 1e-8;
    lbfgs.on_iteration = [&](int iteration, double value, std::span<const double>) {
      report(options.progress, "training", static_cast<double>(iteration) / lbfgs.max_iterations);
      trace.push_back({iteration, watch.seconds(), value, value, missing, missing});
      return true;
    };
    const LbfgsResult result = minimize_lbfgs(objective, position, lbfgs);
    if (best.at.empty() || result.value < best.nlml) best = {position, result.value, result.iterations, std::move(trace)};
  }
  if (!std::isfinite(best.nlml))
    fail_argument("the likelihood of these rows is not defined; are the targets huge or all equal?");
  return best;
}

KernelPosterior fit_exact_part(const Gathered& rows, const Start& start, MeanForm mean, const FitOptions& options,
                               const Stream& stream, Learned& learned) {
  ExactLikelihood likelihood(start.kernel, rows.x, rows.y, mean);
  learned = learn(likelihood, best_start(likelihood, likelihood.start(start.kernel, start.noise)), options, stream);
  return likelihood.posterior(likelihood.kernel(learned.at), likelihood.noise(learned.at));
}

KernelPosterior fit_variational_part(const Gathered& rows, const Start& start, const ProcessPlan& plan,
                                     const FitOptions& options, const Stream& stream, Learned& learned) {
  const std::vector<Index> chosen = choose_inducing(rows.x, plan.inducing, stream.child("inducing"));
  Matrix<double> z(static_cast<Index>(chosen.size()), rows.x.cols());
  for (std::size_t k = 0; k < chosen.size(); ++k)
    std::ranges::copy(rows.x.row(chosen[k]), z.row(static_cast<Index>(k)).begin());
  VariationalBound bound(start.kernel, rows.x, rows.y, plan.mean, std::move(z), VariationalBound::Inducing::learned);
  learned = learn(bound, best_start(bound, bound.start(start.kernel, start.noise)), options, stream);
  return bound.posterior(bound.kernel(learned.at), bound.noise(learned.at), bound.inducing(learned.at));
}

/// Σ_a decomposable(k_a, E_aa) over kernels of one output each; k·I for one of all.
OperatorKernel kernel_of(const std::vector<KernelPosterior>& parts) {
  OperatorKernel kernel;
  for (std::size_t a = 0; a < parts.size(); ++a) {
    Decomposable form{parts[a].parts().kernel, IdentityOutputs{}};
    if (parts.size() > 1) {
      GivenOutputs own{std::vector(parts.size(), std::vector<double>(parts.size(), 0.0))};
      own.matrix[a][a] = 1;
      form.outputs = std::move(own);
    }
    kernel.terms.push_back({1.0, std::move(form)});
  }
  return kernel;
}

void check_memory(double rows, double parts, const FitOptions& options) {
  const double bytes = (24 + 8 * parts) * rows * rows;  // matrices of the likelihood, and the factor of each part
  if (bytes <= static_cast<double>(options.memory_bytes)) return;
  fail_argument("an exact process of " + human_count(rows) + " rows needs " + human_bytes(bytes) +
                ", more than the budget; use --gp spectral_mixture or --gp vfe, or raise --memory");
}

}  // namespace

void fit_kernel_process(const Gathered& rows, const ProcessPlan& plan, const FitOptions& options, Model::State& state) {
  const bool exact = plan.kind == ProcessKind::exact;
  const Index p = rows.y.cols();
  const Index width = options.gp.outputs == "shared" ? p : 1;
  if (exact) check_memory(static_cast<double>(rows.x.rows()), static_cast<double>(p / width), options);
  const Stream stream(options.seed, "process");
  FitSummary& summary = state.summary;
  summary.nlml = 0;
  state.noise.clear();
  for (Index first = 0; first < p; first += width) {
    const Gathered own{rows.x, Matrix<double>(rows.y.view().col_range(first, width))};
    const Start start = start_of(own, plan, state.recipe.kernel, stream);
    Learned learned;
    state.kernel_processes.push_back(exact ? fit_exact_part(own, start, plan.mean, options, stream, learned)
                                           : fit_variational_part(own, start, plan, options, stream, learned));
    const KernelPosterior& part = state.kernel_processes.back();
    state.noise.insert(state.noise.end(), at(width), part.noise());
    state.training.push_back(std::move(learned.trace));
    *summary.nlml += learned.nlml;
    summary.iterations += learned.iterations;
    summary.parameters += part.anchors() * width;
  }
  summary.process = exact ? "exact" : "vfe";
  summary.solver = "lbfgs";
  summary.features = state.kernel_processes.front().anchors();
  if (!exact) summary.anchors = summary.features;
  state.recipe.kernel = kernel_of(state.kernel_processes);
}

}  // namespace mercer
