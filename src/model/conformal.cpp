#include "model/conformal.hpp"

#include <algorithm>
#include <cmath>

#include "base/fail.hpp"
#include "base/matrix.hpp"
#include "base/progress.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "model/fit.hpp"
#include "model/recipe.hpp"
#include "model/state.hpp"

namespace mercer {
namespace {

constexpr double calibration_share = 0.2;

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

double share(Index k, Index m) {
  return static_cast<double>(k) / static_cast<double>(m + 1);
}

void check_level(double level) {
  if (!(level > 0 && level < 1)) fail_argument("the level of intervals must lie between 0 and 1, got " + shortest(level));
}

Split calibration_split(const FitOptions& options) {
  if (!options.classes.empty())
    fail_argument("conformal intervals are for numbers, and the target here is a class; leave --conformal out");
  check_level(*options.conformal);
  // A seed of its own: the split of --holdout and that of the penalty search know nothing of this one.
  return {calibration_share, options.time_order, Stream(options.seed, "conformal").bits(0, 0)};
}

/// The interval before calibration and the unit of its offset, per target.
struct Raw {
  Matrix<double> low, high;
  Matrix<double> unit;  ///< empty: 1
};

Raw raw_intervals(const Model& model, bool relative, ConstMatrix x) {
  const Index targets = model.interval_outputs();
  Matrix<double> prediction(x.rows, model.outputs());
  if (relative) {
    Matrix<double> deviation(x.rows, targets);
    model.predict(x, prediction, deviation);
    return {prediction, prediction, std::move(deviation)};
  }
  model.predict(x, prediction);
  if (model.state().recipe.levels.empty()) return {prediction, prediction, {}};
  Raw raw{Matrix<double>(x.rows, 1), Matrix<double>(x.rows, 1), {}};
  for (Index i = 0; i < x.rows; ++i) {
    raw.low(i, 0) = prediction(i, 0);
    raw.high(i, 0) = prediction(i, prediction.cols() - 1);
  }
  return raw;
}

/// Standard deviations are divided by only where they cannot vanish: where every output has noise.
bool divides_by_deviation(const Model& model) {
  return model.has_uncertainty() && model.state().recipe.levels.empty() &&
         std::ranges::all_of(model.state().noise, [](double noise) { return noise > 0; });
}

Calibration calibrate(const Model& model, RowSource& rows, double level, Progress* progress) {
  constexpr Index block_rows = 4096;
  Calibration calibration;
  calibration.level = level;
  calibration.relative = divides_by_deviation(model);
  std::vector<std::vector<double>> scores(at(model.interval_outputs()));
  RowBlock block;
  rows.rewind();
  while (rows.next(block_rows, block)) {
    report(progress, "calibrating", static_cast<double>(block.first_row) / static_cast<double>(rows.row_count()));
    const Raw raw = raw_intervals(model, calibration.relative, block.inputs);
    for (Index i = 0; i < block.rows(); ++i) {
      if (!block.weights.empty() && block.weights[at(i)] == 0) continue;
      for (Index a = 0; a < model.interval_outputs(); ++a) {
        const double y = block.targets(i, a);
        const double unit = raw.unit.empty() ? 1.0 : raw.unit(i, a);
        scores[at(a)].push_back(std::max(raw.low(i, a) - y, y - raw.high(i, a)) / unit);
        if (!std::isfinite(y) || !std::isfinite(scores[at(a)].back())) {
          fail_argument("a value in row " + std::to_string(block.first_row + i) +
                        " of the calibration rows is not finite; mend or remove it");
        }
      }
    }
  }
  calibration.rows = static_cast<Index>(scores.front().size());
  for (auto& s : scores) calibration.offsets.push_back(conformal_offset(std::move(s), level));
  return calibration;
}

}  // namespace

Index conformal_rank(Index m, double level) {
  auto k = static_cast<Index>(std::ceil(level * static_cast<double>(m + 1)));
  while (k > 1 && share(k - 1, m) >= level) --k;
  while (share(k, m) < level) ++k;
  return k;
}

Index rows_for_level(double level) {
  check_level(level);
  constexpr double most = 1e15;
  auto m = static_cast<Index>(std::min(most, std::max(1.0, std::floor(level / (1 - level)) - 1)));
  while (conformal_rank(m, level) > m && static_cast<double>(m) < most) ++m;
  return m;
}

double conformal_offset(std::vector<double> scores, double level) {
  const auto m = static_cast<Index>(scores.size());
  const Index k = conformal_rank(m, level);
  if (k > m) {
    fail_argument("intervals of level " + shortest(level) + " need at least " +
                  counted(rows_for_level(level), "calibration row") + " (a fifth of the rows), and there " +
                  (m == 1 ? "is " : "are ") + human_count(static_cast<double>(m)) +
                  "; give more rows or a lower --conformal");
  }
  const auto place = scores.begin() + (k - 1);
  std::ranges::nth_element(scores, place);
  return *place;
}

ConformalRows::ConformalRows(RowSource& all, const FitOptions& options)
    : train(all, calibration_split(options), SplitRows::Part::train),
      calibration(all, calibration_split(options), SplitRows::Part::test) {
  // Before the fit rather than after it.
  if (conformal_rank(calibration.row_count(), *options.conformal) > calibration.row_count())
    conformal_offset(std::vector<double>(at(calibration.row_count())), *options.conformal);
}

Model fit_calibrated(ConformalRows& rows, const Recipe& recipe, const FitOptions& options) {
  const std::shared_ptr<Model::State> state = fit_state(rows.train, recipe, options);
  state->calibration = calibrate(Model(state), rows.calibration, options.conformal.value(), options.progress);
  state->summary.interval_level = state->calibration->level;
  state->summary.calibration_rows = state->calibration->rows;
  return Model(state);
}

std::string interval_promise(const FitSummary& s) {
  if (!s.interval_level) return "";
  const bool quantiles = s.loss.starts_with("pinball") || s.loss.starts_with("expectile");
  return "calibrated on " + counted(s.calibration_rows, "row") +
         " kept out of the fit: a new row exchangeable with these falls inside with probability at least " +
         shortest(std::round(*s.interval_level * 1e12) / 1e10) + " %" +
         (s.outputs > 1 && !quantiles ? ", for each target" : "") + ", whatever the model";
}

bool Model::has_intervals() const {
  return state_->calibration.has_value();
}

Index Model::interval_outputs() const {
  return state_->recipe.classes.empty() ? static_cast<Index>(state_->recipe.scaling.target_shift.size()) : 0;
}

void Model::predict_interval(ConstMatrix x, MutMatrix lower, MutMatrix upper) const {
  if (!has_intervals()) fail_argument("this model has no intervals; fit it with --conformal 0.9");
  const Index targets = interval_outputs();
  for (const MutMatrix& m : {lower, upper}) {
    if (m.rows != x.rows || m.cols != targets) fail_argument("the array for intervals has the wrong shape");
  }
  const Calibration& calibration = *state_->calibration;
  const Raw raw = raw_intervals(*this, calibration.relative, x);
  for (Index i = 0; i < x.rows; ++i) {
    for (Index a = 0; a < targets; ++a) {
      const double offset = calibration.offsets[at(a)] * (raw.unit.empty() ? 1.0 : raw.unit(i, a));
      lower(i, a) = raw.low(i, a) - offset;
      upper(i, a) = raw.high(i, a) + offset;
      // Quantiles that cross, or that are moved past each other, leave no interval: one point covers more than none.
      if (lower(i, a) > upper(i, a)) lower(i, a) = upper(i, a) = (lower(i, a) + upper(i, a)) / 2;
    }
  }
}

}  // namespace mercer
