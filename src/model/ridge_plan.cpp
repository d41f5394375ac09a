#include "model/ridge_plan.hpp"

#include <mercer/threads.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/resources.hpp"
#include "base/text.hpp"
#include "model/fit.hpp"
#include "model/plan_cost.hpp"
#include "solve/row_operator.hpp"

namespace mercer {
namespace {

/// Applications of the operator to expect after the first pass, and how many of them are precise where the others are in
/// float (Refinement), which take half as long; then the first is, too.
struct ExpectedPasses {
  int all;
  int precise;
};
constexpr ExpectedPasses expected(bool in_float) {
  return in_float ? ExpectedPasses{4, 1} : ExpectedPasses{5, 5};
}

/// Of a byte that is written for the first time.
constexpr double fresh_page_seconds = 0.5e-9;

/// A choice by the clock would change the last digits from run to run: sizes choose (choose_solver), and only where reading
/// the rows over and over makes passes far more expensive than they are in memory is that put right.
constexpr double clearly_longer = 1.5;

/// Enough that every thread finds work in it.
Index sample_rows() {
  return 256 * std::clamp<Index>(threads(), 8, 32);
}

/// Seconds per row.
struct RowCosts {
  double read = 0;            ///< from file or memory, scaled
  double anew = 0;            ///< one application of the operator, features computed for it
  double kept = 0;            ///< the same with features from memory
  double feature_square = 0;  ///< mean ‖φ(x)‖²
  bool weighted = false;
};

template <class Real>
double application_seconds(const FeatureMap& map, ArrayRows& sample, bool keep) {
  RowOperator<Real> op(map, sample, true, keep ? std::numeric_limits<Index>::max() : 0, 1, nullptr);
  Matrix<double> v(op.size(), 1);
  Matrix<double> out(op.size(), 1);
  return fastest(2, [&] { op.apply(v, out); }) / static_cast<double>(sample.row_count());
}

template <class Real>
RowCosts row_costs(const FeatureMap& map, RowSource& rows, bool may_keep) {
  RowBlock block;
  rows.rewind();
  if (!rows.next(sample_rows(), block)) return {};
  rows.rewind();
  const Stopwatch watch;  // for the second time: the first makes room
  if (!rows.next(sample_rows(), block)) return {};
  RowCosts costs;
  costs.weighted = !block.weights.empty();
  costs.read = watch.seconds() / static_cast<double>(block.rows());
  const Matrix<double> x(block.inputs);
  const Matrix<double> y(block.rows(), 1);  // applications do not look at targets
  ArrayRows sample(x, y);
  costs.anew = application_seconds<Real>(map, sample, false);
  costs.kept = may_keep ? application_seconds<Real>(map, sample, true) : costs.anew;
  Matrix<double> phi(std::min<Index>(64, x.rows()), map.columns());
  map.features(x.view().row_range(0, phi.rows()), phi);
  for (const double v : phi.values()) costs.feature_square += v * v / static_cast<double>(phi.rows());
  rows.rewind();
  return costs;
}

}  // namespace

double foreseen_coarseness(GramPrecision gram, double ridge) {
  if (gram == GramPrecision::int8) return 0.008 * std::pow(ridge, -0.58);
  return gram == GramPrecision::bf16 ? 0.0048 * std::pow(ridge, -0.8) : 0.0006 * std::pow(ridge, -0.85);
}

RidgePlan plan_ridge(const FeatureMap& map, RowSource& rows, Precision precision, bool standard_deviations,
                     const FitOptions& options) {
  const auto n = static_cast<double>(rows.row_count());
  const auto m = static_cast<double>(map.columns());
  const double bytes = n * m * (precision == Precision::single_ ? 4 : 8);
  // Passes in float compute their features anew, and one that is not has no use for what it would keep.
  const bool in_float = precision == Precision::double_ && options.penalty && !map.bounds().empty();
  const bool may_keep = !in_float && bytes <= static_cast<double>(options.memory_bytes) / 4;
  const RowCosts row =
      precision == Precision::single_ ? row_costs<float>(map, rows, may_keep) : row_costs<double>(map, rows, may_keep);
  RidgePlan plan;
  plan.grams = worthwhile_grams(map, precision, row.weighted);
  const auto keep_first = [&] {
    if (plan.grams.size() > 1) plan.grams.erase(plan.grams.begin() + 1, plan.grams.end());
  };
  const bool asked_for = options.solver == "refined";
  if (!options.penalty) {
    // Penalties chosen by bf16 were compared with those of float64 (docs/refinement.md).
    std::erase(plan.grams, GramPrecision::int8);
    keep_first();
  }
  if (asked_for && plan.grams.empty()) plan.grams.push_back(GramPrecision::bf16);  // where it is not fast
  const bool any = !plan.grams.empty();
  const auto foreseen = [&](GramPrecision gram) {
    return foreseen_coarseness(gram, n * *options.penalty / row.feature_square);
  };
  if (options.penalty && standard_deviations && !asked_for) {
    std::erase_if(plan.grams, [&](GramPrecision g) { return foreseen(g) > RidgePlan::most_coarseness; });
  }
  // Where int8 is too coarse bf16, of a third of the noise, mostly is so too.
  if (!plan.grams.empty() && plan.grams.front() == GramPrecision::int8) std::erase(plan.grams, GramPrecision::bf16);
  // Nor is a better one worth a try where the rounding of sums over many rows makes it hopeless, or little better than int8.
  constexpr double many = 15000;
  if (options.penalty && !asked_for && n >= many && plan.grams.size() > 1) {
    const bool after_int8 = plan.grams.front() == GramPrecision::int8;
    const double most = after_int8 ? 0.5 * foreseen(GramPrecision::int8) : 1.0;
    if (foreseen(plan.grams[1]) > most) keep_first();
  }
  const std::string name = precision == Precision::single_ ? "float32" : "float64";
  const std::string direct = "a Gram matrix in " + name + " in one pass";
  const auto gram_seconds = [&](double speed) { return n * (row.read + row.anew + m * m / speed); };
  const double full = gram_seconds(gram_speed(precision));
  if (plan.grams.empty()) {
    plan.seconds = full;
    plan.words = direct + ": about " + human_seconds(full) +
                 (any ? "; coarser ones would not do for standard deviations" : "; coarser ones are no faster here");
    return plan;
  }
  const ExpectedPasses passes = expected(in_float);
  const bool keep = may_keep && bytes * fresh_page_seconds < passes.precise * n * (row.anew - row.kept);
  if (keep) plan.memory_bytes = static_cast<Index>(bytes);
  plan.seconds = gram_seconds(gram_speed(plan.grams.front())) - (in_float ? n * row.anew / 2 : 0.0) +
                 passes.precise * n * (row.read + (keep ? row.kept : row.anew)) +
                 (passes.all - passes.precise) * n * (row.read + row.anew / 2);
  const std::string refined = "a Gram matrix in " + words(plan.grams.front()) + " and some " + std::to_string(passes.all) +
                              " passes with features " + (keep ? "kept in memory" : "computed anew");
  if (asked_for || plan.seconds < clearly_longer * full) {
    const bool may_fail = options.penalty && foreseen(plan.grams.front()) > 0.3;
    plan.words = refined + ": about " + human_seconds(plan.seconds) +
                 (may_fail ? " if that is fine enough for so small a penalty; " : "; ") + direct + " would take " +
                 human_seconds(full);
    return plan;
  }
  plan.words = direct + ": about " + human_seconds(full) + "; " + refined + " would take " + human_seconds(plan.seconds);
  plan.seconds = full;
  plan.grams.clear();
  return plan;
}

}  // namespace mercer
