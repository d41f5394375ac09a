#include "gp/initial_mixture.hpp"

#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "base/matrix.hpp"
#include "gp/periodogram.hpp"

namespace mercer {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;
const Stream seed(11, "initial mixture");

struct Series {
  std::vector<double> x;
  std::vector<double> y;
  ConstMatrix inputs() const { return {x.data(), std::ssize(x), 1}; }
};

double variance(const std::vector<double>& y) {
  double mean = 0;
  for (const double value : y) mean += value / static_cast<double>(y.size());
  double squares = 0;
  for (const double value : y) squares += (value - mean) * (value - mean);
  return squares / static_cast<double>(y.size());
}

/// How far the nearest mean in `input` is from `frequency`, relative to it.
double nearest(const SpectralMixture& kernel, double frequency, std::size_t input = 0) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& mean : kernel.means) best = std::min(best, std::abs(mean[input] - frequency) / frequency);
  return best;
}

void expect_sound(const InitialMixture& start, Index components, Index inputs, double total) {
  ASSERT_EQ(std::ssize(start.kernel.weights), components);
  ASSERT_EQ(std::ssize(start.kernel.means), components);
  ASSERT_EQ(std::ssize(start.kernel.scales), components);
  double sum = 0;
  for (std::size_t q = 0; q < start.kernel.weights.size(); ++q) {
    EXPECT_TRUE(std::isfinite(start.kernel.weights[q]));
    EXPECT_GT(start.kernel.weights[q], 1e-4 * total / static_cast<double>(components));
    EXPECT_LE(start.kernel.weights[q], start.kernel.weights[q > 0 ? q - 1 : 0]);
    sum += start.kernel.weights[q];
    ASSERT_EQ(std::ssize(start.kernel.means[q]), inputs);
    ASSERT_EQ(std::ssize(start.kernel.scales[q]), inputs);
    for (const double mean : start.kernel.means[q]) EXPECT_TRUE(std::isfinite(mean) && mean > 0) << mean;
    for (const double scale : start.kernel.scales[q]) EXPECT_TRUE(std::isfinite(scale) && scale > 0) << scale;
  }
  EXPECT_GE(start.noise, 0.999e-4 * total);
  EXPECT_LE(start.noise, 0.501 * total);
  EXPECT_NEAR((sum + start.noise) / total, 1, 1e-9);
}

TEST(InitialMixture, EveryCycleGetsAComponent) {
  for (const bool even : {true, false}) {
    Series series;
    const Stream noise(1, "noise");
    for (Index i = 0; i < 500; ++i) {
      const double x = 0.02 * (static_cast<double>(i) + (even ? 0 : 0.8 * noise.uniform(i, 0)));
      series.x.push_back(x);
      series.y.push_back(7 + 3 * std::sin(two_pi * 1.3 * x) + std::cos(two_pi * 4.04 * x) +
                         0.5 * std::sin(two_pi * 9.7 * x) + 0.1 * noise.normal(i, 1));
    }
    for (const Index components : {3, 5, 10}) {
      const InitialMixture start = initial_mixture(series.inputs(), series.y, components, seed);
      expect_sound(start, components, 1, variance(series.y));
      for (const double frequency : {1.3, 4.04, 9.7}) EXPECT_LT(nearest(start.kernel, frequency), 0.01) << frequency;
      EXPECT_NEAR(start.kernel.means[0][0], 1.3, 0.005);
      EXPECT_NEAR(start.kernel.weights[0], 4.5, 0.5);
      EXPECT_LT(start.kernel.scales[0][0], 0.03);
      EXPECT_NEAR(start.noise, 0.01, 0.01);  // uneven sampling would make 0.45 of it, were cycles not taken out
    }
  }
}

// A cycle next to a curved trend: the centre of its power lies 0.6 % aside, its top does not. Steady as far as 12 turns
// tell.
TEST(InitialMixture, CyclesStandWhereTheirPeaksHaveTheirTops) {
  Series series;
  for (Index i = 0; i < 144; ++i) {
    const double x = static_cast<double>(i) / 12;
    series.x.push_back(x);
    series.y.push_back(0.3 * x * x + 4 * std::sin(two_pi * x) + 3 * std::sin(two_pi * 1.21 * x));
  }
  const InitialMixture start = initial_mixture(series.inputs(), series.y, 6, seed);
  EXPECT_LT(nearest(start.kernel, 1.0), 2e-4);  // the centre is 3.5e-4 away
  EXPECT_LT(nearest(start.kernel, 1.21), 2e-4);
}

// A part of a cycle has no phase that a forecast could keep: such a part starts as a bump at
// frequency 0 as wide as it was far away, so that it wanders instead of turning back on schedule.
TEST(InitialMixture, PartOfACycleIsATrend) {
  for (const bool even : {true, false}) {
    for (const double turns : {0.6, 0.8}) {
      const Stream noise(6, "noise");
      Series series;
      for (Index i = 0; i < 300; ++i) {
        const double x = (static_cast<double>(i) + (even ? 0 : 0.8 * noise.uniform(i, 0))) / 300;
        series.x.push_back(x);
        series.y.push_back(2 * x + std::sin(two_pi * turns * x + 1) + std::sin(two_pi * 30 * x) + 0.1 * noise.normal(i, 1));
      }
      const InitialMixture start = initial_mixture(series.inputs(), series.y, 4, seed);
      EXPECT_LT(nearest(start.kernel, 30), 0.005);
      double slow = 0;  // the widest of the slow components
      for (std::size_t q = 0; q < start.kernel.weights.size(); ++q) {
        if (start.kernel.means[q][0] >= 1.5) continue;
        EXPECT_LT(start.kernel.means[q][0], 0.1);
        slow = std::max(slow, start.kernel.scales[q][0]);
      }
      EXPECT_GT(slow, 0.3) << turns << (even ? " even" : " uneven");
      EXPECT_LT(slow, 2.0);
    }
  }
}

// The power of white noise is exponential. The median of m of them has relative deviation 1/(√m log 2); m = 4000/2
// frequencies, a third fewer independent ones under the taper: five deviations are 20 %, with probability 6e-7 of being
// outside.
TEST(InitialMixture, NoiseComesFromTheFloor) {
  const Stream noise(2, "noise");
  Series series;
  for (Index i = 0; i < 4000; ++i) {
    series.x.push_back(static_cast<double>(i));
    series.y.push_back(2 * std::sin(two_pi * 0.0123 * series.x.back()) + 0.7 * noise.normal(i, 0));
  }
  const InitialMixture start = initial_mixture(series.inputs(), series.y, 2, seed);
  EXPECT_NEAR(start.noise / 0.49, 1, 0.2);
}

// A smooth random function has no lines: exp(-δ²/2ℓ²) has the spectrum N(0, 1/(2πℓ)²), which one component should show.
TEST(InitialMixture, BroadSpectrumGetsABroadComponent) {
  const Stream draw(3, "frequencies");
  const double length = 2;
  Series series;
  for (Index i = 0; i < 1000; ++i) {
    const double x = 0.2 * static_cast<double>(i);
    double y = 0;
    for (Index j = 0; j < 400; ++j) y += std::cos(draw.normal(j, 0) / length * x + two_pi * draw.uniform(j, 1));
    series.x.push_back(x);
    series.y.push_back(y);
  }
  const InitialMixture start = initial_mixture(series.inputs(), series.y, 1, seed);
  const double second = std::hypot(start.kernel.means[0][0], start.kernel.scales[0][0]);
  EXPECT_NEAR(second * two_pi * length, 1, 0.2);
}

TEST(InitialMixture, SeveralInputsHaveTheirOwnSpectra) {
  const Stream place(4, "places");
  Matrix<double> x(2000, 3);
  std::vector<double> y;
  for (Index i = 0; i < x.rows(); ++i) {
    x(i, 0) = 10 * place.uniform(i, 0);
    x(i, 1) = 100 * place.uniform(i, 1);
    x(i, 2) = 4;
    y.push_back(std::sin(two_pi * 0.5 * x(i, 0)) + std::sin(two_pi * 0.03 * x(i, 1)));
  }
  const InitialMixture start = initial_mixture(x, y, 5, seed);
  expect_sound(start, 5, 3, variance(y));
  EXPECT_LT(nearest(start.kernel, 0.5, 0), 0.05);
  EXPECT_LT(nearest(start.kernel, 0.03, 1), 0.05);
  EXPECT_EQ(start.kernel, initial_mixture(x, y, 5, seed).kernel);
  for (const auto& component : start.kernel.means) EXPECT_LT(component[0], 2.5);  // 2000^⅓/2 cycles in a range of 10
}

TEST(InitialMixture, SurvivesWhatDataBring) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Index n : {1, 2, 3, 10}) {
    for (const Index d : {1, 2}) {
      for (const Index components : {1, 3, 20}) {
        for (const int kind : {0, 1, 2, 3, 4, 5, 6}) {
          Matrix<double> x(n, d);
          std::vector<double> y;
          for (Index i = 0; i < n; ++i) {
            x(i, d - 1) = kind == 1 ? 5.0 : 1e9 + std::floor(static_cast<double>(i) / (kind == 2 ? 2 : 1));
            if (d > 1) x(i, 0) = static_cast<double>((i * 7) % 5);
            y.push_back(kind == 3 ? 1e6 : 1e6 + static_cast<double>((i * i) % 7));
            if (kind == 4 && i % 3 == 1) y.back() = nan;
            if (kind == 5) y.back() *= 1e100;
            if (kind == 6) x(i, d - 1) = 1e-200 * static_cast<double>(i * i);
          }
          const InitialMixture start = initial_mixture(x, y, components, seed);
          double total = start.noise;
          for (const double w : start.kernel.weights) total += w;
          SCOPED_TRACE("n " + std::to_string(n) + " d " + std::to_string(d) + " kind " + std::to_string(kind));
          expect_sound(start, components, d, total);
        }
      }
    }
  }
}

TEST(InitialMixture, LongTablesAreThinned) {
  const Stream place(7, "places");
  Matrix<double> x(200000, 2);
  std::vector<double> y;
  for (Index i = 0; i < x.rows(); ++i) {
    x(i, 0) = static_cast<double>(i % 400) / 400;
    x(i, 1) = place.uniform(i, 0);
    y.push_back(std::sin(two_pi * 20 * x(i, 0)) * (1 + 0.1 * x(i, 1)));
  }
  const InitialMixture start = initial_mixture(x, y, 4, seed);
  expect_sound(start, 4, 2, variance(y));
  EXPECT_LT(nearest(start.kernel, 20, 0), 0.01);
}

TEST(InitialMixture, RefusesNonsense) {
  const Series series{{1, 2, 3}, {1, 2, 3}};
  EXPECT_THROW(initial_mixture(series.inputs(), series.y, 0, seed), Error);
  EXPECT_THROW(initial_mixture(series.inputs(), std::vector{1.0}, 1, seed), Error);
  EXPECT_THROW(initial_mixture({series.x.data(), 3, 0}, series.y, 1, seed), Error);
}

TEST(InitialMixture, DensityIntegratesToTheWeights) {
  const SpectralMixture mixture{{2, 0.5}, {{9, 0.1}, {9, 3}}, {{1, 0.3}, {1, 0.2}}};
  std::vector<double> frequency;
  for (Index i = 0; i < 50000; ++i) frequency.push_back((static_cast<double>(i) + 0.5) * 1e-4);
  double sum = 0;
  for (const double value : mixture_density(mixture, 1, frequency)) sum += value * 1e-4;
  EXPECT_NEAR(sum, 2.5, 1e-8);
  // At s = 0.1 by hand: 2·(1 + exp(-½(0.2/0.3)²))/(0.3 √2π), the other component is 14.5 scales away.
  const double expected = 2 * (1 + std::exp(-0.5 * 4 / 9)) / (0.3 * std::sqrt(two_pi));
  EXPECT_NEAR(mixture_density(mixture, 1, std::vector{0.1})[0], expected, 1e-12);
  EXPECT_EQ(mixture_density({{1}, {{1}}, {{0}}}, 0, std::vector{1.0})[0], 0);
}

/// Empty where there is no folder of real data.
Series read_series(const std::string& name) {
  const char* set = std::getenv("MERCER_DATA");
  const std::filesystem::path folder = set ? set : MERCER_TEST_DIR "/../../shared/data";
  std::ifstream file(folder / "series" / name);
  Series series;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const std::size_t comma = line.find(',');
    series.x.push_back(std::stod(line.substr(0, comma)));
    series.y.push_back(std::stod(line.substr(comma + 1)));
  }
  return series;
}

TEST(InitialMixture, RealSeriesShowTheirPeriods) {
  const Series co2 = read_series("co2-monthly.csv");
  const Series airline = read_series("airline.csv");
  const Series sunspots = read_series("sunspots-monthly.csv");
  if (co2.x.empty() || airline.x.empty() || sunspots.x.empty()) GTEST_SKIP() << "shared/data/series is not here";
  for (const Index components : {3, 5, 10}) {
    const SpectralMixture rise = initial_mixture(co2.inputs(), co2.y, components, seed).kernel;
    EXPECT_LT(nearest(rise, 1), 0.002);
    EXPECT_LT(rise.means[0][0], 1.0 / 40);
    const SpectralMixture flights = initial_mixture(airline.inputs(), airline.y, components, seed).kernel;
    EXPECT_LT(nearest(flights, 1), 0.01);
    EXPECT_LT(flights.means[0][0], 1.0 / 12);
    const Series early{{airline.x.begin(), airline.x.begin() + 96}, {airline.y.begin(), airline.y.begin() + 96}};
    EXPECT_LT(nearest(initial_mixture(early.inputs(), early.y, components, seed).kernel, 1), 0.01);
    const SpectralMixture spots = initial_mixture(sunspots.inputs(), sunspots.y, components, seed).kernel;
    EXPECT_NEAR(1 / spots.means[0][0], 10.9, 0.3);
  }
}

}  // namespace
}  // namespace mercer
