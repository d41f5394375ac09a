#pragma once
#include <mercer/model.hpp>
#include <mercer/rows.hpp>

#include <string>
#include <vector>

#include "io/split.hpp"

namespace mercer {

struct Recipe;

/// Split conformal prediction. Rows that the fit never saw have scores s_i, the distance of y_i from the prediction; of m
/// scores and that of a new exchangeable row, each is the k-th smallest with equal probability, so the new one is at most
/// the k-th smallest of the m with probability at least k/(m + 1). No assumption on the model or on the law of the rows
/// enters. Scores: |y - f| per target, over the predicted standard deviation when the model keeps one; max(q_lo - y, y -
/// q_hi) for quantiles, with the lowest and the highest level.
struct Calibration {
  double level = 0;
  Index rows = 0;               ///< m
  bool relative = false;        ///< offsets are multiples of the standard deviation
  std::vector<double> offsets;  ///< one per target, in its units unless relative; of quantiles it may be negative
};

/// The least k with k/(m + 1) ≥ level, which is ⌈(m + 1)·level⌉ but for rounding; above m when m is too small.
Index conformal_rank(Index m, double level);
/// The least m with conformal_rank(m, level) ≤ m.
Index rows_for_level(double level);
/// The conformal_rank-th smallest score; throws Error when there are too few.
double conformal_offset(std::vector<double> scores, double level);

/// The rows of a fit with options.conformal, divided: four fifths to fit, one to calibrate (at random by the seed, or the
/// last in time). Throws Error when the level, the number of rows, or classes rule intervals out.
struct ConformalRows {
  ConformalRows(RowSource& all, const FitOptions& options);
  SplitRows train;
  SplitRows calibration;
};

/// fit_recipe on the one part, calibrated on the other. The recipe must come from the training part alone. Rows of weight 0
/// do not calibrate; others count once each.
Model fit_calibrated(ConformalRows& rows, const Recipe& recipe, const FitOptions& options);

/// What the intervals of a model promise, in one sentence; "" when it has none.
std::string interval_promise(const FitSummary& summary);

}  // namespace mercer
