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
  SampledErrors errors{.groups = std::vector<Matrix<double>>(8, Matrix<double>(size, 1)), .alike = 50, .by_chance = 50};
  for (Index i = 0; i < size; ++i) {
    const auto row = static_cast<std::uint64_t>(i);
    for (std::size_t g = 0; g < 8; ++g) {
      errors.groups[g](i, 0) = alike * static_cast<double>(rows_in_group) * stream.normal(row, 100) +
                               by_chance * std::sqrt(static_cast<double>(rows_in_group)) * stream.normal(row, g);
    }
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
    for (Index i = 0; i < in.rows; ++i) {
      for (Index k = 0; k < in.cols; ++k) out(i, k) = in(i, k) / 4;
    }
  };
  const double one = errors.norms().front();
  EXPECT_NEAR(errors.weigh(quarter).energy.front(), one / 2, 1e-12 * one);
  EXPECT_NEAR(errors.weigh(quarter).norm.front(), one / 4, 1e-12 * one);
  SampledErrors sum;
  sum.add(sample(0.1, 1, 30), {2.0});
  EXPECT_NEAR(sum.norms().front(), 2 * one, 1e-12 * one);
  sum.add(sample(0.1, 1, 30), {-1.5});
  EXPECT_NEAR(sum.norms().front(), one / 2, 1e-12 * one);
  sum.scale({3.0});
  sum.caution = 2;
  EXPECT_NEAR(sum.norms().front(), 3 * one, 1e-12 * one);
}

/// Two sums side by side are what each of them is alone, with a matrix of its own.
TEST(SampledErrors, OfSeveralSums) {
  const SampledErrors one = sample(0.1, 1, 30);
  SampledErrors two{.groups = std::vector<Matrix<double>>(8, Matrix<double>(size, 2)), .alike = 50, .by_chance = 50};
  for (Index i = 0; i < size; ++i) {
    for (std::size_t g = 0; g < 8; ++g) {
      two.groups[g](i, 0) = one.groups[g](i, 0);
      two.groups[g](i, 1) = 5 * one.groups[g](i, 0);
    }
  }
  const BlockOperator inverses = [](ConstMatrix in, MutMatrix out) {
    for (Index i = 0; i < in.rows; ++i) {
      for (Index k = 0; k < in.cols; ++k) out(i, k) = in(i, k) / (k % 2 == 0 ? 4 : 9);
    }
  };
  const double norm = one.norms().front();
  EXPECT_NEAR(two.norms()[0], norm, 1e-12 * norm);
  EXPECT_NEAR(two.norms()[1], 5 * norm, 1e-11 * norm);
  EXPECT_NEAR(two.weigh(inverses).energy[0], norm / 2, 1e-12 * norm);
  EXPECT_NEAR(two.weigh(inverses).energy[1], 5 * norm / 3, 1e-11 * norm);
  EXPECT_NEAR(two.weigh(inverses).norm[1], 5 * norm / 9, 1e-11 * norm);
  SampledErrors sum;
  sum.add(SampledErrors(two), {1.0, 1.0});
  sum.add(SampledErrors(two), {1.0, -3.0});
  EXPECT_NEAR(sum.norms()[0], 2 * norm, 1e-11 * norm);
  EXPECT_NEAR(sum.norms()[1], 10 * norm, 1e-11 * norm);
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
