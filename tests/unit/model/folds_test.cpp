#include "model/folds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "unit/solve/data.hpp"

namespace mercer {
namespace {

using namespace samples;

FoldPlan plan(Index folds, bool in_order, std::uint64_t seed = 0) {
  FoldPlan p;
  p.folds = folds;
  p.in_order = in_order;
  p.seed = seed;
  return p;
}

TEST(Folds, BlocksAreContiguousAndEven) {
  for (const Index n : {10, 11, 97}) {
    const Folds folds = make_folds(n, plan(4, true));
    EXPECT_TRUE(std::ranges::is_sorted(folds.of_row));
    EXPECT_EQ(folds.of_row.front(), 0);
    EXPECT_EQ(folds.of_row.back(), 3);
    for (Index f = 0; f < 4; ++f) EXPECT_TRUE(folds.size(f) == n / 4 || folds.size(f) == n / 4 + 1) << n << " " << f;
  }
}

TEST(Folds, RandomOnesDivideTheRowsEvenly) {
  const Folds folds = make_folds(103, plan(5, false));
  Index total = 0;
  for (Index f = 0; f < 5; ++f) {
    EXPECT_TRUE(folds.size(f) == 20 || folds.size(f) == 21);
    total += folds.size(f);
  }
  EXPECT_EQ(total, 103);
  EXPECT_FALSE(std::ranges::is_sorted(folds.of_row));
  EXPECT_EQ(folds.of_row, make_folds(103, plan(5, false)).of_row);
  EXPECT_NE(folds.of_row, make_folds(103, plan(5, false, 1)).of_row);
}

TEST(Folds, TrainingIsEverythingElse) {
  Matrix<double> x(23, 1);
  for (Index i = 0; i < 23; ++i) x(i, 0) = static_cast<double>(i);
  ArrayRows rows(x, x);
  const Folds folds = make_folds(23, plan(3, false, 7));
  std::vector<int> validated(23, 0);
  for (Index f = 0; f < 3; ++f) {
    std::vector<int> seen(23, 0);
    ChosenRows train = folds.training(rows, f);
    ChosenRows validation = folds.validation(rows, f);
    EXPECT_EQ(train.row_count() + validation.row_count(), 23);
    RowBlock block;
    while (train.next(4, block)) {
      for (Index i = 0; i < block.rows(); ++i) ++seen[static_cast<std::size_t>(block.targets(i, 0))];
    }
    while (validation.next(4, block)) {
      for (Index i = 0; i < block.rows(); ++i) {
        ++seen[static_cast<std::size_t>(block.inputs(i, 0))];
        ++validated[static_cast<std::size_t>(block.inputs(i, 0))];
      }
    }
    EXPECT_EQ(seen, std::vector<int>(23, 1));
  }
  EXPECT_EQ(validated, std::vector<int>(23, 1));
}

TEST(Folds, AHeldOutPartIsOne) {
  FoldPlan p = plan(5, true);
  p.holdout = 0.3;
  const Folds folds = make_folds(10, p);
  EXPECT_EQ(folds.count, 1);
  EXPECT_EQ(folds.of_row, (std::vector<std::int32_t>{-1, -1, -1, -1, -1, -1, -1, 0, 0, 0}));
  p.in_order = false;
  EXPECT_EQ(make_folds(1000, p).size(0), 300);
}

TEST(Folds, RefusesWhatCannotBe) {
  EXPECT_THROW(make_folds(10, plan(1, false)), Error);
  EXPECT_THROW(make_folds(10, plan(11, false)), Error);
  FoldPlan p;
  for (const double share : {0.0, 1.0, -0.1, 2.0}) {
    p.holdout = share;
    EXPECT_THROW(make_folds(10, p), Error);
  }
}

/// A first-order autoregression about `offset`.
Matrix<double> autoregression(Index n, double coefficient, double offset) {
  Matrix<double> y = normals(n, 1, "steps", 12);
  for (Index i = 1; i < n; ++i) y(i, 0) += coefficient * y(i - 1, 0);
  for (double& v : y.values()) v += offset;
  return y;
}

double slow_lag_one(const Matrix<double>& y) {
  double mean = 0;
  for (const double v : y.values()) mean += v / static_cast<double>(y.rows());
  double top = 0;
  double bottom = 0;
  for (Index i = 0; i < y.rows(); ++i) {
    if (i > 0) top += (y(i, 0) - mean) * (y(i - 1, 0) - mean);
    bottom += std::pow(y(i, 0) - mean, 2);
  }
  return top / bottom;
}

TEST(TimeOrder, AutocorrelationByTheBook) {
  for (const double offset : {0.0, 3.0, 1e6}) {
    const Matrix<double> y = autoregression(300, 0.5, offset);
    ArrayRows rows(y, y);
    EXPECT_NEAR(lag_one(rows), slow_lag_one(y), 1e-8) << offset;
  }
  const Matrix<double> constant(20, 1);
  ArrayRows rows(constant, constant);
  EXPECT_EQ(lag_one(rows), -1);
}

TEST(TimeOrder, FiresOnAnAutoregressionAndNotOnItsShuffledRows) {
  const Matrix<double> y = autoregression(400, 0.7, 2);
  ArrayRows rows(y, y);
  EXPECT_TRUE(looks_ordered(lag_one(rows), 400));
  // Each shuffle fires with probability 3e-7: 3e-5 for all of them.
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::vector<Index> order(400);
    std::iota(order.begin(), order.end(), Index{0});
    const Stream keys(seed, "shuffle");
    std::ranges::sort(order, {}, [&](Index i) { return keys.bits(static_cast<std::uint64_t>(i), 0); });
    Matrix<double> shuffled(400, 1);
    for (Index i = 0; i < 400; ++i) shuffled(i, 0) = y(order[static_cast<std::size_t>(i)], 0);
    ArrayRows mixed(shuffled, shuffled);
    EXPECT_FALSE(looks_ordered(lag_one(mixed), 400)) << seed;
  }
}

}  // namespace
}  // namespace mercer
