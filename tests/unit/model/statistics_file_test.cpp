#include "model/statistics_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "io/tensor_file.hpp"
#include "model/fit.hpp"
#include "unit/model/model_kinds.hpp"
#include "unit/solve/dense_ridge.hpp"

namespace mercer {
namespace {

using namespace samples;

Data weighted_data(Index inputs, Index outputs) {
  Data s = data(120, inputs, outputs);
  s.weights = counts(120);
  return s;
}

TEST(StatisticsFile, RoundTripsAndSolvesToTheFittedModel) {
  const Scratch file("shard.stats");
  for (const Sample& c : kernel_samples()) {
    for (const char* solver : {"cholesky", "eigen"}) {
      const Data s = weighted_data(c.inputs, c.outputs);
      FitOptions options;
      options.kernel = c.kernel;
      options.map = "fourier:10";
      options.penalty = 1e-3;
      options.solver = solver;
      ArrayRows rows = s.rows();
      const Recipe recipe = prepare(rows, options);
      const RidgeStatistics statistics = accumulate_recipe(rows, recipe, nullptr);
      save_statistics(file.path(), recipe, statistics);
      const StatisticsFile loaded = load_statistics(file.path());
      EXPECT_TRUE(same_recipe(recipe, loaded.recipe)) << c.name;
      EXPECT_EQ(loaded.statistics.rows, 120);
      EXPECT_EQ(loaded.statistics.columns, statistics.columns);
      EXPECT_EQ(loaded.statistics.outputs, statistics.outputs);
      EXPECT_EQ(loaded.statistics.blocks, statistics.blocks);
      EXPECT_TRUE(std::ranges::equal(loaded.statistics.moments.values(), statistics.moments.values())) << c.name;
      const Model from_statistics = solve_statistics(loaded.recipe, loaded.statistics, options);
      const Answer a = answer(from_statistics, s.x);
      const Answer b = answer(fit(rows, options), s.x);
      EXPECT_LT((dense(a.mean) - dense(b.mean)).norm(), 1e-9 * dense(b.mean).norm()) << c.name;
      EXPECT_LT((dense(a.deviation) - dense(b.deviation)).norm(), 1e-9 * dense(b.deviation).norm()) << c.name;
      EXPECT_DOUBLE_EQ(from_statistics.summary().weight, s.total());
    }
  }
}

TEST(StatisticsFile, ShardsMergeToTheFittedModel) {
  const Scratch file("shard.stats");
  const Data s = weighted_data(2, 2);
  FitOptions options;
  options.kernel = "helmholtz(gaussian(median), 0.4)";
  options.map = "fourier:15";
  options.penalty = 1e-3;
  ArrayRows rows = s.rows();
  const Recipe recipe = prepare(rows, options);
  RidgeStatistics merged;
  for (Index first : {Index{0}, Index{50}}) {
    const Index n = first == 0 ? 50 : 70;
    ArrayRows part(s.x.view().row_range(first, n), s.y.view().row_range(first, n),
                   std::span<const double>(s.weights).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n)));
    save_statistics(file.path(), recipe, accumulate_recipe(part, recipe, nullptr));
    StatisticsFile shard = load_statistics(file.path());
    ASSERT_TRUE(same_recipe(recipe, shard.recipe));
    if (first == 0) {
      merged = std::move(shard.statistics);
    } else {
      merge(merged, shard.statistics);
      EXPECT_THROW(merge(merged, shard.statistics), Error);
    }
  }
  const Answer a = answer(solve_statistics(recipe, merged, options), s.x);
  const Answer b = answer(fit(rows, options), s.x);
  EXPECT_LT((dense(a.mean) - dense(b.mean)).norm(), 1e-9 * dense(b.mean).norm());
}

// Generalised cross-validation: the least n·RSS/(n - df)².
TEST(StatisticsFile, ChoosesAPenaltyWithoutRows) {
  Data s = data(300, 2, 2, 0.3);
  for (double& v : s.x.values()) v = std::erf(v / std::sqrt(2.0));
  FitOptions options;
  options.map = "fourier:40";
  options.standardize = false;
  ArrayRows rows = s.rows();
  const Recipe recipe = prepare(rows, options);
  const Model model = solve_statistics(recipe, accumulate_recipe(rows, recipe, nullptr), options);
  const FourierMap map(recipe.kernel, 2, 2, recipe.fourier);
  double best = std::numeric_limits<double>::infinity();
  double chosen = 0;
  for (const auto& [penalty, score] : model.summary().penalty_path) {
    best = std::min(best, score);
    if (penalty == model.summary().penalty) chosen = score;
    if (penalty < 1e-6) continue;
    const auto naive = oracle::dense_ridge(operator_rows(map, s.x), dense(s.y), s.all_weights(), penalty * 300, true);
    const double expected = 300 * (naive.rss[0] + naive.rss[1]) / std::pow(300 - naive.degrees_of_freedom, 2);
    EXPECT_NEAR(score, expected, 1e-7 * expected) << penalty;
  }
  EXPECT_EQ(chosen, best);
}

TEST(StatisticsFile, RefusesRowsAndRecipesThatDoNotFit) {
  const Data s = data(40, 2, 2);
  FitOptions options;
  options.map = "fourier:10";
  options.penalty = 1e-3;
  ArrayRows rows = s.rows();
  const Recipe recipe = prepare(rows, options);
  ArrayRows one_target(s.x, s.y.view().col_range(0, 1));
  EXPECT_THROW(accumulate_recipe(one_target, recipe, nullptr), Error);
  const Data wide = data(40, 3, 2);
  ArrayRows three_inputs = wide.rows();
  EXPECT_THROW(accumulate_recipe(three_inputs, recipe, nullptr), Error);
  Data hole = s;
  hole.x(3, 0) = std::nan("");
  ArrayRows broken = hole.rows();
  EXPECT_THROW(accumulate_recipe(broken, recipe, nullptr), Error);
  options.map = "fourier:11";
  const Recipe other = prepare(rows, options);
  EXPECT_FALSE(same_recipe(recipe, other));
  EXPECT_THROW(solve_statistics(other, accumulate_recipe(rows, recipe, nullptr), options), Error);
  options.map = "exact";
  EXPECT_THROW(accumulate_recipe(rows, prepare(rows, options), nullptr), Error);
  Recipe scaled = recipe;
  scaled.scaling.input_scale[0] *= 2;
  EXPECT_FALSE(same_recipe(recipe, scaled));
  Recipe seeded = recipe;
  seeded.fourier.seed += 1;
  EXPECT_FALSE(same_recipe(recipe, seeded));
}

TEST(StatisticsFile, EveryFlippedByteIsRefused) {
  const Scratch file("shard.stats");
  const Data s = data(20, 2, 1);
  FitOptions options;
  options.map = "fourier:2";
  ArrayRows rows = s.rows();
  const Recipe recipe = prepare(rows, options);
  save_statistics(file.path(), recipe, accumulate_recipe(rows, recipe, nullptr));
  const std::vector<char> good = bytes_of(file.path());
  for (std::size_t i = 0; i < good.size(); ++i) {
    put_byte(file.path(), i, static_cast<char>(good[i] ^ 0x01));
    EXPECT_THROW(load_statistics(file.path()), Error) << i;
    put_byte(file.path(), i, good[i]);
  }
  EXPECT_NO_THROW(load_statistics(file.path()));
  EXPECT_THROW(Model::load(file.path()), Error) << "statistics are not a model";
  const TensorFile honest = TensorFile::load(file.path());
  for (const std::size_t size : {6U, 20U, 21U}) {  // triangles of side 3 and 6 (the true one), and none
    TensorFile hostile;
    hostile.metadata = honest.metadata;
    for (const char* name :
         {"scaling.input_shift", "scaling.input_scale", "scaling.target_shift", "scaling.target_scale", "target_mean"}) {
      hostile.add(name, honest.vector(name));
    }
    hostile.add("moments", std::vector<double>(size, 1.0));
    hostile.add_bytes("blocks", honest.bytes("blocks"));
    hostile.save(file.path());
    if (size == 21U) {
      EXPECT_NO_THROW(load_statistics(file.path()));
    } else {
      EXPECT_THROW(load_statistics(file.path()), Error) << size;
    }
  }
}

}  // namespace
}  // namespace mercer
