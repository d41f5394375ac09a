#include "gp/clean_spectrum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "base/random.hpp"

namespace mercer {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;

struct Series {
  std::vector<double> x;
  std::vector<double> y;
};

/// Two cycles on a line, at random places or even ones.
Series two_cycles(bool even, double slope) {
  const Stream stream(1, "places");
  Series series;
  for (Index i = 0; i < 400; ++i) {
    const double x = static_cast<double>(i) + (even ? 0 : stream.uniform(i, 0));
    series.x.push_back(x);
    series.y.push_back(slope * x + 2 * std::sin(two_pi * 0.1 * x) + 0.2 * std::cos(two_pi * 0.23 * x));
  }
  return series;
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Power within two resolutions of a frequency.
double around(const Spectrum& spectrum, double frequency) {
  double power = 0;
  for (std::size_t k = 0; k < spectrum.power.size(); ++k) {
    if (std::abs(spectrum.frequency[k] - frequency) < 2 * spectrum.resolution) power += spectrum.power[k];
  }
  return power;
}

TEST(CleanSpectrum, EvenSamplingIsLeftAlone) {
  const Series series = two_cycles(true, 0);
  EXPECT_EQ(clean_spectrum(series.x, series.y, 5).power, empirical_spectrum(series.x, series.y, Taper::hann).power);
}

TEST(CleanSpectrum, PowerIsWhereTheCyclesAre) {
  for (const double slope : {0.0, 0.5}) {
    const Series series = two_cycles(false, slope);
    const Spectrum plain = empirical_spectrum(series.x, series.y, Taper::hann);
    const Spectrum clean = clean_spectrum(series.x, series.y, 2);
    EXPECT_NEAR(sum(clean.power) / sum(plain.power), 1, 1e-9);
    EXPECT_NEAR(around(clean, 0.1), 2, 0.04);
    EXPECT_NEAR(around(clean, 0.23), 0.02, 0.004);
    EXPECT_LT(around(plain, 0.1), 1.9);  // the rest lies all over the spectrum
    EXPECT_NEAR(clean.trend, plain.trend, 1e-4 * plain.trend);
    EXPECT_EQ(clean.trend > 0, slope > 0);
    for (const double power : clean.power) EXPECT_GE(power, 0);
  }
}

TEST(CleanSpectrum, NoiseIsNotTakenForCycles) {
  const Stream stream(2, "noise");
  Series series;
  for (Index i = 0; i < 300; ++i) {
    series.x.push_back(static_cast<double>(i) + stream.uniform(i, 0));
    series.y.push_back(stream.normal(i, 1));
  }
  EXPECT_EQ(clean_spectrum(series.x, series.y, 5).power, empirical_spectrum(series.x, series.y, Taper::hann).power);
}

}  // namespace
}  // namespace mercer
