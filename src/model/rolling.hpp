#pragma once
#include <mercer/model.hpp>

#include <functional>
#include <vector>

#include "base/matrix.hpp"

namespace mercer {

/// Rolling-origin validation: fit to the rows before an origin, forecast the next `steps` rows, move on.
struct RollingPlan {
  Index steps = 1;
  Index origins = 5;
};

/// The share of observations that mean ± 1.645 standard deviations should hold.
inline constexpr double band_level = 0.9;

struct RollingScores {
  std::vector<Index> origins;                ///< rows that each fit saw
  Index rows = 0;                            ///< forecasts made
  std::vector<double> rmse, mae;             ///< per target
  std::vector<double> coverage;              ///< per target: share inside the band; empty without standard deviations
  Matrix<double> rmse_by_step, mae_by_step;  ///< targets × steps
  Matrix<double> coverage_by_step;           ///< the same, or empty
};

/// A model of the same making from other rows.
using Refit = std::function<Model(RowSource&)>;

/// The first rows to be forecast: `steps` apart at the end of the data, or closer (and fewer, if need be) so that half of
/// the rows are left to fit. Refuses data with fewer than 2·steps rows.
std::vector<Index> rolling_origins(Index rows, const RollingPlan& plan);

/// Rows must be in order of time: with a single input that is checked, and refused otherwise.
RollingScores score_rolling(RowSource& rows, const Refit& refit, const RollingPlan& plan, Progress* progress);

/// The weights of `model` fitted again to `rows`: its kernel, scaling, map, loss and penalty are kept, as fit --like does.
Model refit_like(const Model& model, RowSource& rows, Index memory_bytes, Progress* progress);

}  // namespace mercer
