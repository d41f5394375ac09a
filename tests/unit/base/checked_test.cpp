#include "base/checked.hpp"

#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/matrix.hpp"

namespace mercer {
namespace {

constexpr Index most = std::numeric_limits<Index>::max();
const std::vector<Index> sizes = {
    0,         1,          2,          32767,     46340, 46341, (1LL << 31) - 1, 1LL << 31, (1LL << 31) + 1,
    1LL << 32, 3037000499, 3037000500, 1LL << 62, most};

/// The true product, or -1 when it does not fit.
Index product_or_minus_one(Index a, Index b) {
  __extension__ using Wide = __int128;
  const Wide wide = static_cast<Wide>(a) * b;
  return wide > most ? -1 : static_cast<Index>(wide);
}

TEST(Checked, ProductIsRightOrRefused) {
  for (const Index a : sizes) {
    for (const Index b : sizes) {
      const Index expected = product_or_minus_one(a, b);
      if (expected < 0) {
        EXPECT_THROW(checked_product(a, b), Error) << a << " x " << b;
      } else {
        EXPECT_EQ(checked_product(a, b), expected);
      }
      for (const Index c : sizes) {
        const Index all = expected < 0 ? -1 : product_or_minus_one(expected, c);
        if (all < 0) {
          EXPECT_THROW(checked_product(a, b, c), Error) << a << " x " << b << " x " << c;
        } else {
          EXPECT_EQ(checked_product(a, b, c), all);
        }
      }
    }
  }
}

TEST(Checked, NegativeSizesAreRefused) {
  for (const Index bad : {Index{-1}, std::numeric_limits<Index>::min()}) {
    for (const Index other : {Index{0}, Index{1}, Index{-1}, most}) {
      EXPECT_THROW(checked_product(bad, other), Error);
      EXPECT_THROW(checked_product(other, bad), Error);
      EXPECT_THROW(checked_product(1, other, bad), Error);
      EXPECT_THROW(checked_bytes(bad, other, 8), Error);
    }
  }
}

TEST(Checked, Bytes) {
  EXPECT_EQ(checked_bytes(3, 5, 8), 120U);
  EXPECT_EQ(checked_bytes(0, 5, 8), 0U);
  EXPECT_THROW(checked_bytes(1LL << 32, 1LL << 32, 1), Error);  // wraps to 0 in 64 bits
  EXPECT_THROW(checked_bytes(1LL << 31, 1LL << 30, 8), Error);
  EXPECT_THROW(checked_bytes(1, 1, std::numeric_limits<std::size_t>::max()), Error);
}

TEST(Checked, Int) {
  EXPECT_EQ(checked_int(0, "rows"), 0);
  EXPECT_EQ(checked_int((1LL << 31) - 1, "rows"), std::numeric_limits<int>::max());
  EXPECT_THROW(checked_int(1LL << 31, "rows"), Error);
  EXPECT_THROW(checked_int(-1, "rows"), Error);
  EXPECT_THROW(checked_int(most, "rows"), Error);
}

TEST(Checked, MemoryIsAlignedAndZero) {
  for (const Pages pages : {Pages::of_large, Pages::of_any, Pages::small}) {
    const std::size_t directly = pages == Pages::of_any ? 5000000 : 40000000;  // from the system, from this on
    for (const std::size_t bytes : {1U, 64U, 65U, 100000U, 5000001U, 40000001U}) {
      const ZeroedBlock block = zeroed_aligned(bytes, pages);
      EXPECT_EQ(block.mapped > 0, bytes > directly);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data) % 64, 0U);
      auto* data = static_cast<unsigned char*>(block.data);
      EXPECT_TRUE(std::all_of(data, data + bytes, [](unsigned char byte) { return byte == 0; }));
      std::fill(data, data + bytes, 1);  // the whole of it is there
      release(block);
    }
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their allocators stop the program instead
TEST(Checked, TooMuchMemoryIsAnError) {
  EXPECT_THROW(zeroed_aligned(std::size_t{1} << 62), Error);
  EXPECT_THROW(zeroed_aligned(std::numeric_limits<std::size_t>::max()), Error);
  EXPECT_THROW(Matrix<double>(1LL << 29, 1LL << 29), Error);
}
#endif

TEST(MatrixTest, CopiesMovesAndViews) {
  Matrix<double> a(2, 3, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(a(1, 0), 4);
  EXPECT_EQ(a.row(1)[2], 6);
  Matrix<double> b = a;
  b(0, 0) = 9;
  EXPECT_EQ(a(0, 0), 1);
  const Matrix<double> middle(MatrixView<const double>(a.view().col_range(1, 1)));
  EXPECT_EQ(middle.rows(), 2);
  EXPECT_EQ(middle(1, 0), 5);
  const Matrix<double> moved = std::move(b);
  EXPECT_EQ(moved(0, 0), 9);
  b = a;  // a moved-from matrix may be used again
  EXPECT_EQ(b.size(), 6);
  const Matrix<double> none(0, 5);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.cols(), 5);
  EXPECT_THROW(Matrix<double>(-1, 5), Error);
  EXPECT_THROW(Matrix<double>(1LL << 32, 1LL << 32), Error);
}

}  // namespace
}  // namespace mercer
