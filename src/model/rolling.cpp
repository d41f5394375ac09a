#include "model/rolling.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "base/timeline.hpp"
#include "io/split.hpp"
#include "model/fit.hpp"
#include "model/fit_process.hpp"
#include "model/state.hpp"

namespace mercer {
namespace {

/// Weighted sums per target and step.
struct Tally {
  Tally(Index targets, Index steps, bool deviations)
      : weight(1, steps), square(targets, steps), absolute(targets, steps), inside(deviations ? targets : 0, steps) {}

  void add(Index step, double w, std::span<const double> y, std::span<const double> mean,
           std::span<const double> deviation) {
    constexpr double half_width = 1.6448536269514722;  // the 0.95 quantile of a standard normal
    weight(0, step) += w;
    for (std::size_t a = 0; a < y.size(); ++a) {
      const auto target = static_cast<Index>(a);
      const double r = mean[a] - y[a];
      square(target, step) += w * r * r;
      absolute(target, step) += w * std::abs(r);
      if (!deviation.empty()) inside(target, step) += std::abs(r) <= half_width * deviation[a] ? w : 0.0;
    }
  }

  void finish(RollingScores& scores) const {
    const Index steps = weight.cols();
    scores.rmse_by_step = scores.mae_by_step = Matrix<double>(square.rows(), steps);
    scores.coverage_by_step = Matrix<double>(inside.rows(), steps);
    double all = 0;
    for (Index k = 0; k < steps; ++k) all += weight(0, k);
    for (Index a = 0; a < square.rows(); ++a) {
      double sums[3] = {0, 0, 0};
      for (Index k = 0; k < steps; ++k) {
        const double w = weight(0, k);
        sums[0] += square(a, k);
        sums[1] += absolute(a, k);
        scores.rmse_by_step(a, k) = std::sqrt(square(a, k) / w);
        scores.mae_by_step(a, k) = absolute(a, k) / w;
        if (inside.rows() == 0) continue;
        sums[2] += inside(a, k);
        scores.coverage_by_step(a, k) = inside(a, k) / w;
      }
      scores.rmse.push_back(std::sqrt(sums[0] / all));
      scores.mae.push_back(sums[1] / all);
      if (inside.rows() > 0) scores.coverage.push_back(sums[2] / all);
    }
  }

  Matrix<double> weight;  ///< 1 × steps
  Matrix<double> square, absolute, inside;
};

void add_forecasts(const Model& model, RowSource& ahead, Tally& tally) {
  RowBlock block;
  ahead.rewind();
  while (ahead.next(4096, block)) {
    Matrix<double> mean(block.rows(), model.outputs());
    Matrix<double> deviation(tally.inside.rows() > 0 ? block.rows() : 0, model.outputs());
    if (deviation.rows() > 0) {
      model.predict(block.inputs, mean, deviation);
    } else {
      model.predict(block.inputs, mean);
    }
    for (Index i = 0; i < block.rows(); ++i) {
      const double w = block.weights.empty() ? 1.0 : block.weights[static_cast<std::size_t>(i)];
      tally.add(block.first_row + i, w, block.targets.row(i), mean.row(i),
                deviation.rows() > 0 ? deviation.row(i) : std::span<const double>());
    }
  }
}

}  // namespace

std::vector<Index> rolling_origins(Index rows, const RollingPlan& plan) {
  if (plan.steps < 1 || plan.origins < 1) fail_argument("rolling validation needs at least one step and one origin");
  if (plan.steps > rows / 2) {
    fail_argument("rolling validation " + std::to_string(plan.steps) + " steps ahead needs at least " +
                  human_count(2.0 * static_cast<double>(plan.steps)) + " rows, and there are " + std::to_string(rows));
  }
  const Index last = rows - plan.steps;
  const Index half = (rows + 1) / 2;
  const bool room = plan.origins - 1 <= (last - half) / plan.steps;
  const Index first = room ? last - (plan.origins - 1) * plan.steps : half;
  const Index count = std::min(plan.origins, last - first + 1);
  std::vector<Index> origins;
  for (Index k = 0; k < count; ++k) origins.push_back(count == 1 ? last : first + k * (last - first) / (count - 1));
  return origins;
}

RollingScores score_rolling(RowSource& rows, const Refit& refit, const RollingPlan& plan, Progress* progress) {
  RollingScores scores;
  scores.origins = rolling_origins(count_rows(rows), plan);
  const std::optional<Timeline> timeline = find_timeline(rows, DateFormat::none);
  if (timeline && !timeline->ordered)
    fail_argument("rolling validation needs rows in order of time, and some are earlier than the row before; sort the file");
  std::optional<Tally> tally;
  for (const Index origin : scores.origins) {
    ChosenRows before(
        rows, [&](Index row) { return row < origin; }, origin);
    const Model model = refit(before);
    if (model.outputs() != rows.target_count()) fail_argument("rolling validation scores means of targets, one per target");
    if (!tally) tally.emplace(model.outputs(), plan.steps, model.has_uncertainty());
    ChosenRows ahead(
        rows, [&](Index row) { return row >= origin && row < origin + plan.steps; }, plan.steps);
    add_forecasts(model, ahead, *tally);
    scores.rows += plan.steps;
    report(progress, "rolling", static_cast<double>(origin) / static_cast<double>(scores.origins.back()));
  }
  tally->finish(scores);
  return scores;
}

Model refit_like(const Model& model, RowSource& rows, Index memory_bytes, Progress* progress) {
  const Recipe& recipe = model.state().recipe;
  const FitSummary& summary = model.summary();
  if (!summary.process.empty()) return conditioned_on(model, rows, memory_bytes);
  FitOptions options;
  options.penalty = summary.penalty;
  options.seed = recipe.seed();
  // With the penalty given any direct solver is as good as another; an iterative one was chosen for its own sake or for
  // size.
  const bool iterative =
      summary.solver == "cg" || summary.solver == "sgd" || summary.solver == "admm" || summary.solver == "adam";
  options.solver = iterative ? summary.solver : "auto";
  options.uncertainty = model.has_uncertainty() ? "auto" : "none";
  options.memory_bytes = memory_bytes;
  options.progress = progress;
  return fit_recipe(rows, recipe, options);
}

}  // namespace mercer
