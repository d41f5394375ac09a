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
#include "model/process_text.hpp"
#include "model/words.hpp"

namespace mercer {
namespace {

constexpr int adam_steps = 300;
constexpr int lbfgs_steps = 200;
constexpr int patience = 50;  // steps without a better validation score

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// All rows, in scaled units.
struct Gathered {
  Matrix<double> x;
  Matrix<double> y;
};

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

/// Coefficients of the mean by ordinary least squares, where the training of the mean starts.
Matrix<double> initial_mean(MeanForm form, ConstMatrix x, ConstMatrix y) {
  const MeanBasis basis(form, x);
  Matrix<double> weights(basis.columns().cols(), y.cols);
  if (weights.rows() > 0) gemm<double>(true, false, 1.0, basis.columns(), y, 0.0, weights);
  return basis.coefficients(weights);
}

/// rᵀr/n.
Matrix<double> covariance_of(const Matrix<double>& residuals) {
  Matrix<double> covariance(residuals.cols(), residuals.cols());
  gemm<double>(true, false, 1 / static_cast<double>(residuals.rows()), residuals, residuals, 0.0, covariance);
  return covariance;
}

/// The combination of the outputs that varies most: what outputs with one spectrum have in common, whatever their signs.
std::vector<double> principal_series(const Matrix<double>& residuals) {
  const Eigen eigen = eigh(covariance_of(residuals));
  std::vector<double> series(at(residuals.rows()));
  for (Index i = 0; i < residuals.rows(); ++i) {
    const std::span<const double> direction = eigen.vectors.row(residuals.cols() - 1);
    series[at(i)] = std::inner_product(direction.begin(), direction.end(), residuals.row(i).begin(), 0.0);
  }
  return series;
}

/// L of a matrix near the correlations of the outputs; [1] for one output.
Matrix<double> initial_factor(const Matrix<double>& residuals) {
  const Index p = residuals.cols();
  Matrix<double> l(1, 1, {1.0});
  if (p == 1) return l;
  l = covariance_of(residuals);
  for (Index a = 0; a < p; ++a) l(a, a) += 0.1;
  if (cholesky(l) >= 0) fail_internal("a covariance with a ridge is not positive definite");
  for (Index a = 0; a < p; ++a) std::fill(l.row(a).begin() + a + 1, l.row(a).end(), 0.0);
  return l;
}

/// A start for training: the empirical spectrum of the residuals, or one near it for later restarts.
SpectralParameters initial_parameters(ConstMatrix x, ConstMatrix y, const ProcessPlan& plan, const Stream& stream,
                                      int restart) {
  SpectralParameters start;
  start.mean = initial_mean(plan.mean, x, y);
  const Matrix<double> residuals = without_mean(x, y, start.mean);
  const std::vector<double> first = principal_series(residuals);
  const InitialMixture found = initial_mixture(x, first, plan.components, stream.child("start"));
  start.mixture = to_mixture(found.kernel);
  start.mixture.envelope = plan.envelope;
  start.noise = found.noise;
  start.factor = initial_factor(residuals);
  if (restart == 0) return start;
  const Stream jitter = stream.child("restart", static_cast<std::uint64_t>(restart));
  for (Index q = 0; q < start.mixture.components(); ++q) {
    const auto row = static_cast<std::uint64_t>(q);
    start.mixture.weights[at(q)] *= std::exp(jitter.normal(row, 0));
    for (Index k = 0; k < x.cols; ++k) {
      const auto place = static_cast<std::uint64_t>(1 + 2 * k);
      start.mixture.means(q, k) += start.mixture.scales(q, k) * jitter.normal(row, place);
      start.mixture.scales(q, k) *= std::exp(0.5 * jitter.normal(row, place + 1));
    }
  }
  return start;
}

SpectralTrainingOptions training_options(const FitOptions& options) {
  const GpOptions& gp = options.gp;
  SpectralTrainingOptions training;
  training.points = gp.points;
  training.draws = gp.draws;
  training.parametrization = parse_parametrization(gp.parametrization);
  training.allocation = parse_allocation(gp.allocation);
  training.sampling = parse_point_sampling(gp.sampling);
  training.optimizer = gp.optimizer == "auto" ? Optimizer::adam : parse_optimizer(gp.optimizer);
  training.steps = gp.steps > 0 ? gp.steps : training.optimizer == Optimizer::adam ? adam_steps : lbfgs_steps;
  training.rate = gp.rate;
  training.posterior_draws = gp.posterior_draws;
  training.seed = options.seed;
  training.memory_bytes = options.memory_bytes / 4;
  training.progress = options.progress;
  return training;
}

/// Trains from each start on all rows but the last `validation`, and keeps the best.
SpectralTraining best_training(ConstMatrix x, ConstMatrix y, const ProcessPlan& plan, const FitOptions& options,
                               std::vector<std::string>& notes) {
  SpectralTrainingOptions training = training_options(options);
  const auto held_out = static_cast<Index>(std::lround(options.gp.validation * static_cast<double>(x.rows)));
  const Index used = x.rows - held_out;
  ValidationRows validation;
  if (held_out > 0) {
    validation = {x.row_range(used, held_out), y.row_range(used, held_out)};
    training.patience = patience;
    training.trace_every = 5;
  }
  const Stream stream(options.seed, "process");
  SpectralTraining best;
  for (int restart = 0; restart < options.gp.restarts; ++restart) {
    const SpectralParameters start = initial_parameters(x.row_range(0, used), y.row_range(0, used), plan, stream, restart);
    SpectralTraining next = train_spectral(x.row_range(0, used), y.row_range(0, used), start, training, validation);
    if (restart == 0 || next.objective < best.objective) best = std::move(next);
  }
  if (best.status == "stopped early")
    notes.push_back("training stopped early, after " + std::to_string(best.iterations) + " steps");
  return best;
}

/// Rows in the order of their only input.
Gathered in_time_order(const Gathered& rows) {
  std::vector<Index> order(at(rows.x.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, {}, [&](Index i) { return rows.x(i, 0); });
  Gathered sorted{Matrix<double>(rows.x.rows(), 1), Matrix<double>(rows.y.rows(), rows.y.cols())};
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted.x(static_cast<Index>(i), 0) = rows.x(order[i], 0);
    std::ranges::copy(rows.y.row(order[i]), sorted.y.row(static_cast<Index>(i)).begin());
  }
  return sorted;
}

/// The mean under which short trainings on the first four fifths of a series forecast the last fifth with the higher
/// density.
MeanForm choose_mean(const Gathered& rows, ProcessPlan plan, const FitOptions& options, std::vector<std::string>& notes) {
  constexpr Index fewest_rows = 20;
  const Index n = rows.x.rows();
  if (rows.x.cols() != 1 || n < fewest_rows) return MeanForm::constant;
  const Gathered sorted = in_time_order(rows);
  const Index used = n - n / 5;
  const ConstMatrix x = sorted.x.view().row_range(0, used);
  const ConstMatrix y = sorted.y.view().row_range(0, used);
  SpectralTrainingOptions training = training_options(options);
  training.points = std::min<Index>(training.points, std::max<Index>(100, 3 * plan.components));
  training.steps = std::min(training.steps, 150);
  std::array<double, 2> mnll{};
  const std::array<MeanForm, 2> forms = {MeanForm::constant, MeanForm::linear};
  for (std::size_t k = 0; k < forms.size(); ++k) {
    plan.mean = forms[k];
    const SpectralParameters start = initial_parameters(x, y, plan, Stream(options.seed, "process"), 0);
    const SpectralTraining trained = train_spectral(x, y, start, training, {});
    const SpectralPosterior posterior =
        SpectralPosterior::condition(x, y, trained.parameters, trained.points, training.memory_bytes);
    mnll[k] =
        score_posterior(posterior, sorted.x.view().row_range(used, n - used), sorted.y.view().row_range(used, n - used))
            .mnll;
  }
  const bool linear = mnll[1] < mnll[0];
  notes.push_back(std::string("the mean is ") + (linear ? "linear" : "constant") +
                  ": it forecasts the last fifth of the series better than a " + (linear ? "constant" : "linear") +
                  " one (log density " + rounded(-mnll[linear ? 1 : 0]) + " against " + rounded(-mnll[linear ? 0 : 1]) +
                  " in scaled units)");
  return linear ? MeanForm::linear : MeanForm::constant;
}

/// Σ_a decomposable(k_a, E_aa) for spectra of their own, decomposable(k, LLᵀ) for one that is shared.
OperatorKernel kernel_of(const std::vector<SpectralPart>& parts, Index outputs) {
  OperatorKernel kernel;
  Index first = 0;
  for (const SpectralPart& part : parts) {
    const Matrix<double>& l = part.parameters.factor;
    Matrix<double> b(outputs, outputs);
    for (Index i = 0; i < l.rows(); ++i) {
      for (Index j = 0; j < l.rows(); ++j) {
        for (Index k = 0; k <= std::min(i, j); ++k) b(first + i, first + j) += l(i, k) * l(j, k);
      }
    }
    first += l.rows();
    Decomposable form{to_kernel(part.parameters.mixture), IdentityOutputs{}};
    if (outputs > 1) {
      GivenOutputs given;
      for (Index i = 0; i < outputs; ++i) given.matrix.emplace_back(b.row(i).begin(), b.row(i).end());
      form.outputs = given;
    }
    kernel.terms.push_back({1.0, form});
  }
  return kernel;
}

/// The share of the weights in components of less than one and a half cycles over the rows.
double trend_share(const std::vector<SpectralPart>& parts, const Matrix<double>& x) {
  const auto [first, last] = std::ranges::minmax(x.values());
  double slow = 0;
  double all = 0;
  for (const SpectralPart& part : parts) {
    const Mixture& mixture = part.parameters.mixture;
    for (Index q = 0; q < mixture.components(); ++q) {
      const double weight = mixture.weights[at(q)];
      all += weight;
      if (std::abs(mixture.means(q, 0)) * (last - first) < 1.5) slow += weight;
    }
  }
  return slow / all;
}

void fit_spectral(const Gathered& rows, const ProcessPlan& plan, const FitOptions& options, Model::State& state) {
  FitSummary& summary = state.summary;
  const Index p = rows.y.cols();
  const bool shared = p > 1 && options.gp.outputs == "shared";
  summary.nlml = 0;
  state.noise.clear();
  for (Index first = 0; first < p; first += shared ? p : 1) {
    const Matrix<double> y(rows.y.view().col_range(first, shared ? p : 1));
    ProcessPlan own = plan;
    if (plan.open_mean) {
      std::vector<std::string> reasons;
      own.mean = choose_mean({rows.x, y}, plan, options, reasons);
      const bool named = p > 1 && !shared && at(first) < options.target_names.size();
      for (const std::string& reason : reasons)
        summary.notes.push_back((named ? options.target_names[at(first)] + ": " : "") + reason);
    }
    SpectralTraining trained = best_training(rows.x, y, own, options, summary.notes);
    SpectralPart part;
    part.posterior = SpectralPosterior::condition(rows.x, y, trained.parameters, trained.points, options.memory_bytes / 4);
    part.parameters = std::move(trained.parameters);
    part.shares = trained.points.front().shares;
    state.noise.insert(state.noise.end(), at(y.cols()), part.parameters.noise);
    *summary.nlml += trained.nlml;
    summary.iterations += trained.iterations;
    summary.parameters += options.gp.points * 2 * y.cols();
    if (first == 0) state.training = std::move(trained.trace);
    state.spectral.push_back(std::move(part));
  }
  if (rows.x.cols() == 1 && trend_share(state.spectral, rows.x) > 0.5) {
    summary.notes.emplace_back(
        "most of the variance is a trend: bands of a forecast know nothing of a trend that changes its course; judge them "
        "by "
        "score --rolling, or calibrate with --conformal 0.9 --split time");
  }
  const SpectralTrainingOptions training = training_options(options);
  summary.process = "spectral_mixture";
  summary.solver = to_string(training.optimizer);
  summary.sampling = to_string(training.sampling);
  summary.features = 2 * options.gp.points;
  state.recipe.kernel = kernel_of(state.spectral, p);
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
