#include "solve/sampled_errors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.hpp"

namespace mercer {
namespace {

constexpr Index size = 4000;

/// Groups of a sample of one row in 50, whose errors are `alike` in every row plus `by_chance` of its own, all along
/// directions of `size` numbers.
SampledErrors sample(double alike, double by_chance, Index rows_in_group) {
  const Stream stream(5, "errors");
  SampledErrors errors;
  errors.alike = 50;
  errors.by_chance = 50;
  for (std::uint64_t g = 0; g < 8; ++g) {
    Matrix<double> group(size, 1);
    for (Index i = 0; i < size; ++i) {
      const auto row = static_cast<std::uint64_t>(i);
      group(i, 0) = alike * static_cast<double>(rows_in_group) * stream.normal(row, 100) +
                    by_chance * std::sqrt(static_cast<double>(rows_in_group)) * stream.normal(row, g);
    }
    errors.groups.push_back(std::move(group));
  }
  return errors;
}

/// ‖·‖² of all 50 × 8 × 30 rows is size·(rows²·alike² + rows·by_chance²), within a few of √(2/size) of either part; what is
/// by chance in the sample is taken for alike by as much, and counts 50 times.
TEST(SampledErrors, TellWhatIsAlikeFromWhatIsByChance) {
  constexpr double rows = 50 * 8 * 30;
  const double noise = 5 * std::sqrt(2.0 / size);
  for (const auto& [alike, by_chance] : {std::pair{1.0, 0.0}, {0.0, 1.0}, {1.0, 10.0}, {0.03, 1.0}}) {
    SCOPED_TRACE(std::to_string(alike) + " alike, by chance " + std::to_string(by_chance));
    const double systematic = size * rows * rows * alike * alike;
    const double scattered = size * rows * by_chance * by_chance;
    const double said = sample(alike, by_chance, 30).norms().front();
    EXPECT_NEAR(said * said, systematic + scattered,
                noise * (systematic + 50 * scattered + 2 * std::sqrt(50 * systematic * scattered)));
  }
}

TEST(SampledErrors, InAnotherNormAndOfSums) {
  const SampledErrors errors = sample(0.1, 1, 30);
  const BlockOperator quarter = [](ConstMatrix in, MutMatrix out) {
    for (Index i = 0; i < in.rows; ++i) out(i, 0) = in(i, 0) / 4;
  };
  const double one = errors.norms().front();
  EXPECT_NEAR(errors.norms(quarter).front(), one / 2, 1e-12 * one);
  SampledErrors sum;
  sum.add(sample(0.1, 1, 30), {2.0});
  EXPECT_NEAR(sum.norms().front(), 2 * one, 1e-12 * one);
  sum.add(sample(0.1, 1, 30), {-1.5});
  EXPECT_NEAR(sum.norms().front(), one / 2, 1e-12 * one);
  sum.scale({3.0});
  sum.caution = 2;
  EXPECT_NEAR(sum.norms().front(), 3 * one, 1e-12 * one);
}

TEST(SampledErrors, WhatIsNotFiniteSaysNothing) {
  SampledErrors errors = sample(0.1, 1, 30);
  errors.groups[3](7, 0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isinf(errors.norms().front()));
  errors = sample(0.1, 1, 30);
  errors.alike = std::numeric_limits<double>::infinity();  // no weight in the sample
  EXPECT_TRUE(std::isinf(errors.norms().front()));
}

}  // namespace
}  // namespace mercer
