#include "gp/spectral_training.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "gp/adam.hpp"
#include "gp/lbfgs.hpp"

namespace mercer {
namespace {

constexpr Index pair_count = 200;  // differences of rows that the variance-optimal allocation averages over

/// Differences x_i - x_j of random pairs.
Matrix<double> row_differences(ConstMatrix x, const Stream& stream) {
  Matrix<double> differences(pair_count, x.cols);
  const auto n = static_cast<std::uint64_t>(x.rows);
  for (Index r = 0; r < pair_count; ++r) {
    const auto i = static_cast<Index>(stream.below(n, static_cast<std::uint64_t>(r), 0));
    const auto j = static_cast<Index>(stream.below(n, static_cast<std::uint64_t>(r), 1));
    for (Index k = 0; k < x.cols; ++k) differences(r, k) = x(i, k) - x(j, k);
  }
  return differences;
}

class Trainer {
 public:
  Trainer(ConstMatrix x, ConstMatrix y, const SpectralParameters& start, const SpectralTrainingOptions& options,
          const ValidationRows& validation, const TrainingWatch& watch)
      : x_(x),
        y_(y),
        start_(start),
        options_(options),
        validation_(validation),
        watch_(watch),
        stream_(options.seed, "spectral points"),
        differences_(row_differences(x, stream_.child("pairs"))),
        coordinates_(start, options.parametrization),
        objective_(x, y, coordinates_, start_.mixture, options.divergence, options.memory_bytes),
        at_(coordinates_.coordinates(start)),
        best_(at_) {}

  SpectralTraining run() {
    if (options_.optimizer == Optimizer::adam) {
      run_adam();
    } else {
      run_lbfgs();
    }
    return finish();
  }

 private:
  /// K draws, shares by the mixture at hand; the temperature falls from `steps` to 1 (algorithm 1: τ = T/t).
  std::vector<SpectralPoints> draw(const SpectralParameters& parameters, const Stream& stream, int count,
                                   double temperature) const {
    const std::vector<Index> shares =
        allocate(parameters.mixture, options_.points, options_.allocation, temperature, differences_);
    std::vector<SpectralPoints> points;
    for (int k = 0; k < count; ++k) {
      points.push_back(
          draw_points(parameters.mixture, shares, options_.sampling, stream.child("draw", static_cast<std::uint64_t>(k))));
    }
    return points;
  }

  void run_adam() {
    Adam adam(objective_.size());
    std::vector<double> gradient(at_.size());
    result_.status = "steps used up";
    for (int t = 1; t <= options_.steps; ++t) {
      report(options_.progress, "training", static_cast<double>(t - 1) / options_.steps);
      const SpectralParameters now = coordinates_.parameters(at_);
      std::vector<SpectralPoints> points = draw(now, stream_.child("step", static_cast<std::uint64_t>(t)), options_.draws,
                                                static_cast<double>(options_.steps) / t);
      points_ = points;
      objective_.set_points(std::move(points));
      const double value = objective_.evaluate(at_, gradient);
      if (!std::isfinite(value)) {
        result_.status = "stopped early";
        break;
      }
      if (!record(t, value)) break;
      adam.step(gradient, options_.rate * std::pow(0.5, 4.0 * (t - 1) / options_.steps), at_);
    }
  }

  void run_lbfgs() {
    // Shares of the start at temperature 2, half way to even: a component that grows while the points stay has some to grow
    // on.
    points_ = draw(start_, stream_.child("fixed"), options_.draws, 2.0);
    objective_.set_points(points_);
    LbfgsOptions lbfgs;
    lbfgs.max_iterations = options_.steps;
    lbfgs.value_tolerance = 1e-7;
    lbfgs.on_iteration = [&](int iteration, double value, std::span<const double> at) {
      report(options_.progress, "training", static_cast<double>(iteration) / options_.steps);
      at_.assign(at.begin(), at.end());
      return record(iteration, value);
    };
    std::vector<double> at = at_;
    const LbfgsResult done = minimize_lbfgs(objective_, at, lbfgs);
    at_ = at;
    result_.iterations = done.iterations;
    if (result_.status.empty()) result_.status = done.converged ? "converged" : "steps used up";
  }

  /// A line of the trace; false when patience has run out.
  bool record(int iteration, double value) {
    result_.iterations = iteration;
    TrainingStep row{iteration, watch_time_.seconds() - paused_,          objective_.likelihood(),
                     value,     std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
    const SpectralParameters now = coordinates_.parameters(at_);
    const bool look = validation_.x.rows > 0 && (iteration % options_.trace_every == 0 || iteration == 1);
    if (look) {
      const Stopwatch pause;
      const PredictionScore score = score_posterior(
          SpectralPosterior::condition(x_, y_, now, points_, options_.memory_bytes), validation_.x, validation_.y);
      row.rmse = score.rmse;
      row.mnll = score.mnll;
      paused_ += pause.seconds();
    }
    result_.trace.push_back(row);
    if (watch_) watch_(row, now, points_);
    if (!look || options_.patience == 0) return true;
    if (row.mnll < best_score_) {
      best_score_ = row.mnll;
      best_iteration_ = iteration;
      best_ = at_;
    }
    if (iteration - best_iteration_ < options_.patience) return true;
    result_.status = "stopped early";
    return false;
  }

  SpectralTraining finish() {
    if (options_.patience > 0 && best_iteration_ > 0) at_ = best_;
    result_.parameters = coordinates_.parameters(at_);
    // With fixed points the mixture was shaped for them; stochastic training averages over all, so new ones are as good.
    result_.points = options_.optimizer == Optimizer::lbfgs
                         ? points_
                         : draw(result_.parameters, stream_.child("posterior"), options_.posterior_draws, 1.0);
    objective_.set_points(result_.points);
    std::vector<double> idle(at_.size());
    result_.objective = objective_.evaluate(at_, idle);
    result_.nlml = objective_.likelihood();
    return std::move(result_);
  }

  ConstMatrix x_;
  ConstMatrix y_;
  const SpectralParameters& start_;
  const SpectralTrainingOptions& options_;
  const ValidationRows& validation_;
  const TrainingWatch& watch_;
  Stream stream_;
  Matrix<double> differences_;
  SpectralCoordinates coordinates_;
  SpectralObjective objective_;
  std::vector<double> at_;
  std::vector<double> best_;
  double best_score_ = std::numeric_limits<double>::infinity();
  int best_iteration_ = 0;
  std::vector<SpectralPoints> points_;
  SpectralTraining result_;
  Stopwatch watch_time_;
  double paused_ = 0;  ///< seconds spent on validation, which are not training
};

}  // namespace

Optimizer parse_optimizer(const std::string& text) {
  if (text == "adam") return Optimizer::adam;
  if (text == "lbfgs") return Optimizer::lbfgs;
  fail_argument("the optimizer " + mercer::quoted(text) + " is none of adam, lbfgs" + did_you_mean(text, {"adam", "lbfgs"}));
}
const char* to_string(Optimizer optimizer) {
  return optimizer == Optimizer::adam ? "adam" : "lbfgs";
}

SpectralTraining train_spectral(ConstMatrix x, ConstMatrix y, const SpectralParameters& start,
                                const SpectralTrainingOptions& options, const ValidationRows& validation,
                                const TrainingWatch& watch) {
  return Trainer(x, y, start, options, validation, watch).run();
}

PredictionScore score_posterior(const SpectralPosterior& posterior, ConstMatrix x, ConstMatrix y) {
  Matrix<double> mean(x.rows, y.cols);
  Matrix<double> variance(x.rows, y.cols);
  posterior.mean(x, mean);
  posterior.variance(x, variance);
  double square = 0;
  double density = 0;
  for (Index i = 0; i < x.rows; ++i) {
    for (Index a = 0; a < y.cols; ++a) {
      const double error = y(i, a) - mean(i, a);
      const double v = variance(i, a) + posterior.noise();
      square += error * error;
      density += (error * error / v + std::log(2 * std::numbers::pi * v)) / 2;
    }
  }
  const auto count = static_cast<double>(x.rows * y.cols);
  return {std::sqrt(square / count), density / count};
}

}  // namespace mercer
