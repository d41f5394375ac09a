#pragma once
#include <mercer/model.hpp>
#include <mercer/progress.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gp/spectral_posterior.hpp"

namespace mercer {

enum class Optimizer {
  adam,   ///< new points at every step: the stochastic bound of the paper
  lbfgs,  ///< the same points throughout: a deterministic function
};
Optimizer parse_optimizer(const std::string& text);
const char* to_string(Optimizer optimizer);

struct SpectralTrainingOptions {
  Index points = 300;  ///< M
  int draws = 1;       ///< K of the bound, per step
  Parametrization parametrization = Parametrization::general;
  Allocation allocation = Allocation::softmax;
  PointSampling sampling = PointSampling::monte_carlo;
  Optimizer optimizer = Optimizer::lbfgs;
  int steps = 200;
  double rate = 0.05;       ///< Adam's, halved for every quarter of the steps
  double divergence = 1;    ///< strength of Σ m_q KL in the objective
  int posterior_draws = 4;  ///< draws that predictions average over
  int patience = 0;         ///< steps without a better validation error after which training stops; 0: never
  int trace_every = 1;      ///< steps between evaluations of the validation rows
  std::uint64_t seed = 0;
  Index memory_bytes = Index{1} << 30;
  Progress* progress = nullptr;
};

struct SpectralTraining {
  SpectralParameters parameters;
  std::vector<SpectralPoints> points;  ///< of the posterior
  std::vector<TrainingStep> trace;
  double objective = 0;  ///< at the end, on points common to all trainings with the same options
  double nlml = 0;
  int iterations = 0;
  std::string status;  ///< "converged", "steps used up", "stopped early"
};

/// Rows to watch while training.
struct ValidationRows {
  ConstMatrix x;
  ConstMatrix y;
};

/// Told of every step: its line of the trace, and the parameters and points it was taken with.
using TrainingWatch =
    std::function<void(const TrainingStep&, const SpectralParameters&, const std::vector<SpectralPoints>&)>;

/// Hyperparameters that minimise the bound, from `start`, whose mixture is also the prior of the divergence.
SpectralTraining train_spectral(ConstMatrix x, ConstMatrix y, const SpectralParameters& start,
                                const SpectralTrainingOptions& options, const ValidationRows& validation,
                                const TrainingWatch& watch = {});

/// Root mean square error and mean negative log predictive density of noisy observations.
struct PredictionScore {
  double rmse = 0;
  double mnll = 0;
};
PredictionScore score_posterior(const SpectralPosterior& posterior, ConstMatrix x, ConstMatrix y);

}  // namespace mercer
