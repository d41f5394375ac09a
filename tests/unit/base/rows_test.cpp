#include <gtest/gtest.h>
#include <mercer/error.hpp>
#include <mercer/rows.hpp>

#include <vector>

#include "base/matrix.hpp"

namespace mercer {
namespace {

/// Entry (i, j) is 10·i + j.
Matrix<double> numbered(Index rows, Index cols) {
  Matrix<double> m(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) m(i, j) = static_cast<double>(10 * i + j);
  }
  return m;
}

TEST(ArrayRows, GivesEveryRowOnceOnEveryPass) {
  const Matrix<double> inputs = numbered(7, 3);
  const Matrix<double> targets = numbered(7, 2);
  const std::vector<double> weights = {1, 2, 3, 4, 5, 6, 7};
  ArrayRows rows(inputs, targets, weights);
  EXPECT_EQ(rows.input_count(), 3);
  EXPECT_EQ(rows.target_count(), 2);
  EXPECT_EQ(rows.row_count(), 7);
  for (const Index block_rows : {1, 2, 3, 7, 100}) {
    rows.rewind();
    Index next = 0;
    RowBlock block;
    while (rows.next(block_rows, block)) {
      EXPECT_EQ(block.first_row, next);
      EXPECT_EQ(block.rows(), std::min(block_rows, 7 - next));
      ASSERT_EQ(block.targets.rows, block.rows());
      ASSERT_EQ(static_cast<Index>(block.weights.size()), block.rows());
      for (Index i = 0; i < block.rows(); ++i) {
        EXPECT_EQ(block.inputs(i, 2), 10 * (next + i) + 2);
        EXPECT_EQ(block.targets(i, 1), 10 * (next + i) + 1);
        EXPECT_EQ(block.weights[i], next + i + 1);
      }
      next += block.rows();
    }
    EXPECT_EQ(next, 7);
    EXPECT_FALSE(rows.next(block_rows, block));
  }
}

TEST(ArrayRows, NothingIsCopied) {
  const Matrix<double> inputs = numbered(4, 2);
  ArrayRows rows{inputs};
  RowBlock block;
  ASSERT_TRUE(rows.next(3, block));
  EXPECT_EQ(block.inputs.data, inputs.data());
  ASSERT_TRUE(rows.next(3, block));
  EXPECT_EQ(block.inputs.data, &inputs(3, 0));
}

TEST(ArrayRows, KeepsStrides) {
  const Matrix<double> table = numbered(5, 6);
  ArrayRows rows(table.view().col_range(1, 2), table.view().col_range(4, 1));
  RowBlock block;
  ASSERT_TRUE(rows.next(2, block));
  ASSERT_TRUE(rows.next(2, block));
  EXPECT_EQ(block.inputs(1, 1), 32);
  EXPECT_EQ(block.targets(1, 0), 34);
}

TEST(ArrayRows, TargetsAndWeightsMayBeAbsent) {
  const Matrix<double> inputs = numbered(3, 2);
  ArrayRows rows{inputs};
  RowBlock block;
  EXPECT_EQ(rows.target_count(), 0);
  ASSERT_TRUE(rows.next(10, block));
  EXPECT_EQ(block.targets.rows, 3);
  EXPECT_EQ(block.targets.cols, 0);
  EXPECT_TRUE(block.weights.empty());
}

TEST(ArrayRows, NoRowsNoBlocks) {
  ArrayRows rows{ConstMatrix(nullptr, 0, 4)};
  RowBlock block;
  EXPECT_FALSE(rows.next(10, block));
  EXPECT_EQ(rows.input_count(), 4);
}

TEST(ArrayRows, SizesMustAgree) {
  const Matrix<double> inputs = numbered(3, 2);
  const Matrix<double> targets = numbered(4, 1);
  const std::vector<double> weights(2, 1.0);
  EXPECT_THROW(ArrayRows(inputs, targets), Error);
  EXPECT_THROW(ArrayRows(inputs, {}, weights), Error);
}

}  // namespace
}  // namespace mercer
