#include "model/fit_spectral.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "gp/initial_mixture.hpp"
#include "gp/spectral_training.hpp"
#include "gp/spectrum_mixture.hpp"
#include "model/words.hpp"

namespace mercer {
namespace {

constexpr int adam_steps = 300;
constexpr int patience = 50;  // steps without a better validation score

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
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

}  // namespace

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

namespace {

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

/// The share of the weights in components of less than trend_cycles over the rows.
double trend_share(const std::vector<SpectralPart>& parts, const Matrix<double>& x) {
  const auto [first, last] = std::ranges::minmax(x.values());
  double slow = 0;
  double all = 0;
  for (const SpectralPart& part : parts) {
    const Mixture& mixture = part.parameters.mixture;
    for (Index q = 0; q < mixture.components(); ++q) {
      const double weight = mixture.weights[at(q)];
      all += weight;
      if (std::abs(mixture.means(q, 0)) * (last - first) < trend_cycles) slow += weight;
    }
  }
  return slow / all;
}

}  // namespace

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
    state.training.push_back(std::move(trained.trace));
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

}  // namespace mercer
