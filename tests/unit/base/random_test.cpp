#include "base/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace mercer {
namespace {

struct Pair {
  double argument;
  double value;
};

// Computed with mpmath to 60 digits at exactly these doubles, on both sides of every change of formula.
TEST(NormalQuantile, AgreesWithMpmath) {
  const std::vector<Pair> pairs = {
      {0x1.0000000000000p-53, -8.209536151601386855630769},      {0x1.203af9ee75616p-50, -7.941345326170996771330131},
      {0x1.19799812dea11p-40, -7.034483825301131932614176},      {0x1.5fd7fe1796495p-37, -6.706023155495136296102194},
      {0x1.e8a37a45fc32ep-37, -6.657904643501103583720578},      {0x1.12e0be826d695p-30, -5.997807015007686861445655},
      {0x1.4f8b588e368f1p-17, -4.264890793922824610233749},      {0x1.0624dd2f1a9fcp-10, -3.090232306167813535358005},
      {0x1.47ae147ae147bp-7, -2.326347874040841093075096},       {0x1.999999999999ap-5, -1.644853626951472687952128},
      {0x1.3333185b40987p-4, -1.439532177375900586417472},       {0x1.3333333333333p-4, -1.439531470938455934949801},
      {0x1.33334e0b25cdfp-4, -1.439530764501729686493336},       {0x1.999999999999ap-4, -1.281551565544600435334517},
      {0x1.0000000000000p-2, -0.674489750196081743202227},       {0x1.999999999999ap-2, -0.2533471031357997413246887},
      {0x1.ffffbce4217d3p-2, -0.000002506628274566559377905064}, {0x1.0000035afe535p-1, 0.0000002506628273311648301161888},
      {0x1.3333333333333p-1, 0.2533471031357997413246887},       {0x1.ccccccccccccdp-1, 1.281551565544600593487448},
      {0x1.d99999999999ap-1, 1.43953147093845622906332},         {0x1.f333333333333p-1, 1.959963984540053855604431},
      {0x1.ff7ced916872bp-1, 3.090232306167813277758202},        {0x1.ffffde7210be9p-1, 4.753424308817087765688097},
      {0x1.fffffffffe000p-1, 7.047700256664408725350992},        {0x1.fffffffffffffp-1, 8.209536151601386855630769},
  };
  for (const auto& [u, exact] : pairs) EXPECT_NEAR(normal_quantile(u) / exact, 1, 1e-14) << u;
}

TEST(NormalQuantile, IsOddAndIncreasing) {
  double before = -9;
  for (int i = 1; i < 4096; ++i) {
    const double u = i / 4096.0;
    EXPECT_EQ(normal_quantile(u), -normal_quantile(1 - u)) << u;
    EXPECT_GT(normal_quantile(u), before) << u;
    before = normal_quantile(u);
  }
}

// Computed with mpmath to 60 digits at exactly these doubles.
TEST(PortableLog, AgreesWithMpmath) {
  const std::vector<Pair> pairs = {
      {0x0.0000000000001p-1022, -744.4400719213812623141073}, {0x1.56e1fc2f8f359p-997, -690.7755278982137051803383},
      {0x1.0000000000000p-53, -36.7368005696771013991133},    {0x1.0624dd2f1a9fcp-10, -6.907755278982137031237293},
      {0x1.3333333333333p-2, -1.20397280432593602963018},     {0x1.0000000000000p-1, -0.6931471805599453094172321},
      {0x1.6a09e667f3bccp-1, -0.3465735902799727433597754},   {0x1.6a09e667f3bcdp-1, -0.3465735902799725863505295},
      {0x1.ccccccccccccdp-1, -0.1053605156578262765558782},   {0x1.ff7ced916872bp-1, -0.001000500333583534389210469},
      {0x1.fffffffffffffp-1, -1.11022302462515660205339e-16}, {0x1.0000000000000p+0, 0.0},
      {0x1.000001ad7f29bp+0, 9.99999950583870451775161e-8},   {0x1.6666666666666p+0, 0.3364722366212128670632777},
      {0x1.0000000000000p+1, 0.6931471805599453094172321},    {0x1.8000000000000p+1, 1.098612288668109691395245},
      {0x1.86a0000000000p+16, 11.51292546497022842008996},    {0x1.1ccf385ebc8a0p+1023, 709.1962086421660706885204},
  };
  for (const auto& [x, exact] : pairs) EXPECT_NEAR(portable_log(x), exact, 1e-15 * std::abs(exact)) << x;
}

// By a separate implementation in Python, which passes the known answers of Random123.
TEST(Stream, KnownBits) {
  const Stream stream(42, "features");
  EXPECT_EQ(stream.bits(0, 0), 0xc838639162741716U);
  EXPECT_EQ(stream.bits(1, 0), 0x1a445301450f6498U);
  EXPECT_EQ(stream.bits(0, 1), 0xe117023bce59e242U);
  EXPECT_EQ(stream.bits(0x100000000U, 7), 0x15482ad434e89669U);
  EXPECT_EQ(stream.bits(0x10000000005U, 0x8000000000000000U), 0x4b69c605dd393231U);
  EXPECT_EQ(stream.child("factor", 3).bits(9, 8), 0x63379f1831a3d6fbU);
}

TEST(Stream, NamesMakeStreams) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (const char* what : {"", "a", "b", "ab", "ba"}) {
      const Stream stream(seed, what);
      seen.insert(stream.bits(0, 0));
      for (std::uint64_t index = 0; index < 10; ++index) seen.insert(stream.child("c", index).bits(0, 0));
    }
  }
  EXPECT_EQ(seen.size(), 100U * 5 * 11);  // 5500 values of 64 bits meet with probability 1e-12
}

struct Moments {
  double mean = 0;
  double square = 0;
  double fourth = 0;
};

Moments moments(int n, const std::function<double(int)>& draw) {
  Moments m;
  for (int i = 0; i < n; ++i) {
    const double x = draw(i);
    m.mean += x / n;
    m.square += x * x / n;
    m.fourth += x * x * x * x / n;
  }
  return m;
}

constexpr int draws = 200000;
// Means of n draws are tested at 6.5 standard deviations: false alarm 8e-11 each by the central limit theorem.
double tolerance(double variance) {
  return 6.5 * std::sqrt(variance / draws);
}

TEST(Stream, UniformMoments) {
  const Stream stream(7, "uniform");
  const std::array<std::function<double(int)>, 3> ways = {
      [&](int i) { return stream.uniform(i, 0) - 0.5; }, [&](int i) { return stream.uniform(3, i) - 0.5; },
      [&](int i) { return stream.child("child", i).uniform(0, 0) - 0.5; }};
  for (const auto& way : ways) {
    const Moments m = moments(draws, way);
    EXPECT_NEAR(m.mean, 0, tolerance(1.0 / 12));
    EXPECT_NEAR(m.square, 1.0 / 12, tolerance(1.0 / 180));
    EXPECT_NEAR(m.fourth, 1.0 / 80, tolerance(1.0 / 2304 - 1.0 / 6400));
  }
}

TEST(Stream, NormalMoments) {
  const Stream stream(8, "normal");
  const Moments m = moments(draws, [&](int i) { return stream.normal(i % 500, i / 500); });
  EXPECT_NEAR(m.mean, 0, tolerance(1));
  EXPECT_NEAR(m.square, 1, tolerance(2));
  EXPECT_NEAR(m.fourth, 3, tolerance(96));
}

TEST(Stream, NeighboursAreUncorrelated) {
  const Stream stream(9, "neighbours");
  const std::array<std::function<double(int)>, 5> others = {
      [&](int i) { return stream.normal(i + 1, 0); }, [&](int i) { return stream.normal(i, 1); },
      [&](int i) { return stream.normal(0, i + 1); }, [&](int i) { return stream.child("x").normal(i, 0); },
      [&](int i) { return Stream(10, "neighbours").normal(i, 0); }};
  for (const auto& other : others) {
    EXPECT_NEAR(moments(draws, [&](int i) { return stream.normal(i, 0) * other(i); }).mean, 0, tolerance(1));
    EXPECT_NEAR(moments(draws,
                        [&](int i) {
                          const double x = stream.normal(i, 0);
                          const double y = other(i);
                          return (x * x - 1) * (y * y - 1);
                        })
                    .mean,
                0, tolerance(4));
  }
}

TEST(Stream, EveryBitIsFair) {
  const Stream stream(11, "bits");
  std::array<int, 64> ones{};
  for (int i = 0; i < draws; ++i) {
    const std::uint64_t bits = stream.bits(i, 2);
    for (std::size_t b = 0; b < 64; ++b) ones[b] += static_cast<int>(bits >> b & 1);
  }
  for (const int count : ones) EXPECT_NEAR(static_cast<double>(count) / draws, 0.5, tolerance(0.25));
}

TEST(Stream, BelowIsUniformAndBelow) {
  const Stream stream(12, "below");
  std::array<int, 7> counts{};
  for (int i = 0; i < draws; ++i) ++counts.at(stream.below(7, i, 0));
  for (const int count : counts) EXPECT_NEAR(static_cast<double>(count) / draws, 1.0 / 7, tolerance(6.0 / 49));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(stream.below(1, i, 1), 0U);
    EXPECT_LT(stream.below(0x10000000000U, i, 1), 0x10000000000U);
  }
}

TEST(Stream, UniformIsInsideTheInterval) {
  const Stream stream(13, "inside");
  for (int i = 0; i < draws; ++i) {
    const double u = stream.uniform(i, 0);
    ASSERT_GT(u, 0);
    ASSERT_LT(u, 1);
    ASSERT_TRUE(std::isfinite(normal_quantile(u)));
  }
}

}  // namespace
}  // namespace mercer
