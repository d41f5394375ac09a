#include "gp/periodogram.hpp"

#include <gtest/gtest.h>
#include <mercer/error.hpp>
#include <mercer/view.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.hpp"

namespace mercer {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double variance(const std::vector<double>& y) {
  const double mean = sum(y) / static_cast<double>(y.size());
  double squares = 0;
  for (const double value : y) squares += (value - mean) * (value - mean);
  return squares / static_cast<double>(y.size());
}

double strongest(const Spectrum& spectrum) {
  const auto at = std::max_element(spectrum.power.begin(), spectrum.power.end());
  return spectrum.frequency[static_cast<std::size_t>(at - spectrum.power.begin())];
}

void expect_sound(const Spectrum& spectrum) {
  ASSERT_EQ(spectrum.frequency.size(), spectrum.power.size());
  double before = 0;
  for (std::size_t k = 0; k < spectrum.power.size(); ++k) {
    ASSERT_TRUE(std::isfinite(spectrum.power[k]) && spectrum.power[k] >= 0) << "frequency " << k;
    ASSERT_TRUE(std::isfinite(spectrum.frequency[k]) && spectrum.frequency[k] > before) << "frequency " << k;
    before = spectrum.frequency[k];
  }
  EXPECT_EQ(spectrum.highest, before);
  EXPECT_TRUE(std::isfinite(spectrum.resolution));
  EXPECT_GE(spectrum.trend, 0);
}

// |rfft(y - mean, 32)|² of numpy 2.4 over 10·32, doubled but for the last.
TEST(Periodogram, EvenSamplingAgreesWithNumpy) {
  const std::vector<double> y{0.5, 0.478, 0.8, -0.404, -1.258, -0.27, 0.625, -0.054, -1.313, -1.138};
  const std::vector<double> expected{0.0362866986492869,  0.0684279073856685,  0.0282240944863337,   0.00390874553682034,
                                     0.0688326942943525,  0.13943373610205,    0.126982316677211,    0.0682085045,
                                     0.027413581675798,   0.00867905853488526, 0.000891259124247716, 0.00369584346317966,
                                     0.00638198642269341, 0.00272581197739606, 0.00178748867007701,  0.0017205125};
  std::vector<double> x;
  for (std::size_t i = 0; i < y.size(); ++i) x.push_back(3 + 0.25 * static_cast<double>(i));
  const Spectrum spectrum = empirical_spectrum(x, y);
  ASSERT_EQ(spectrum.power.size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    EXPECT_NEAR(spectrum.frequency[k], static_cast<double>(k + 1) / (32 * 0.25), 1e-14);
    EXPECT_NEAR(spectrum.power[k], expected[k], 1e-14);
  }
  EXPECT_NEAR(spectrum.highest, 2, 1e-14);
  EXPECT_NEAR(spectrum.resolution, 1 / 2.5, 1e-14);
  EXPECT_EQ(spectrum.trend, 0);
}

// scipy.signal.lombscargle(x, y, 2πf, floating_mean=True, normalize=True) of scipy 1.17, scaled to sum to var(y).
TEST(Periodogram, UnevenSamplingAgreesWithScipy) {
  const std::vector<double> x{0.0, 0.7, 1.1, 2.6, 3.1, 4.9, 5.0, 6.2, 7.7, 8.3, 9.9, 10.4};
  const std::vector<double> y{0.216, 0.902, 1.229, -0.911, -0.499, 0.232, -0.093, -0.178, 0.483, -0.321, 0.772, 0.59};
  const std::vector<double> expected{
      0.0144417891136465,   0.0145720179089712,  0.0147020039833196,  0.0146265171267448,   0.0130713925844047,
      0.00716763248148559,  0.00421208889218858, 0.0119253956583702,  0.0179812732544795,   0.019024436403762,
      0.015354213240045,    0.00583330783154664, 0.0185738513988802,  0.0367476414321217,   0.0375466534246407,
      0.0313243170844914,   0.0199186203696319,  0.00317722244534524, 0.00469007122287356,  0.0107101064570067,
      0.0117903768042061,   0.00806653978296417, 0.00278337309151877, 0.000402600934750962, 0.000330709975815924,
      0.00121467344497332,  0.00303108506161466, 0.0044570493152058,  0.00440553579970748,  0.00235942421024075,
      0.000961892843958731, 0.00193163243610469, 0.00394402620720508};
  const Spectrum spectrum = empirical_spectrum(x, y);
  ASSERT_EQ(spectrum.power.size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) EXPECT_NEAR(spectrum.power[k], expected[k], 1e-9) << k;
  EXPECT_NEAR(spectrum.highest, 0.7271634615384615, 1e-12);
}

TEST(Periodogram, PowerSumsToTheVariance) {
  const Stream stream(1, "noise");
  for (const Index n : {2, 3, 10, 101, 1000}) {
    for (const bool even : {true, false}) {
      for (const Taper taper : {Taper::none, Taper::hann}) {
        std::vector<double> x;
        std::vector<double> y;
        for (Index i = 0; i < n; ++i) {
          x.push_back(static_cast<double>(i) + (even ? 0 : 0.8 * stream.uniform(i, 0)));
          y.push_back(1e3 + stream.normal(i, 1) + 0.01 * static_cast<double>(i));
        }
        const Spectrum spectrum = empirical_spectrum(x, y, taper);
        expect_sound(spectrum);
        EXPECT_NEAR(sum(spectrum.power) / variance(y), 1, 1e-9) << "n " << n << ", even " << even;
      }
    }
  }
}

TEST(Periodogram, CyclesAreRecovered) {
  const Stream stream(2, "places");
  for (const double frequency : {0.05, 0.2137, 0.41}) {
    for (const bool even : {true, false}) {
      std::vector<double> x;
      std::vector<double> y;
      for (Index i = 0; i < 300; ++i) {
        x.push_back(static_cast<double>(i) + (even ? 0 : 0.9 * stream.uniform(i, 0)));
        y.push_back(5 + 2 * std::sin(two_pi * frequency * x.back() + 0.3));
      }
      const Spectrum spectrum = empirical_spectrum(x, y);
      EXPECT_NEAR(strongest(spectrum), frequency, 0.5 * spectrum.frequency[0] + 1e-4) << "even " << even;
    }
  }
}

// 60 places of every 400 of an even series: cycles above half a cycle per mean gap still show.
TEST(Periodogram, GapsKeepFastCycles) {
  std::vector<double> x;
  std::vector<double> y;
  for (Index i = 0; i < 2000; ++i) {
    if (i % 400 >= 60) continue;
    x.push_back(static_cast<double>(i));
    y.push_back(std::cos(two_pi * 0.37 * x.back()));
  }
  const Spectrum spectrum = empirical_spectrum(x, y);
  expect_sound(spectrum);
  EXPECT_NEAR(spectrum.highest, 0.5, 1e-3);
  EXPECT_NEAR(strongest(spectrum), 0.37, spectrum.resolution / 4);
}

TEST(Periodogram, OrderDoesNotMatterAndRoundedStepsAreEven) {
  const Stream stream(5, "order");
  std::vector<std::pair<double, double>> rows;
  for (Index i = 0; i < 120; ++i) {
    const double month = 1949 + static_cast<double>(i) / 12;
    rows.emplace_back(std::round(month * 1e6) / 1e6, stream.normal(i, 0));
  }
  const auto spectrum_of = [&] {
    std::vector<double> x;
    std::vector<double> y;
    for (const auto& row : rows) {
      x.push_back(row.first);
      y.push_back(row.second);
    }
    return empirical_spectrum(x, y);
  };
  const Spectrum sorted = spectrum_of();
  EXPECT_NEAR(sorted.highest, 6, 1e-5);
  EXPECT_EQ(sorted.frequency.size(), 128u);  // 256/2: the grid of the FFT, not of Lomb-Scargle
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const Spectrum shuffled = spectrum_of();
  for (std::size_t k = 0; k < sorted.power.size(); ++k) EXPECT_NEAR(shuffled.power[k], sorted.power[k], 1e-14);
}

TEST(Periodogram, RepeatedPlacesAreAveragedAndTheirScatterIsFlat) {
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> place;
  std::vector<double> mean;
  for (Index i = 0; i < 64; ++i) {
    place.push_back(static_cast<double>(i));
    mean.push_back(std::sin(two_pi * 0.125 * static_cast<double>(i)));
    for (const double off : {-0.5, 0.5}) {
      x.push_back(place.back());
      y.push_back(mean.back() + off);
    }
  }
  const Spectrum twice = empirical_spectrum(x, y);
  const Spectrum once = empirical_spectrum(place, mean);
  ASSERT_EQ(twice.power.size(), once.power.size());
  const double flat = 0.25 / static_cast<double>(once.power.size());
  for (std::size_t k = 0; k < once.power.size(); ++k) EXPECT_NEAR(twice.power[k], once.power[k] + flat, 1e-14);
}

TEST(Periodogram, ALineIsATrendAndACycleIsNot) {
  std::vector<double> x;
  std::vector<double> line;
  std::vector<double> cycle;
  for (Index i = 0; i < 200; ++i) {
    x.push_back(0.5 * static_cast<double>(i));
    line.push_back(3 * x.back() + std::sin(two_pi * 0.3 * x.back()));
    cycle.push_back(std::sin(two_pi * 0.01 * x.back()));  // once in the series: a line would take 6/π² of it
  }
  const Spectrum with_line = empirical_spectrum(x, line);
  EXPECT_NEAR(with_line.trend / variance(line), 1, 1e-2);
  EXPECT_GE(with_line.power[0], with_line.trend);
  Spectrum rest = with_line;
  rest.power[0] -= rest.trend;
  EXPECT_NEAR(strongest(rest), 0.3, rest.frequency[0]);
  EXPECT_EQ(empirical_spectrum(x, cycle).trend, 0);
}

TEST(Periodogram, OffsetsDoNotMatter) {
  const Stream stream(6, "places");
  std::vector<double> x;
  std::vector<double> y;
  for (Index i = 0; i < 200; ++i) {
    x.push_back(1e9 + static_cast<double>(i) + 0.5 * stream.uniform(i, 0));
    y.push_back(1e9 + std::cos(two_pi * 0.123 * (x.back() - 1e9)));
  }
  const Spectrum spectrum = empirical_spectrum(x, y);
  expect_sound(spectrum);
  EXPECT_NEAR(strongest(spectrum), 0.123, spectrum.frequency[0]);
  EXPECT_NEAR(sum(spectrum.power), variance(y), 1e-6);
}

TEST(Periodogram, SmallAndFlatSeries) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(empirical_spectrum({}, {}).power.empty());
  EXPECT_TRUE(empirical_spectrum(std::vector{1.0}, std::vector{2.0}).power.empty());
  EXPECT_TRUE(empirical_spectrum(std::vector{1.0, 1.0}, std::vector{2.0, 3.0}).power.empty());
  EXPECT_TRUE(empirical_spectrum(std::vector{1.0, 2.0}, std::vector{nan, 3.0}).power.empty());
  EXPECT_TRUE(empirical_spectrum(std::vector{0.0, 5e-324}, std::vector{1.0, 3.0}).power.empty());
  const Spectrum two = empirical_spectrum(std::vector{4.0, 1.0}, std::vector{2.0, 3.0});
  expect_sound(two);
  EXPECT_NEAR(sum(two.power), 0.25, 1e-14);
  for (const double level : {0.0, 0.1, 1e9 + 0.3}) {
    std::vector<double> x;
    for (Index i = 0; i < 50; ++i) x.push_back(static_cast<double>(i * i));
    const Spectrum flat = empirical_spectrum(x, std::vector<double>(50, level));
    expect_sound(flat);
    EXPECT_EQ(sum(flat.power), 0);
  }
}

TEST(Periodogram, RefusesWhatOverflows) {
  EXPECT_THROW(empirical_spectrum(std::vector{1.0, 2.0}, std::vector{1.0}), Error);
  EXPECT_THROW(empirical_spectrum(std::vector{1.0, 2.0}, std::vector{-1e200, 1e200}), Error);
  EXPECT_THROW(empirical_spectrum(std::vector{-1e308, 1e308}, std::vector{1.0, 2.0}), Error);
}

TEST(Periodogram, ClustersDoNotAskForMillionsOfFrequencies) {
  std::vector<double> x{0, 1e9};
  std::vector<double> y{1, 2};
  for (Index i = 0; i < 20; ++i) {
    x.push_back(1e-3 * static_cast<double>(i + 1));
    y.push_back(static_cast<double>(i % 3));
  }
  const Spectrum spectrum = empirical_spectrum(x, y);
  expect_sound(spectrum);
  EXPECT_LE(spectrum.power.size(), 128u * 22u);
}

TEST(Periodogram, DensityIsPowerPerStep) {
  const Spectrum spectrum = empirical_spectrum(std::vector{0.0, 0.5, 1.0, 1.5}, std::vector{1.0, -1.0, 2.0, 0.0});
  const std::vector<double> density = power_density(spectrum);
  EXPECT_NEAR(sum(density) * (spectrum.frequency[1] - spectrum.frequency[0]), sum(spectrum.power), 1e-12);
  EXPECT_TRUE(power_density({}).empty());
}

}  // namespace
}  // namespace mercer
