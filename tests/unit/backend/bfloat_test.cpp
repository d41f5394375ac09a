#include "backend/bfloat.hpp"

#include <gtest/gtest.h>
#include <mercer/threads.hpp>

#include <bit>
#include <cmath>

#include "base/matrix.hpp"
#include "base/random.hpp"

namespace mercer {
namespace {

/// Round to nearest even at 8 bits of mantissa, through exact double arithmetic.
double to_bfloat(double v) {
  if (v == 0) return 0;
  const int exponent = std::ilogb(v);
  const double unit = std::ldexp(1.0, exponent - 7);
  return std::nearbyint(v / unit) * unit;
}

Matrix<float> random_rows(Index rows, Index cols) {
  const Stream stream(7, "bfloat");
  Matrix<float> f(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index c = 0; c < cols; ++c)
      f(i, c) = static_cast<float>(stream.normal(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(c)));
  }
  return f;
}

std::vector<BfloatPath> supported() {
  std::vector<BfloatPath> result;
  for (const BfloatPath path : {BfloatPath::portable, BfloatPath::avx512_bf16, BfloatPath::amx}) {
    if (bfloat_supported(path)) result.push_back(path);
  }
  return result;
}

/// Packs in two parts, as threads do.
template <class Real>
BfloatRows packed(MatrixView<const Real> f, Index room) {
  BfloatRows rows(room, f.cols);
  rows.set_rows(f.rows);
  const Index half = f.rows / 4 * 2;
  rows.pack<Real>(0, f.row_range(0, half));
  rows.pack<Real>(half, f.row_range(half, f.rows - half));
  return rows;
}

class Bfloat : public ::testing::TestWithParam<BfloatPath> {
 protected:
  void SetUp() override { force_bfloat(GetParam()); }
  void TearDown() override { force_bfloat(BfloatPath::automatic); }
};

TEST_P(Bfloat, GramIsThatOfTheRoundedRows) {
  struct Shape {
    Index rows, cols;
  };
  for (const auto [rows, cols] : {Shape{1, 1}, {2, 16}, {33, 17}, {64, 47}, {101, 48}, {257, 97}, {40, 530}, {1024, 35}}) {
    const Matrix<float> f = random_rows(rows, cols);
    Matrix<float> g(cols, cols);
    std::ranges::fill(g.values(), 0.5F);
    accumulate_gram(packed<float>(f, rows + 70), g);
    for (Index a = 0; a < cols; ++a) {
      for (Index b = 0; b <= a; ++b) {
        double sum = 0.5;
        double size = 0.5;
        for (Index i = 0; i < rows; ++i) {
          const double term = to_bfloat(f(i, a)) * to_bfloat(f(i, b));
          sum += term;
          size += std::abs(term);
        }
        // Float sums of at most rows + 1 terms (products of bfloat16 are exact in float).
        ASSERT_NEAR(g(a, b), sum, size * (rows + 2) * 0x1p-24) << rows << "x" << cols << " at " << a << "," << b;
      }
    }
  }
}

TEST_P(Bfloat, TwoBlocksAddTheirSymmetricProduct) {
  const Index rows = 101;
  const Index cols = 97;
  const Matrix<float> f = random_rows(rows, cols);
  Matrix<float> h = f;  // what rounding leaves of f: far smaller
  for (float& v : h.values()) v -= rounded_to_bfloat(v);
  Matrix<float> g(cols, cols);
  accumulate_gram(packed<float>(f, rows), packed<float>(h, rows), g);
  for (Index a = 0; a < cols; ++a) {
    for (Index b = 0; b <= a; ++b) {
      double sum = 0;
      double size = 0;
      for (Index i = 0; i < rows; ++i) {
        const double terms[] = {to_bfloat(f(i, a)) * to_bfloat(h(i, b)), to_bfloat(h(i, a)) * to_bfloat(f(i, b))};
        sum += terms[0] + terms[1];
        size += std::abs(terms[0]) + std::abs(terms[1]);
      }
      ASSERT_NEAR(g(a, b), sum, size * (2 * rows + 2) * 0x1p-24) << a << "," << b;
    }
  }
  EXPECT_THROW(accumulate_gram(packed<float>(f, rows), packed<float>(random_rows(rows, 3), rows), g), std::exception);
}

TEST_P(Bfloat, DoubleRowsPackLikeFloatRows) {
  const Matrix<float> f = random_rows(75, 50);
  Matrix<double> wide(75, 50);
  std::ranges::copy(f.values(), wide.values().begin());
  const BfloatRows a = packed<float>(f, 80);
  const BfloatRows b = packed<double>(wide, 80);
  for (Index q = 0; q < a.panels(); ++q) {
    for (Index k = 0; k < a.pairs() * 16; ++k) ASSERT_EQ(a.panel_data(q)[k], b.panel_data(q)[k]);
  }
}

TEST_P(Bfloat, ABlockOfFewerRowsForgetsTheOneBefore) {
  const Matrix<float> f = random_rows(90, 20);
  BfloatRows reused(90, 20);
  reused.set_rows(90);
  reused.pack<float>(0, f);
  reused.set_rows(13);
  reused.pack<float>(0, f.view().row_range(0, 13));
  Matrix<float> g(20, 20);
  Matrix<float> expected(20, 20);
  accumulate_gram(reused, g);
  accumulate_gram(packed<float>(f.view().row_range(0, 13), 13), expected);
  for (Index a = 0; a < 20; ++a) {
    for (Index b = 0; b <= a; ++b) ASSERT_EQ(g(a, b), expected(a, b));
  }
}

TEST_P(Bfloat, ThreadsDoNotChangeABit) {
  const BfloatRows f = packed<float>(random_rows(130, 1000), 130);
  Matrix<float> first(1000, 1000);
  set_threads(1);
  accumulate_gram(f, first);
  for (const int count : {2, 3}) {
    set_threads(count);
    Matrix<float> g(1000, 1000);
    accumulate_gram(f, g);
    EXPECT_TRUE(std::ranges::equal(g.values(), first.values()));
  }
  set_threads(0);
}

INSTANTIATE_TEST_SUITE_P(Paths, Bfloat, ::testing::ValuesIn(supported()),
                         [](const auto& path) { return std::string(to_string(path.param)); });

TEST(BfloatPaths, EveryPathHasANameAndUnsupportedOnesAreRefused) {
  for (const BfloatPath path : {BfloatPath::portable, BfloatPath::avx512_bf16, BfloatPath::amx}) {
    EXPECT_FALSE(std::string(to_string(path)).empty());
    if (!bfloat_supported(path)) {
      EXPECT_ANY_THROW(force_bfloat(path));
    }
  }
}

}  // namespace
}  // namespace mercer
