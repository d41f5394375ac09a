#include "model/folds.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/fail.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// Row numbers in the order of their keys; in their own order when `in_order`.
std::vector<Index> ordering(Index rows, const FoldPlan& plan) {
  std::vector<Index> order(at(rows));
  std::iota(order.begin(), order.end(), Index{0});
  if (plan.in_order) return order;
  const Stream keys(plan.seed, "folds");
  std::vector<std::uint64_t> bits(at(rows));
  for (Index i = 0; i < rows; ++i) bits[at(i)] = keys.bits(static_cast<std::uint64_t>(i), 0);
  std::ranges::stable_sort(order, {}, [&](Index i) { return bits[at(i)]; });
  return order;
}

}  // namespace

Index Folds::size(Index fold) const {
  return std::ranges::count(of_row, static_cast<std::int32_t>(fold));
}

ChosenRows Folds::validation(RowSource& all, Index fold) const {
  return {all, [this, fold](Index row) { return of_row[at(row)] == fold; }, size(fold)};
}

ChosenRows Folds::training(RowSource& all, Index fold) const {
  return {all, [this, fold](Index row) { return of_row[at(row)] != fold; }, static_cast<Index>(of_row.size()) - size(fold)};
}

Folds make_folds(Index rows, const FoldPlan& plan) {
  Folds folds;
  folds.of_row.assign(at(rows), -1);
  const std::vector<Index> order = ordering(rows, plan);
  if (plan.holdout) {
    if (!(*plan.holdout > 0 && *plan.holdout < 1))
      fail_argument("--holdout must lie between 0 and 1, got " + shortest(*plan.holdout));
    if (rows < 2) fail_argument("a held-out part needs at least two rows, not " + std::to_string(rows));
    const auto wanted = static_cast<Index>(std::llround(*plan.holdout * static_cast<double>(rows)));
    const Index held = std::clamp(wanted, Index{1}, rows - 1);
    for (Index i = rows - held; i < rows; ++i) folds.of_row[at(order[at(i)])] = 0;
    folds.count = 1;
    return folds;
  }
  if (plan.folds < 2 || plan.folds > rows) {
    fail_argument("--folds must lie between 2 and the number of rows, " + std::to_string(rows) + "; got " +
                  std::to_string(plan.folds));
  }
  for (Index i = 0; i < rows; ++i) folds.of_row[at(order[at(i)])] = static_cast<std::int32_t>(i * plan.folds / rows);
  folds.count = plan.folds;
  return folds;
}

double lag_one(RowSource& rows) {
  constexpr Index block_rows = 4096;
  const auto p = at(rows.target_count());
  // Σ(y_t - ȳ)(y_{t+1} - ȳ)/Σ(y_t - ȳ)², from sums about the first row: no cancellation at an offset.
  std::vector<double> origin, last, sum(p), square(p), product(p);
  Index n = 0;
  RowBlock block;
  rows.rewind();
  while (rows.next(block_rows, block)) {
    for (Index i = 0; i < block.rows(); ++i, ++n) {
      const std::vector<double> y(block.targets.row(i).begin(), block.targets.row(i).end());
      if (n == 0) origin = y;
      for (std::size_t a = 0; a < p; ++a) {
        const double v = y[a] - origin[a];
        sum[a] += v;
        square[a] += v * v;
        if (n > 0) product[a] += v * last[a];
      }
      last.resize(p);
      for (std::size_t a = 0; a < p; ++a) last[a] = y[a] - origin[a];
    }
  }
  double largest = -1;
  for (std::size_t a = 0; a < p && n > 2; ++a) {
    const double mean = sum[a] / static_cast<double>(n);
    const double variance = square[a] - sum[a] * mean;
    // The first value is 0 about itself: Σ_{t<n} v_t = sum - last, Σ_{t>1} v_t = sum.
    const double covariance = product[a] - mean * (2 * sum[a] - last[a]) + static_cast<double>(n - 1) * mean * mean;
    if (variance > 1e-12 * square[a]) largest = std::max(largest, covariance / variance);
  }
  return largest;
}

bool looks_ordered(double autocorrelation, Index rows) {
  constexpr double deviations = 5;
  constexpr double least = 0.1;
  return autocorrelation > std::max(least, deviations / std::sqrt(static_cast<double>(std::max<Index>(1, rows))));
}

}  // namespace mercer
