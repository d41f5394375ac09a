#include "kernel/length_scale.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mercer {
namespace {

std::string scaled(const std::string& text, double median, double factor) {
  return to_string(with_length_scales(parse_kernel(text), median, factor));
}
std::string printed(const std::string& text) {
  return to_string(parse_kernel(text));
}

TEST(LengthScale, EveryScaleAtEveryDepth) {
  EXPECT_EQ(scaled("gaussian(2)", 1, 0.5), printed("gaussian(1)"));
  EXPECT_EQ(scaled("gaussian([1,3])*matern(2, nu=1.5) + 0.5*(laplacian(4) + linear())", 1, 2),
            printed("gaussian([2,6])*matern(4, nu=1.5) + 0.5*(laplacian(8) + linear())"));
  EXPECT_EQ(scaled("helmholtz(gaussian(median), 0.3)", 1.5, 2), printed("helmholtz(gaussian(3), 0.3)"));
  EXPECT_EQ(scaled("decomposable(cauchy(median), covariance)", 2, 1), printed("decomposable(cauchy(2), covariance)"));
}

TEST(LengthScale, FourDigitsUnlessUntouched) {
  EXPECT_EQ(scaled("gaussian(median)", 1.23456789, 1), printed("gaussian(1.235)"));
  EXPECT_EQ(scaled("gaussian(1.23456789)", 1, 1), printed("gaussian(1.23456789)"));
  EXPECT_EQ(scaled("gaussian(1.23456789)", 1, 100), printed("gaussian(123.5)"));
}

TEST(LengthScale, SomeKernelsHaveNone) {
  EXPECT_FALSE(has_length_scales(parse_kernel("linear() + polynomial(2, 1)")));
  EXPECT_TRUE(has_length_scales(parse_kernel("linear() + 0.1*gaussian(median)")));
}

}  // namespace
}  // namespace mercer
