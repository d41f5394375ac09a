#include "kernel/spectral_quantile.hpp"

#include <gtest/gtest.h>

#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "base/random.hpp"
#include "kernel/sobol.hpp"

namespace mercer {
namespace {

const std::vector<double> levels = {0x1p-53, 1e-12, 1e-6, 1e-3, 0.01, 0.1,      0.25,      0.3,        0.4999,
                                    0.5001,  0.7,   0.75, 0.9,  0.99, 0.999999, 1 - 1e-12, 1 - 0x1p-53};

// The tangent in extended precision as a reference, from the side where its argument is exact.
TEST(Quantile, Cauchy) {
  const long double pi = 3.141592653589793238462643383279502884L;
  for (const double u : levels) {
    const long double tail = u < 0.5 ? u : 1 - static_cast<long double>(u);
    const long double magnitude = tail < 0.25L ? 1 / std::tan(pi * tail) : std::tan(pi * (0.5L - tail));
    const long double exact = u < 0.5 ? -magnitude : magnitude;
    EXPECT_NEAR(cauchy_quantile(u) / static_cast<double>(exact), 1, 1e-15) << u;
  }
}

TEST(Quantile, Laplace) {
  for (const double u : levels) {
    const long double tail = u < 0.5 ? u : 1 - static_cast<long double>(u);
    const long double exact = (u < 0.5 ? 1 : -1) * std::log(2 * tail);
    EXPECT_NEAR(laplace_quantile(u) / static_cast<double>(exact), 1, 1e-15) << u;
  }
}

// Boost's inverse incomplete gamma functions in extended precision, over the mean.
TEST(Quantile, Gamma) {
  for (const double shape :
       {1e-3, 0.01, 0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 5.0, 17.0, 100.0, 392.0, 3e3, 9999.0, 1e4, 1e6}) {
    for (const double u : levels) {
      const long double a = shape;
      const long double exact = (u < 0.5 ? boost::math::gamma_p_inv(a, static_cast<long double>(u))
                                         : boost::math::gamma_q_inv(a, 1 - static_cast<long double>(u))) /
                                a;
      if (exact < 1e-100L) {
        EXPECT_EQ(gamma_quantile(shape, u), 1e-100);
      } else {
        EXPECT_NEAR(gamma_quantile(shape, u) / static_cast<double>(exact), 1, 2e-11) << "shape " << shape << ", u = " << u;
      }
    }
  }
}

TEST(Quantile, GammaOfAnyShapeIsFiniteAndMonotone) {
  for (const double shape : {5e-324, 1e-300, 1e-100, 1e-20, 1e-10, 1e-6, 1e5, 1e10, 1e100, 1e308}) {
    double before = 0;
    for (const double u : levels) {
      const double value = gamma_quantile(shape, u);
      EXPECT_GE(value, 1e-100) << shape << " " << u;
      EXPECT_LE(value, 1e100) << shape << " " << u;
      EXPECT_GE(value, before) << shape << " " << u;
      before = value;
    }
  }
}

std::uint64_t high_bits(double value) {
  return static_cast<std::uint64_t>(value * 0x1p52);
}

TEST(Sobol, FirstPoints) {
  // Points 1 to 5 in two dimensions as in the documentation of Boost; the shift drops out of the exclusive or with point 0.
  Matrix<double> points(6, 2);
  ShiftedSobol(2, Stream(1, "sobol")).points(0, points);
  const double expected[5][2] = {{0.5, 0.5}, {0.75, 0.25}, {0.25, 0.75}, {0.375, 0.375}, {0.875, 0.875}};
  for (Index j = 1; j < 6; ++j) {
    for (Index i = 0; i < 2; ++i) {
      EXPECT_EQ(high_bits(points(j, i)) ^ high_bits(points(0, i)), high_bits(expected[j - 1][i])) << j << ", " << i;
    }
  }
}

TEST(Sobol, EveryCoordinateIsEquidistributed) {
  constexpr Index n = 1024;
  constexpr Index d = sobol_dimensions;
  Matrix<double> points(n, d);
  ShiftedSobol(d, Stream(2, "sobol")).points(0, points);
  for (Index i = 0; i < d; i += 97) {
    std::set<int> bins;
    for (Index j = 0; j < n; ++j) bins.insert(static_cast<int>(points(j, i) * n));
    EXPECT_EQ(bins.size(), static_cast<std::size_t>(n)) << i;
  }
}

TEST(Sobol, PointsAreAddressable) {
  const ShiftedSobol sobol(7, Stream(3, "sobol"));
  Matrix<double> whole(300, 7);
  sobol.points(0, whole);
  for (const Index first : {0, 1, 2, 63, 64, 255, 256}) {
    Matrix<double> part(40, 7);
    sobol.points(first, part);
    for (Index j = 0; j < 40; ++j) {
      for (Index i = 0; i < 7; ++i) EXPECT_EQ(part(j, i), whole(first + j, i));
    }
  }
}

}  // namespace
}  // namespace mercer
