#include "model/fit_process.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "gp/exact_likelihood.hpp"
#include "gp/initial_mixture.hpp"
#include "gp/lbfgs.hpp"
#include "gp/spectral_training.hpp"
#include "gp/vfe.hpp"
#include "map/anchor_map.hpp"
#include "model/fit_ridge.hpp"
#include "model/fit_spectral.hpp"
#include "model/process_text.hpp"
#include "model/words.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

Gathered gather(RowSource& rows, Index most_bytes) {
  const Index n = rows.row_count();
  const double bytes = 8.0 * static_cast<double>(n) * static_cast<double>(rows.input_count() + 2 * rows.target_count());
  if (bytes > static_cast<double>(most_bytes)) {
    fail_argument("the rows of a Gaussian process stay in memory: they need " + human_bytes(bytes) +
                  ", more than the budget; raise --memory");
  }
  Gathered all{Matrix<double>(n, rows.input_count()), Matrix<double>(n, rows.target_count())};
  RowBlock block;
  rows.rewind();
  while (rows.next(4096, block)) {
    if (!block.weights.empty() && std::ranges::any_of(block.weights, [](double w) { return w != 1; }))
      fail_argument("row weights do not go with --gp; repeat rows instead");
    for (Index i = 0; i < block.rows(); ++i) {
      std::ranges::copy(block.inputs.row(i), all.x.row(block.first_row + i).begin());
      std::ranges::copy(block.targets.row(i), all.y.row(block.first_row + i).begin());
    }
  }
  return all;
}

/// The scalar kernel whose parameters are learned, with a factor of its own, near the data where it was left open.
Kernel initial_kernel(const Gathered& rows, const ProcessPlan& plan, const Model::State& state, const Stream& stream,
                      double& noise) {
  noise = 0.1;
  if (plan.mixture_kernel) {
    const SpectralParameters start = initial_parameters(rows.x, rows.y, plan, stream, 0);
    noise = start.noise;
    return to_kernel(start.mixture);
  }
  return with_amplitudes(one_scalar_kernel(state.recipe.kernel));
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

/// Minimises from `start` and from starts around it; the coordinates of the least value.
template <class Likelihood>
std::vector<double> learn(Likelihood& objective, const std::vector<double>& start, const FitOptions& options,
                          const Stream& stream, Model::State& state) {
  std::vector<double> best;
  double least = 0;
  FitSummary& summary = state.summary;
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
    if (best.empty() || result.value < least) {
      best = position;
      least = result.value;
      summary.iterations = result.iterations;
      state.training = std::move(trace);
    }
  }
  if (!std::isfinite(least))
    fail_argument("the likelihood of these rows is not defined; are the targets huge or all equal?");
  summary.solver = "lbfgs";
  std::vector<double> idle(best.size());
  summary.nlml = objective.evaluate(best, idle);  // leaves the mean of the best in the objective
  return best;
}

/// The slopes of the mean; its constant is the intercept of the solvers.
void set_trend(const Matrix<double>& mean, Model::State& state) {
  if (mean.rows() > 1) state.trend = Matrix<double>(mean.view().row_range(1, mean.rows() - 1));
}

Matrix<double> without_trend(const Gathered& rows, const Matrix<double>& trend) {
  Matrix<double> y(rows.y);
  if (!trend.empty()) gemm<double>(false, false, -1.0, rows.x, trend, 1.0, y);
  return y;
}

/// Kernel, mean and noise are known: what remains is ridge with λ = v/n, on the kernel or on the features of state.map.
void condition_ridge(const Matrix<double>& x, const Matrix<double>& targets, double noise, const FitOptions& options,
                     Model::State& state) {
  FitOptions known = options;
  known.penalty = noise / static_cast<double>(x.rows());
  known.uncertainty = "full";
  ArrayRows source(x, targets);
  const FitSummary before = state.summary;
  if (state.map) {
    fit_direct(source, state.recipe, known, "cholesky", state);
  } else {
    fit_exact(source, state.recipe, known, state);
  }
  if (!std::isfinite(state.summary.degrees_of_freedom)) state.summary.degrees_of_freedom = 0;
  state.summary.solver = before.solver;
  state.summary.iterations = before.iterations;
  state.noise.assign(at(state.recipe.outputs()), noise);
}

void fit_exact_process(const Gathered& rows, const ProcessPlan& plan, const FitOptions& options, Model::State& state) {
  const double n = static_cast<double>(rows.x.rows());
  if (32 * n * n > static_cast<double>(options.memory_bytes)) {
    fail_argument("an exact process of " + human_count(n) + " rows needs " + human_bytes(32 * n * n) +
                  ", more than the budget; use --gp spectral_mixture or --gp vfe, or raise --memory");
  }
  const Stream stream(options.seed, "process");
  double noise = 0;
  const Kernel start = initial_kernel(rows, plan, state, stream, noise);
  ExactLikelihood likelihood(start, rows.x, rows.y, plan.mean);
  const std::vector<double> best =
      learn(likelihood, best_start(likelihood, likelihood.start(start, noise)), options, stream, state);
  const Kernel kernel = likelihood.kernel(best);
  state.recipe.kernel = {{{1.0, Decomposable{kernel, IdentityOutputs{}}}}};
  state.summary.process = "exact";
  set_trend(likelihood.mean_coefficients(), state);
  condition_ridge(rows.x, without_trend(rows, state.trend), likelihood.noise(best), options, state);
}

/// Nyström features of given inducing inputs: φ(x) = D^{-1/2}Uᵀk(Z, x) with k(Z, Z) = UDUᵀ.
std::shared_ptr<const FeatureMap> inducing_map(const Recipe& recipe, Matrix<double> z) {
  std::vector<Index> all(at(z.rows()));
  std::iota(all.begin(), all.end(), Index{0});
  const Sketch every = selection_sketch(all, std::vector<double>(all.size(), 1.0));
  AnchorParts parts = make_parts(one_scalar_kernel(recipe.kernel), std::move(z), every, SketchLaw::nystrom);
  return std::make_shared<AnchorMap>(recipe.kernel, recipe.inputs(), recipe.outputs(), std::move(parts));
}

void fit_variational(const Gathered& rows, const ProcessPlan& plan, const FitOptions& options, Model::State& state) {
  const Stream stream(options.seed, "process");
  double noise = 0;
  const Kernel start = initial_kernel(rows, plan, state, stream, noise);
  const std::vector<Index> chosen = choose_inducing(rows.x, plan.inducing, stream.child("inducing"));
  Matrix<double> z(static_cast<Index>(chosen.size()), rows.x.cols());
  for (std::size_t k = 0; k < chosen.size(); ++k)
    std::ranges::copy(rows.x.row(chosen[k]), z.row(static_cast<Index>(k)).begin());
  VariationalBound bound(start, rows.x, rows.y, plan.mean, std::move(z), VariationalBound::Inducing::learned);
  const std::vector<double> best = learn(bound, best_start(bound, bound.start(start, noise)), options, stream, state);
  const Kernel kernel = bound.kernel(best);
  state.recipe.kernel = {{{1.0, Decomposable{kernel, IdentityOutputs{}}}}};
  state.summary.process = "vfe";
  set_trend(bound.mean_coefficients(), state);
  state.map = inducing_map(state.recipe, bound.inducing(best));
  state.completes_prior = true;
  condition_ridge(rows.x, without_trend(rows, state.trend), bound.noise(best), options, state);
}

void refuse_constant_targets(const Matrix<double>& y, const FitOptions& options) {
  for (Index a = 0; a < y.cols() && y.rows() > 1; ++a) {
    bool varies = false;
    for (Index i = 1; i < y.rows(); ++i) varies = varies || y(i, a) != y(0, a);
    if (varies) continue;
    const std::string name = at(a) < options.target_names.size() ? " " + mercer::quoted(options.target_names[at(a)]) : "";
    fail_argument("the target" + name + " has the same value in every row: a Gaussian process has nothing to learn from it");
  }
}

}  // namespace

void fit_process(RowSource& rows, const FitOptions& options, Model::State& state) {
  const ProcessPlan plan = process_plan(options);
  const Stopwatch watch;
  const Gathered all = gather(rows, options.memory_bytes / 2);
  refuse_constant_targets(all.y, options);
  if (all.x.rows() < 2) fail_argument("a Gaussian process needs at least 2 rows, got " + std::to_string(all.x.rows()));
  switch (plan.kind) {
    case ProcessKind::spectral_mixture:
      fit_spectral(all, plan, options, state);
      break;
    case ProcessKind::exact:
      fit_exact_process(all, plan, options, state);
      break;
    case ProcessKind::variational:
      fit_variational(all, plan, options, state);
      break;
  }
  FitSummary& summary = state.summary;
  summary.rows = all.x.rows();
  summary.weight = static_cast<double>(all.x.rows());
  summary.kernel = to_string(state.recipe.kernel);
  summary.seconds["train"] = watch.seconds();
}

Model conditioned_on(const Model& model, RowSource& raw_rows, Index memory_bytes, Progress* progress) {
  auto state = std::make_shared<Model::State>(model.state());
  ScaledRows rows(raw_rows, state->recipe.scaling, state->coding);
  const Gathered all = gather(rows, memory_bytes / 2);
  state->summary.rows = all.x.rows();
  if (state->spectral.empty()) {
    FitOptions options;
    options.memory_bytes = memory_bytes;
    options.progress = progress;
    condition_ridge(all.x, without_trend(all, state->trend), state->noise.front(), options, *state);
    return Model(std::move(state));
  }
  Index first = 0;
  for (SpectralPart& part : state->spectral) {
    const Index outputs = part.posterior.outputs();
    part.posterior =
        part.posterior.conditioned_on(all.x, Matrix<double>(all.y.view().col_range(first, outputs)), memory_bytes / 4);
    first += outputs;
  }
  return Model(std::move(state));
}

}  // namespace mercer
