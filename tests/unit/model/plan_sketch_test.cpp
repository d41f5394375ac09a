#include "model/plan_sketch.hpp"

#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <cmath>

#include "map/anchor_map.hpp"
#include "unit/model/model_kinds.hpp"
#include "unit/model/sketch_truth.hpp"

namespace mercer {
namespace {

using namespace samples;

FitOptions raw_options(const std::string& map) {
  FitOptions options;
  options.kernel = "matern(1.5, nu=1.5)";
  options.standardize = false;
  options.map = map;
  return options;
}

SketchPlan planned(const Data& s, const FitOptions& options, double error = 0.1) {
  ArrayRows rows = s.rows();
  return make_sketch_plan(rows, options, error, 0.95);
}

// For few rows the plan speaks of the very sketch that a fit would draw: dense algebra gives every number of it. 120 rows
// are below the first rank of the spectrum, which is then complete.
TEST(SketchPlan, JudgesTheSketchOfTheFit) {
  const Data s = data(120, 2, 1);
  const SketchTruth truth(one_scalar_kernel(kernel_of("matern(1.5, nu=1.5)", 2, 1)), s.x);
  for (const char* map : {"p-sr:40", "p-sg:40,p=0.2", "nystrom:40", "nystrom:40,leverage", "accumulation:40,m=3",
                          "gaussian-sketch:40", "countsketch:40", "srht:40"}) {
    FitOptions options = raw_options(map);
    options.seed = 5;
    const SketchPlan plan = planned(s, options);
    ASSERT_TRUE(plan.judged) << map;
    EXPECT_EQ(plan.rows, 120);
    EXPECT_EQ(plan.spectrum.rows, 120);
    Recipe recipe;
    parse_map(map, recipe);
    recipe.set_seed(5);
    truth.expect_radius(plan.radius, map);
    truth.expect_error(recipe.sketch, {plan.judged->mean_error, plan.judged->largest_error}, map);
    truth.expect_satisfied(recipe.sketch, plan.radius, plan.judged->satisfied, map);
  }
}

TEST(SketchPlan, AdvisesTheSmallestSizeOfTheTableAndASparserDraw) {
  const Data s = data(300, 2, 1);
  const SketchPlan plan = planned(s, raw_options("p-sr"), 0.05);
  ASSERT_TRUE(plan.advised);
  EXPECT_LE(plan.advised->mean_error, 0.05);
  for (const SketchPlanRow& row : plan.table) {
    EXPECT_TRUE(row.size >= plan.advised->size || row.mean_error > 0.05);
    EXPECT_GT(row.memory_bytes, 0);
    EXPECT_GT(row.seconds, 0);
  }
  ASSERT_TRUE(plan.satisfiable);
  EXPECT_TRUE(plan.satisfiable->satisfied.holds());
  EXPECT_TRUE(plan.bound);
  // What is advised can be asked for, and is what was measured.
  const SketchPlan again = planned(s, raw_options(plan.advised_map), 0.05);
  EXPECT_EQ(again.judged->mean_error, plan.advised->mean_error);
  // A given p stays.
  const SketchPlan fixed = planned(s, raw_options("p-sr,p=30/n"), 0.05);
  EXPECT_TRUE(fixed.advised_map.ends_with("p=30/n")) << fixed.advised_map;
}

TEST(SketchPlan, RowsOfWeightZeroAreAbsent) {
  Data s = data(200, 2, 1);
  Data half = data(100, 2, 1);
  for (Index i = 0; i < 200; ++i) s.weights.push_back(i % 2 == 0 ? 0.0 : 2.0);
  for (Index i = 0; i < 100; ++i) {
    std::ranges::copy(s.x.row(2 * i + 1), half.x.row(i).begin());
    std::ranges::copy(s.y.row(2 * i + 1), half.y.row(i).begin());
  }
  const SketchPlan a = planned(s, raw_options("p-sr:30"));
  const SketchPlan b = planned(half, raw_options("p-sr:30"));
  EXPECT_EQ(a.rows, 100);
  EXPECT_EQ(a.radius.squared, b.radius.squared);
  EXPECT_EQ(a.judged->mean_error, b.judged->mean_error);
}

// 3000 rows: 2000 are sketched, and the error is that of 500 rows the sketch has not seen. Nyström on all rows has the same
// mean error e but for the draws: errors in [0, 1] of mean e have variance at most e(1 - e), so a mean over 500 rows has
// standard deviation at most √(e(1 - e)/500). Six of them (2e-9), which leaves ample room for the draw of the anchors.
TEST(SketchPlan, ASampleStandsForAllRows) {
  const Data s = data(3000, 2, 1);
  FitOptions options = raw_options("nystrom:100");
  options.kernel = "matern(1, nu=2.5)";
  const SketchPlan plan = planned(s, options);
  EXPECT_EQ(plan.rows, 3000);
  EXPECT_EQ(plan.spectrum.rows, 2000);
  const Kernel kernel = one_scalar_kernel(kernel_of("matern(1, nu=2.5)", 2, 1));
  SketchRecipe recipe;
  recipe.law = SketchLaw::nystrom;
  recipe.size = 100;
  const Sketch sketch = draw_sketch(recipe, 3000);
  Matrix<double> anchors(100, 2);
  for (Index i = 0; i < 100; ++i) std::ranges::copy(s.x.row(sketch.anchors[i]), anchors.row(i).begin());
  const AnchorMap map(kernel_of("matern(1, nu=2.5)", 2, 1), 2, 1, make_parts(kernel, anchors, sketch, recipe.law));
  Matrix<double> phi(3000, map.columns());
  map.features(s.x, phi);
  const double error = 1 - dense(phi).squaredNorm() / 3000;
  EXPECT_NEAR(plan.judged->mean_error, error, 6 * std::sqrt(error * (1 - error) / 500));
}

TEST(SketchPlan, RefusesWhatItCannotMeasure) {
  const Data s = data(50, 2, 1);
  for (const char* map : {"p-sr:5000", "p-sr:10,p=1e-9"}) EXPECT_THROW(planned(s, raw_options(map)), Error) << map;
  FitOptions options = raw_options("p-sr:10");
  EXPECT_THROW(planned(s, options, 0), Error);
  options.kernel = "linear()";
  Data zero = data(20, 2, 1);
  for (double& v : zero.x.values()) v = 0;
  EXPECT_THROW(planned(zero, options), Error);
  EXPECT_TRUE(names_sketch("p-sr"));
  EXPECT_FALSE(names_sketch("exact"));
}

// Few rows, one row, repeated rows, constant inputs.
TEST(SketchPlan, SurvivesOddRows) {
  for (const Index n : {1, 3, 26}) {
    for (const char* map : {"p-sr", "srht", "nystrom,leverage", "nystrom:40"}) {
      Data s = data(n, 2, 1);
      EXPECT_GE(planned(s, raw_options(map)).radius.dimension, 1) << map << n;
      for (double& v : s.x.values()) v = 0.5;
      EXPECT_EQ(planned(s, raw_options(map)).judged.has_value(), std::string(map) == "nystrom:40");
    }
  }
}

}  // namespace
}  // namespace mercer
