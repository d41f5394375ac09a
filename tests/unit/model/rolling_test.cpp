#include "model/rolling.hpp"

#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <cmath>

#include "io/tensor_file.hpp"
#include "model/state.hpp"
#include "unit/model/model_kinds.hpp"

namespace mercer {
namespace {

using namespace samples;
using Rows = std::vector<Index>;

TEST(Rolling, OriginsTileTheEnd) {
  EXPECT_EQ(rolling_origins(100, {10, 3}), (Rows{70, 80, 90}));
  EXPECT_EQ(rolling_origins(100, {10, 5}), (Rows{50, 60, 70, 80, 90}));
  EXPECT_EQ(rolling_origins(100, {1, 1}), (Rows{99}));
  EXPECT_EQ(rolling_origins(2, {1, 5}), (Rows{1}));
}

TEST(Rolling, OriginsMoveTogetherToLeaveHalf) {
  EXPECT_EQ(rolling_origins(100, {20, 4}), (Rows{50, 60, 70, 80}));
  EXPECT_EQ(rolling_origins(100, {49, 9}), (Rows{50, 51}));
  EXPECT_EQ(rolling_origins(100, {50, 9}), (Rows{50}));
  EXPECT_THROW(rolling_origins(100, {51, 1}), Error);
  EXPECT_THROW(rolling_origins(100, {0, 1}), Error);
  EXPECT_THROW(rolling_origins(100, {1, 0}), Error);
  EXPECT_THROW(rolling_origins(1, {1, 1}), Error);
}

struct Series {
  explicit Series(Index n) : x(n, 1), y(n, 1) {
    for (Index i = 0; i < n; ++i) {
      x(i, 0) = 0.25 * static_cast<double>(i);
      y(i, 0) = std::sin(x(i, 0)) + 0.01 * x(i, 0);
    }
  }
  Matrix<double> x, y;
};

TEST(Rolling, WeightsCountAndErrorsAreThoseOfTheRefittedModels) {
  const Series s(60);
  std::vector<double> weights(60, 1.0);
  weights[57] = 3;
  ArrayRows rows(s.x, s.y, weights);
  FitOptions options;
  options.map = "exact";
  options.penalty = 1e-4;
  const Model model = fit(rows, options);
  const Index memory = Index{1} << 30;
  const RollingScores scores = score_rolling(
      rows, [&](RowSource& r) { return refit_like(model, r, memory, nullptr); }, {3, 2}, nullptr);
  EXPECT_EQ(scores.origins, (Rows{54, 57}));
  EXPECT_EQ(scores.rows, 6);
  double square = 0;
  double step = 0;
  double weight = 0;
  for (const Index origin : scores.origins) {
    ArrayRows head(s.x.view().row_range(0, origin), s.y.view().row_range(0, origin));
    const Model refitted = refit_like(model, head, memory, nullptr);
    Matrix<double> mean(3, 1);
    refitted.predict(s.x.view().row_range(origin, 3), mean);
    for (Index k = 0; k < 3; ++k) {
      const double w = weights[static_cast<std::size_t>(origin + k)];
      const double r = mean(k, 0) - s.y(origin + k, 0);
      square += w * r * r;
      step += k == 0 ? w * r * r : 0;
      weight += w;
    }
  }
  EXPECT_NEAR(scores.rmse[0], std::sqrt(square / weight), 1e-12);
  EXPECT_NEAR(scores.rmse_by_step(0, 0), std::sqrt(step / 4), 1e-12);
  EXPECT_EQ(scores.coverage.size(), 1U);
}

TEST(Rolling, RowsOutOfOrderAreRefused) {
  Series s(60);
  std::swap(s.x(10, 0), s.x(20, 0));
  ArrayRows rows(s.x, s.y);
  FitOptions options;
  options.map = "exact";
  const Refit refit = [&](RowSource& r) { return fit(r, options); };
  EXPECT_THROW(score_rolling(rows, refit, {3, 2}, nullptr), Error);
}

TEST(ModelTimeline, IsKeptInTheFile) {
  const Series s(60);
  ArrayRows rows(s.x, s.y);
  FitOptions options;
  options.map = "fourier:10";
  const Model model = fit(rows, options);
  const Scratch file("series.mercer");
  model.save(file.path());
  const Model loaded = Model::load(file.path());
  ASSERT_TRUE(loaded.state().recipe.timeline.has_value());
  EXPECT_EQ(*loaded.state().recipe.timeline, *model.state().recipe.timeline);
  EXPECT_EQ(loaded.state().recipe.timeline->step, 0.25);
  EXPECT_EQ(loaded.state().recipe.timeline->last, 14.75);
}

TEST(ModelTimeline, MalformedOnesAreRefused) {
  const Series s(60);
  ArrayRows rows(s.x, s.y);
  FitOptions options;
  options.map = "fourier:10";
  const Scratch file("series.mercer");
  fit(rows, options).save(file.path());
  const auto with = [&](const std::string& from, const std::string& to) {
    TensorFile changed = TensorFile::load(file.path());
    std::string& text = changed.metadata["mercer.model"];
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const Scratch other("changed.mercer");
    changed.save(other.path());
    Model::load(other.path());
  };
  EXPECT_NO_THROW(with("\"months\":0", "\"months\":0"));
  EXPECT_THROW(with("\"months\":0", "\"months\":-1"), Error);
  EXPECT_THROW(with("\"months\":0", "\"months\":1000000000"), Error);
  EXPECT_THROW(with("\"day\":0", "\"day\":99"), Error);
  EXPECT_THROW(with("\"last\":14.75", "\"last\":null"), Error);
  EXPECT_THROW(with("\"last\":14.75", "\"last\":-1"), Error);
  EXPECT_THROW(with("\"step\":0.25", "\"step\":-0.25"), Error);
  EXPECT_THROW(with("\"format\":\"none\"", "\"format\":\"julian\""), Error);
  EXPECT_THROW(with("\"format\":\"none\",\"last\":14.75", "\"format\":\"iso_date\",\"last\":1e300"), Error);
}

}  // namespace
}  // namespace mercer
