// Conformal intervals: the rank rule against slow counting, coverage against its exact law, and files.
#include "model/conformal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/fit.hpp"
#include "model/state.hpp"
#include "unit/model/model_kinds.hpp"
#include "unit/solve/data.hpp"

namespace mercer {
namespace {

using namespace samples;

struct Bounds {
  Matrix<double> lower;
  Matrix<double> upper;
};

Bounds bounds(const Model& model, ConstMatrix x) {
  Bounds b{Matrix<double>(x.rows, model.interval_outputs()), Matrix<double>(x.rows, model.interval_outputs())};
  model.predict_interval(x, b.lower, b.upper);
  return b;
}

FitOptions plain(double level) {
  FitOptions options;
  options.kernel = "gaussian(1)";
  options.map = "fourier:15";
  options.penalty = 1e-2;
  options.conformal = level;
  return options;
}

TEST(Conformal, RankIsTheSmallestThatReachesTheLevel) {
  // Levels as whole hundredths c/100, so that integers alone decide: least k with 100·k ≥ c·(m + 1).
  for (Index m = 1; m <= 300; ++m) {
    for (Index c = 1; c <= 99; ++c) {
      Index k = 1;
      while (100 * k < c * (m + 1)) ++k;
      ASSERT_EQ(conformal_rank(m, static_cast<double>(c) / 100), k) << m << " " << c;
    }
  }
}

TEST(Conformal, RowsForALevel) {
  for (Index c = 1; c <= 99; ++c) {
    Index m = 1;
    while (100 * m < c * (m + 1)) ++m;
    EXPECT_EQ(rows_for_level(static_cast<double>(c) / 100), m) << c;
  }
  EXPECT_EQ(rows_for_level(0.999), 999);
}

TEST(Conformal, OffsetIsThatScore) {
  const Matrix<double> scores = normals(57, 1, "scores", 4);
  for (const double level : {0.1, 0.5, 0.9, 0.98}) {
    const std::vector<double> values(scores.values().begin(), scores.values().end());
    const double offset = conformal_offset(values, level);
    // The least score that has a share of at least `level` of the m + 1 places at or below it.
    double expected = INFINITY;
    for (const double s : values) {
      const auto below = static_cast<double>(std::ranges::count_if(values, [&](double v) { return v <= s; }));
      if (below / 58.0 >= level) expected = std::min(expected, s);
    }
    EXPECT_EQ(offset, expected) << level;
  }
  EXPECT_THROW(conformal_offset(std::vector<double>(8, 1.0), 0.9), Error);
  EXPECT_EQ(conformal_offset(std::vector<double>(9, 1.0), 0.9), 1.0);
}

TEST(Conformal, ScoresOfEachKindOfModelByHand) {
  Data s = data(200, 2, 2);
  struct Case {
    std::string uncertainty;
    bool relative;
  };
  for (const Case& c : {Case{"full", true}, Case{"none", false}}) {
    FitOptions options = plain(0.8);
    options.uncertainty = c.uncertainty;
    options.seed = 3;
    ArrayRows rows = s.rows();
    const Model model = fit(rows, options);
    const Calibration& calibration = model.state().calibration.value();
    EXPECT_EQ(calibration.relative, c.relative);
    EXPECT_EQ(calibration.rows, 40);
    EXPECT_EQ(model.summary().rows, 160);
    EXPECT_EQ(model.summary().calibration_rows, 40);
    ConformalRows parts(rows, options);
    RowBlock block;
    ASSERT_TRUE(parts.calibration.next(40, block));
    const Answer a = answer(model, block.inputs);
    const Bounds b = bounds(model, block.inputs);
    for (Index t = 0; t < 2; ++t) {
      std::vector<double> scores;
      for (Index i = 0; i < 40; ++i)
        scores.push_back(std::abs(block.targets(i, t) - a.mean(i, t)) / (c.relative ? a.deviation(i, t) : 1.0));
      std::ranges::sort(scores);
      const double offset = scores[32];  // ⌈41·0.8⌉ = 33rd
      EXPECT_EQ(calibration.offsets[static_cast<std::size_t>(t)], offset);
      for (Index i = 0; i < 40; ++i) {
        const double half = offset * (c.relative ? a.deviation(i, t) : 1.0);
        EXPECT_NEAR(b.lower(i, t), a.mean(i, t) - half, 1e-13);
        EXPECT_NEAR(b.upper(i, t), a.mean(i, t) + half, 1e-13);
      }
    }
  }
}

/// How many of `times` fresh data sets have a fresh row inside the interval.
int covered(const FitOptions& base, int times) {
  int inside = 0;
  for (int k = 0; k < times; ++k) {
    // 96 rows in one draw: 95 to fit and calibrate (19 of them calibrate), the last is new. Noise grows with |x|.
    Data s = data(96, 1, 1, 0.0, static_cast<std::uint64_t>(1000 + k));
    const Matrix<double> noise = normals(96, 1, "more noise", static_cast<std::uint64_t>(1000 + k));
    for (Index i = 0; i < 96; ++i) s.y(i, 0) += noise(i, 0) * (0.1 + std::abs(s.x(i, 0)));
    FitOptions options = base;
    options.seed = static_cast<std::uint64_t>(k);
    ArrayRows rows(s.x.view().row_range(0, 95), s.y.view().row_range(0, 95));
    const Bounds b = bounds(fit(rows, options), s.x.view().row_range(95, 1));
    inside += b.lower(0, 0) <= s.y(95, 0) && s.y(95, 0) <= b.upper(0, 0) ? 1 : 0;
  }
  return inside;
}

// m = 19 and level 0.9: k = 18, and with continuous scores the new row is inside with probability exactly 18/20. Over
// independent data sets the count is Binomial(600, 0.9), whose tails beyond 540 ± 36 have probability 1.9e-6
// (scipy.stats.binom).
TEST(Conformal, CoversAsPromisedWithDeviations) {
  EXPECT_NEAR(covered(plain(0.9), 600), 540, 36);
}

TEST(Conformal, CoversAsPromisedWithoutDeviations) {
  FitOptions options = plain(0.9);
  options.uncertainty = "none";
  EXPECT_NEAR(covered(options, 600), 540, 36);
}

TEST(Conformal, CoversAsPromisedAroundQuantiles) {
  FitOptions options = plain(0.9);
  options.quantiles = {0.2, 0.8};
  options.tolerance = 1e-2;  // the promise does not ask for a good fit
  EXPECT_NEAR(covered(options, 600), 540, 36);
}

TEST(Conformal, BadFitsCoverToo) {
  FitOptions options = plain(0.9);
  options.kernel = "gaussian(0.01)";  // wrong by a factor of a hundred
  options.penalty = 1e-8;
  EXPECT_NEAR(covered(options, 600), 540, 36);
}

TEST(Conformal, SurvivesSavingAndLoading) {
  const Data s = data(120, 2, 1);
  for (const char* kind : {"deviations", "plain", "exact", "quantiles"}) {
    FitOptions options = plain(0.85);
    if (kind == std::string("plain")) options.uncertainty = "none";
    if (kind == std::string("exact")) options.map = "exact";
    if (kind == std::string("quantiles")) options.quantiles = {0.1, 0.5, 0.9};
    ArrayRows rows = s.rows();
    const Model model = fit(rows, options);
    ASSERT_TRUE(model.has_intervals());
    const Scratch file("m.mercer");
    model.save(file.path());
    const Model loaded = Model::load(file.path());
    ASSERT_TRUE(loaded.has_intervals());
    EXPECT_EQ(loaded.summary().interval_level, 0.85);
    EXPECT_EQ(loaded.interval_outputs(), 1);
    const Bounds a = bounds(model, s.x);
    const Bounds b = bounds(loaded, s.x);
    EXPECT_TRUE(std::ranges::equal(a.lower.values(), b.lower.values())) << kind;
    EXPECT_TRUE(std::ranges::equal(a.upper.values(), b.upper.values())) << kind;
  }
}

TEST(Conformal, TimeOrderCalibratesOnTheLastRows) {
  const Data s = data(100, 1, 1);
  FitOptions options = plain(0.9);
  options.time_order = true;
  ArrayRows rows = s.rows();
  ConformalRows parts(rows, options);
  RowBlock block;
  ASSERT_TRUE(parts.calibration.next(20, block));
  for (Index i = 0; i < 20; ++i) EXPECT_EQ(block.inputs(i, 0), s.x(80 + i, 0));
}

TEST(Conformal, CrossedBoundsBecomeAPoint) {
  const Data s = data(100, 1, 1);
  FitOptions options = plain(0.1);  // far below the 98 % that the quantiles already cover: the offset is negative
  options.quantiles = {0.01, 0.99};
  ArrayRows rows = s.rows();
  const Model model = fit(rows, options);
  EXPECT_LT(model.state().calibration->offsets.front(), 0);
  const Bounds b = bounds(model, s.x);
  for (Index i = 0; i < 100; ++i) EXPECT_LE(b.lower(i, 0), b.upper(i, 0));
}

TEST(Conformal, RowsWithoutInputsGetNoInterval) {
  Data s = data(100, 2, 1);
  ArrayRows rows = s.rows();
  const Model model = fit(rows, plain(0.9));
  s.x(3, 1) = NAN;
  const Bounds b = bounds(model, s.x);
  EXPECT_TRUE(std::isnan(b.lower(3, 0)) && std::isnan(b.upper(3, 0)));
  EXPECT_FALSE(std::isnan(b.lower(4, 0)));
}

TEST(Conformal, RefusesWhatItCannotPromise) {
  const Data s = data(40, 1, 1);
  ArrayRows rows = s.rows();
  for (const double level : {0.0, 1.0, 1.2, -0.5, std::nan("")}) EXPECT_THROW(fit(rows, plain(level)), Error) << level;
  try {
    fit(rows, plain(0.95));
    FAIL();
  } catch (const Error& e) {  // 8 calibration rows
    EXPECT_NE(std::string(e.what()).find("at least 19 calibration rows"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("there are 8"), std::string::npos) << e.what();
  }
  FitOptions options = plain(0.8);
  options.conformal.reset();
  const Model model = fit(rows, options);
  EXPECT_FALSE(model.has_intervals());
  EXPECT_THROW(bounds(model, s.x), Error);
  Matrix<double> labels(40, 1);
  for (Index i = 0; i < 40; ++i) labels(i, 0) = static_cast<double>(i % 2);
  options = plain(0.8);
  options.classes = {"a", "b"};
  ArrayRows classes(s.x, labels);
  EXPECT_THROW(fit(classes, options), Error);
}

}  // namespace
}  // namespace mercer
