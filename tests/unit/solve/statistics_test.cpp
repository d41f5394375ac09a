#include "solve/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/parallel.hpp"
#include "solve/feature_rows.hpp"
#include "unit/solve/data.hpp"

namespace mercer {
namespace {

using namespace samples;

/// Σ w f fᵀ with f = [φ, 1, y], row by row.
Dense naive_moments(const FourierMap& map, const Data& s) {
  const Matrix<double> phi = features(map, s.x);
  const auto weights = s.all_weights();
  const Index size = map.columns() + 1 + s.y.cols();
  Dense sum = Dense::Zero(size, size);
  for (Index i = 0; i < s.x.rows(); ++i) {
    Vector f(size);
    for (Index c = 0; c < map.columns(); ++c) f(c) = phi(i, c);
    f(map.columns()) = 1;
    for (Index a = 0; a < s.y.cols(); ++a) f(map.columns() + 1 + a) = s.y(i, a);
    sum += weights[static_cast<std::size_t>(i)] * f * f.transpose();
  }
  return sum;
}

double lower_error(const Matrix<double>& moments, const Dense& expected) {
  double worst = 0;
  for (Index i = 0; i < moments.rows(); ++i) {
    for (Index j = 0; j <= i; ++j) worst = std::max(worst, std::abs(moments(i, j) - expected(i, j)));
  }
  return worst / expected.cwiseAbs().maxCoeff();
}

TEST(Statistics, AreTheNaiveSums) {
  for (const bool weighted : {false, true}) {
    Data s = data(9000, 2, 2);  // two blocks of rows
    if (weighted) s.weights = counts(9000);
    const FourierMap map = map_of("gaussian(1) + linear()", 2, 2, 9);
    ASSERT_LT(FeatureRows<double>::block_rows(map.columns() + 3), 9000);
    ArrayRows rows = s.rows();
    const RidgeStatistics t = accumulate(map, rows, Precision::double_);
    EXPECT_EQ(t.columns, map.columns());
    EXPECT_EQ(t.outputs, 2);
    EXPECT_EQ(t.rows, 9000);
    EXPECT_EQ(t.blocks.size(), 2U);
    EXPECT_DOUBLE_EQ(t.weight(), s.total());
    const Dense expected = naive_moments(map, s);
    EXPECT_LT(lower_error(t.moments, expected), 1e-13);
    rows.rewind();
    // Features err by 2⁻²³ each (phases are below 16), sums of 8192 products by at most √8192·2⁻²⁴ more.
    EXPECT_LT(lower_error(accumulate(map, rows, Precision::single_).moments, expected), 2e-5);
  }
}

TEST(Statistics, AccumulatingAgainReadsFromTheFirstRow) {
  const Data s = data(40, 2, 1);
  const FourierMap map = map_of("gaussian(1)", 2, 1, 5);
  ArrayRows rows = s.rows();
  const RidgeStatistics first = accumulate(map, rows, Precision::double_);
  const RidgeStatistics second = accumulate(map, rows, Precision::double_);
  EXPECT_TRUE(std::ranges::equal(first.moments.values(), second.moments.values()));
  EXPECT_EQ(first.blocks, second.blocks);
}

TEST(Statistics, ShardsMergeToTheWhole) {
  Data s = data(300, 3, 2);
  s.weights = counts(300);
  const FourierMap plain = map_of("gaussian(1)", 3, 2, 8);
  ArrayRows all = s.rows();
  const RidgeStatistics whole = accumulate(plain, all, Precision::double_);
  const Index cuts[] = {0, 70, 71, 300};
  std::vector<RidgeStatistics> shards;
  for (int k = 0; k < 3; ++k) {
    const Index n = cuts[k + 1] - cuts[k];
    ArrayRows part(
        s.x.view().row_range(cuts[k], n), s.y.view().row_range(cuts[k], n),
        std::span<const double>(s.weights).subspan(static_cast<std::size_t>(cuts[k]), static_cast<std::size_t>(n)));
    shards.push_back(accumulate(plain, part, Precision::double_));
  }
  RidgeStatistics merged = shards[2];  // in any order
  merge(merged, shards[0]);
  merge(merged, shards[1]);
  EXPECT_EQ(merged.rows, 300);
  EXPECT_DOUBLE_EQ(merged.weight(), whole.weight());
  EXPECT_LT(lower_error(merged.moments, dense(whole.moments)), 1e-14);
  EXPECT_TRUE(std::ranges::is_sorted(merged.blocks));
  EXPECT_THROW(merge(merged, shards[1]), Error) << "a shard may count once only";
  EXPECT_EQ(merged.rows, 300) << "a refused merge must change nothing";
}

TEST(Statistics, RefusesOtherShapesAndNothing) {
  const Data s = data(20, 2, 1);
  ArrayRows rows = s.rows();
  RidgeStatistics a = accumulate(map_of("gaussian(1)", 2, 1, 5), rows, Precision::double_);
  const RidgeStatistics b = accumulate(map_of("gaussian(1)", 2, 1, 6), rows, Precision::double_);
  EXPECT_THROW(merge(a, b), Error);
  ArrayRows none(s.x.view().row_range(0, 0), s.y.view().row_range(0, 0));
  EXPECT_THROW(accumulate(map_of("gaussian(1)", 2, 1, 5), none, Precision::double_), Error);
  EXPECT_THROW(accumulate(map_of("gaussian(1)", 3, 1, 5), rows, Precision::double_), Error);
}

TEST(Statistics, WeightsOfZeroAreRefusedWhenSolving) {
  Data s = data(20, 2, 1);
  s.weights.assign(20, 0.0);
  const FourierMap map = map_of("gaussian(1)", 2, 1, 5);
  ArrayRows rows = s.rows();
  const RidgeStatistics t = accumulate(map, rows, Precision::double_);
  EXPECT_THROW(normal_system(t, map.coupling(), true), Error);
}

TEST(Statistics, NormalSystemIsCentred) {
  Data s = data(100, 2, 2);
  s.weights = counts(100);
  const FourierMap map = map_of("gaussian(1)", 2, 2, 6);
  ArrayRows rows = s.rows();
  const RidgeStatistics t = accumulate(map, rows, Precision::double_);
  for (const bool intercept : {true, false}) {
    const NormalSystem n = normal_system(t, map.coupling(), intercept);
    Dense phi = dense(features(map, s.x));
    Dense y = dense(s.y);
    const Vector w = ::Eigen::Map<const Vector>(s.weights.data(), 100);
    if (intercept) {
      const Vector mean = phi.transpose() * w / w.sum();
      const Vector mean_y = y.transpose() * w / w.sum();
      phi.rowwise() -= mean.transpose();
      y.rowwise() -= mean_y.transpose();
    }
    const Dense gram = phi.transpose() * w.asDiagonal() * phi;
    const Dense cross = phi.transpose() * w.asDiagonal() * y;
    EXPECT_LT(lower_error(n.gram, gram), 1e-13);
    EXPECT_LT((dense(n.cross) - cross).norm(), 1e-12 * cross.norm());
    for (Index a = 0; a < 2; ++a) {
      EXPECT_NEAR(n.target_square[static_cast<std::size_t>(a)], w.dot(y.col(a).cwiseAbs2()), 1e-11 * w.sum());
    }
  }
}

TEST(Statistics, ThreadsDoNotChangeABit) {
  const int before = threads();
  const Data s = data(9000, 2, 1);
  const FourierMap map = map_of("gaussian(1)", 2, 1, 300);  // 600 columns: more than one tile
  for (const Precision precision : {Precision::double_, Precision::single_}) {
    set_threads(1);
    ArrayRows rows = s.rows();
    const RidgeStatistics one = accumulate(map, rows, precision);
    for (const int count : {2, 3}) {
      set_threads(count);
      const RidgeStatistics many = accumulate(map, rows, precision);
      EXPECT_TRUE(std::ranges::equal(one.moments.values(), many.moments.values())) << count;
    }
  }
  set_threads(before);
}

}  // namespace
}  // namespace mercer
