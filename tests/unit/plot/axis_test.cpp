#include "plot/axis.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "plot/colour.hpp"

namespace mercer::plot {
namespace {

/// "0|0.5|1.0", "10^-2|.|10^-1": labels in order, unlabelled ticks as dots.
std::string labels(const std::vector<Tick>& ticks) {
  std::string text;
  for (const Tick& tick : ticks) {
    if (!text.empty()) text += "|";
    text += tick.label.text.empty() ? "." : tick.label.text;
    if (!tick.label.exponent.empty()) text += "^" + tick.label.exponent;
  }
  return text;
}

TEST(Ticks, LinearOnesAreNiceNumbers) {
  EXPECT_EQ(labels(linear_ticks(0, 1, 5)), "0|0.2|0.4|0.6|0.8|1.0");
  EXPECT_EQ(labels(linear_ticks(-1, 1, 4)), "−1.0|−0.5|0|0.5|1.0");
  EXPECT_EQ(labels(linear_ticks(0, 100, 4)), "0|25|50|75|100");
  EXPECT_EQ(labels(linear_ticks(3, 17, 7)), "4|6|8|10|12|14|16");
  EXPECT_EQ(labels(linear_ticks(0, 0.001, 4)), "0|0.00025|0.00050|0.00075|0.00100");
  EXPECT_EQ(labels(linear_ticks(0, 2e7, 4)), "0|5×10^6|1×10^7|1.5×10^7|2×10^7");
  EXPECT_EQ(labels(linear_ticks(-2e-8, 0, 2)), "−2×10^−8|−1×10^−8|0");
  EXPECT_EQ(labels(linear_ticks(999.9, 1000.1, 4)), "999.90|999.95|1000.00|1000.05|1000.10");
}

/// Over 20 000 random ranges of all magnitudes: evenly spaced by 1, 2, 2.5 or 5 · 10^k, inside, a readable number of them,
/// and no two with the same label.
TEST(Ticks, LinearOnesAreEvenInsideAndDistinct) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-290, 290);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int round = 0; round < 20000; ++round) {
    const double size = std::pow(10.0, exponent(random));
    const double low = size * unit(random);
    const double high = low + size * (0.01 + std::abs(unit(random)));
    const auto ticks = linear_ticks(low, high, 6);
    ASSERT_GE(ticks.size(), 3U) << low << " " << high;
    ASSERT_LE(ticks.size(), 11U) << low << " " << high;
    const double step = ticks[1].value - ticks[0].value;
    const double digit = step / std::pow(10.0, std::floor(std::log10(step) + 1e-6));
    const bool nice = std::abs(digit - 1) < 1e-5 || std::abs(digit - 2) < 1e-5 || std::abs(digit - 2.5) < 1e-5 ||
                      std::abs(digit - 5) < 1e-5;
    ASSERT_TRUE(nice) << digit;
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      ASSERT_GE(ticks[i].value, low - 1e-8 * (high - low));
      ASSERT_LE(ticks[i].value, high + 1e-8 * (high - low));
      if (i == 0) continue;
      ASSERT_NEAR((ticks[i].value - ticks[i - 1].value) / step, 1, 1e-5);
      ASSERT_NE(ticks[i].label, ticks[i - 1].label) << labels(ticks);
    }
  }
}

TEST(Ticks, LogarithmicOnesArePowersOfTen) {
  EXPECT_EQ(labels(log_ticks(0.01, 1, 6)), "10^−2|.|.|.|.|.|.|.|.|10^−1|.|.|.|.|.|.|.|.|10^0");
  EXPECT_EQ(labels(log_ticks(0.5, 200, 6)), ".|.|.|.|.|10^0|.|.|.|.|.|.|.|.|10^1|.|.|.|.|.|.|.|.|10^2|.");
  EXPECT_EQ(labels(log_ticks(1e-12, 1e2, 5)), "10^−12|.|.|10^−9|.|.|10^−6|.|.|10^−3|.|.|10^0|.|.");
  EXPECT_EQ(labels(log_ticks(1e-6, 1, 7)), "10^−6|10^−5|10^−4|10^−3|10^−2|10^−1|10^0");
}

TEST(Ticks, LogarithmicOnesOnLessThanTwoDecades) {
  EXPECT_EQ(labels(log_ticks(3, 40, 6)), "5|10|20");
  EXPECT_EQ(labels(log_ticks(0.03, 0.4, 6)), "0.05|0.1|0.2");
  EXPECT_EQ(labels(log_ticks(0.9, 1.1, 4)), "0.90|0.95|1.00|1.05|1.10");
  EXPECT_EQ(labels(log_ticks(3e8, 4e9, 6)), "5×10^8|1×10^9|2×10^9");
}

TEST(Axis, MapsLinearlyInTheValueOrItsLogarithm) {
  Axis linear(Range{-1, 3, false}, false, 0);
  linear.place(0, 100, 5);
  EXPECT_DOUBLE_EQ(linear.pixel(-1), 0);
  EXPECT_DOUBLE_EQ(linear.pixel(0), 25);
  EXPECT_DOUBLE_EQ(linear.pixel(3), 100);
  Axis log(Range{0.01, 100, false}, true, 0);
  log.place(400, 0, 5);
  EXPECT_NEAR(log.pixel(0.01), 400, 1e-9);
  EXPECT_NEAR(log.pixel(1), 200, 1e-9);
  EXPECT_NEAR(log.pixel(10), 100, 1e-9);
}

TEST(Axis, PadsButNotAcrossZero) {
  const Axis positive(Range{0.1, 10, false}, false, 0.05);
  EXPECT_EQ(positive.low(), 0);
  EXPECT_GT(positive.high(), 10);
  const Axis negative(Range{-10, -0.1, false}, false, 0.05);
  EXPECT_EQ(negative.high(), 0);
  const Axis both(Range{-1, 1, false}, false, 0.05);
  EXPECT_NEAR(both.low(), -1.1, 1e-12);
  EXPECT_NEAR(both.high(), 1.1, 1e-12);
}

/// Whatever the range, both ends and the ticks have finite places within the axis.
TEST(Axis, DegenerateAndExtremeRangesStayFinite) {
  const double denormal = std::numeric_limits<double>::denorm_min();
  const std::vector<Range> ranges = {{0, 0, true},           {0, 0, false},           {5, 5, false},
                                     {-5, -5, false},        {1e16, 1e16 + 2, false}, {1e-299, 1e299, false},
                                     {1e299, 1e299, false},  {1e-299, 1e-299, false}, {1, 1.0001, false},
                                     {-1e299, 1e299, false}, {0, denormal, false},    {1e-299, 2e-299, false}};
  for (const Range& range : ranges) {
    for (const bool log : {false, true}) {
      if (log && !range.empty && !drawable(range.low, true)) continue;
      Axis axis(range, log, 0.05);
      axis.place(0, 100, 6);
      EXPECT_LT(axis.low(), axis.high());
      EXPECT_NEAR(axis.pixel(axis.low()), 0, 1e-6);
      EXPECT_NEAR(axis.pixel(axis.high()), 100, 1e-6);
      EXPECT_GE(axis.ticks().size(), 2U) << range.low << " " << range.high << " " << log;
      for (const Tick& tick : axis.ticks()) {
        EXPECT_GE(axis.pixel(tick.value), -1e-3);
        EXPECT_LE(axis.pixel(tick.value), 100.001);
      }
    }
  }
}

TEST(Axis, WhatCanBeDrawn) {
  EXPECT_TRUE(drawable(-1, false));
  EXPECT_FALSE(drawable(-1, true));
  EXPECT_FALSE(drawable(0, true));
  EXPECT_FALSE(drawable(std::nan(""), false));
  EXPECT_FALSE(drawable(std::numeric_limits<double>::infinity(), true));
  EXPECT_FALSE(drawable(std::numeric_limits<double>::max(), false));
}

TEST(Colour, ViridisEndsAndMiddle) {
  EXPECT_EQ(viridis(0), "#440154");
  EXPECT_EQ(viridis(0.5), "#21908c");
  EXPECT_EQ(viridis(1), "#fde725");
  EXPECT_EQ(viridis(-3), viridis(0));
  EXPECT_EQ(viridis(7), viridis(1));
  EXPECT_EQ(viridis(std::nan("")), viridis(0));
}

}  // namespace
}  // namespace mercer::plot
