#include "gp/fourier_sums.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "base/random.hpp"

namespace mercer {
namespace {

std::complex<double> direct(const std::vector<double>& t, const std::vector<double>& value, double k) {
  std::complex<long double> sum = 0;
  for (std::size_t i = 0; i < t.size(); ++i) {
    sum += std::polar<long double>(1, -2 * std::numbers::pi_v<long double> * k * t[i]) * (value[i] * 1.0L);
  }
  return std::complex<double>(sum);
}

TEST(FourierSums, PowerOfTwo) {
  EXPECT_EQ(power_of_two(1), 1);
  EXPECT_EQ(power_of_two(2), 2);
  EXPECT_EQ(power_of_two(3), 4);
  EXPECT_EQ(power_of_two(1025), 2048);
}

TEST(FourierSums, PaddedTransformIsTheDirectSum) {
  const Stream stream(3, "values");
  for (const Index n : {1, 7, 32}) {
    std::vector<double> t;
    std::vector<double> value;
    for (Index i = 0; i < n; ++i) {
      t.push_back(static_cast<double>(i) / 32);
      value.push_back(stream.normal(i, 0));
    }
    const auto sums = padded_transform(value, 32);
    ASSERT_EQ(sums.size(), 17u);
    for (std::size_t k = 0; k < sums.size(); ++k) EXPECT_LT(std::abs(sums[k] - direct(t, value, k)), 1e-13);
  }
}

// The error is at most 1e-14 of Σ|values| for any places, places at both ends of [0, 1) included: there the spread wraps
// round.
TEST(FourierSums, AnyPlacesAgreeWithTheDirectSum) {
  const Stream stream(4, "places");
  for (const Index count : {1, 2, 5, 64, 100, 129}) {
    std::vector<double> t{0, 1e-9, 0.5, 1 - 1e-12};
    for (Index i = 0; i < 40; ++i) t.push_back(stream.uniform(i, 0));
    std::vector<double> value;
    std::vector<double> weight;
    double most_value = 0;
    double most_weight = 0;
    for (std::size_t i = 0; i < t.size(); ++i) {
      value.push_back(1e100 * stream.normal(i, 1));  // far from the weights' size, which must not suffer
      weight.push_back(stream.uniform(i, 2));
      most_value += std::abs(value[i]);
      most_weight += weight[i];
    }
    const FourierSums sums = fourier_sums(t, value, weight, count);
    ASSERT_EQ(std::ssize(sums.values), count);
    for (Index k = 0; k < count; ++k) {
      EXPECT_LT(std::abs(sums.values[k] - direct(t, value, k)), 1e-14 * most_value)
          << "count " << count << ", frequency " << k;
      EXPECT_LT(std::abs(sums.weights[k] - direct(t, weight, k)), 1e-14 * most_weight)
          << "count " << count << ", frequency " << k;
    }
  }
}

}  // namespace
}  // namespace mercer
