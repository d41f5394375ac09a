#include "backend/packed_rows.hpp"
#include "backend/cpu/loud_columns.hpp"

#include <gtest/gtest.h>
#include <Eigen/Eigenvalues>
#include <mercer/threads.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "backend/backend.hpp"
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

std::vector<PackedPath> supported(LowNumber number) {
  std::vector<PackedPath> result;
  for (const PackedPath path : {PackedPath::portable, PackedPath::avx512, PackedPath::amx}) {
    if (path_supported(number, path)) result.push_back(path);
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

/// A scale for every column, such that no scaled value leaves [-127, 127].
std::vector<float> scales_of(MatrixView<const float> f) {
  std::vector<float> largest(static_cast<std::size_t>(f.cols), 0.0F);
  for (Index i = 0; i < f.rows; ++i) {
    for (Index c = 0; c < f.cols; ++c) {
      float& l = largest[static_cast<std::size_t>(c)];
      l = std::max(l, std::abs(f(i, c)));
    }
  }
  for (float& l : largest) l = 127.0F / l;
  return largest;
}

template <class Real>
ByteRows packed_bytes(MatrixView<const Real> f, Index room, const std::vector<float>& scales) {
  ByteRows rows(room, f.cols);
  rows.set_rows(f.rows);
  const Index half = f.rows / 8 * 4;
  rows.pack<Real>(0, f.row_range(0, half), {}, scales);
  rows.pack<Real>(half, f.row_range(half, f.rows - half), {}, scales);
  return rows;
}

struct Shape {
  Index rows, cols;
};
constexpr Shape shapes[] = {{1, 1}, {2, 16}, {33, 17}, {64, 47}, {101, 48}, {257, 97}, {40, 530}, {1024, 35}, {2050, 20}};

class Bfloat : public ::testing::TestWithParam<PackedPath> {
 protected:
  void SetUp() override { force_path(GetParam()); }
  void TearDown() override { force_path(PackedPath::automatic); }
};

TEST_P(Bfloat, GramIsThatOfTheRoundedRows) {
  for (const auto [rows, cols] : shapes) {
    const Matrix<float> f = random_rows(rows, cols);
    Matrix<float> g(cols, cols);
    std::ranges::fill(g.values(), 0.5F);
    BfloatRows p = packed<float>(f, rows + 70);
    accumulate_gram<float>(p, g);
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
  BfloatRows left = packed<float>(f, rows);
  BfloatRows right = packed<float>(h, rows);
  accumulate_gram(left, right, g);
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
  BfloatRows narrow = packed<float>(random_rows(rows, 3), rows);
  EXPECT_THROW(accumulate_gram(left, narrow, g), std::exception);
}

TEST_P(Bfloat, DoubleRowsPackLikeFloatRows) {
  const Matrix<float> f = random_rows(75, 50);
  Matrix<double> wide(75, 50);
  std::ranges::copy(f.values(), wide.values().begin());
  const BfloatRows a = packed<float>(f, 80);
  const BfloatRows b = packed<double>(wide, 80);
  for (Index q = 0; q < a.panels(); ++q) {
    for (Index k = 0; k < a.lines() * 16; ++k) ASSERT_EQ(a.panel_data(q)[k], b.panel_data(q)[k]);
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
  accumulate_gram<float>(reused, g);
  BfloatRows fresh = packed<float>(f.view().row_range(0, 13), 13);
  accumulate_gram<float>(fresh, expected);
  for (Index a = 0; a < 20; ++a) {
    for (Index b = 0; b <= a; ++b) ASSERT_EQ(g(a, b), expected(a, b));
  }
}

TEST_P(Bfloat, ThreadsDoNotChangeABit) {
  BfloatRows f = packed<float>(random_rows(130, 1000), 130);
  Matrix<float> first(1000, 1000);
  set_threads(1);
  accumulate_gram<float>(f, first);
  for (const int count : {2, 3}) {
    set_threads(count);
    Matrix<float> g(1000, 1000);
    accumulate_gram<float>(f, g);
    EXPECT_TRUE(std::ranges::equal(g.values(), first.values()));
  }
  set_threads(0);
}

std::string path_name(const ::testing::TestParamInfo<PackedPath>& tested) {
  return to_string(tested.param);
}
INSTANTIATE_TEST_SUITE_P(Paths, Bfloat, ::testing::ValuesIn(supported(LowNumber::bf16)), path_name);

class Bytes : public Bfloat {};

TEST_P(Bytes, GramIsExactlyThatOfTheRoundedRows) {
  for (const auto [rows, cols] : shapes) {
    const Matrix<float> f = random_rows(rows, cols);
    const std::vector<float> scales = scales_of(f);
    Matrix<std::int32_t> q(rows, cols);
    for (Index i = 0; i < rows; ++i) {
      for (Index c = 0; c < cols; ++c)
        q(i, c) = static_cast<std::int32_t>(std::nearbyint(f(i, c) * scales[static_cast<std::size_t>(c)]));
    }
    Matrix<std::int32_t> g(cols, cols);
    std::ranges::fill(g.values(), -5);
    ByteRows p = packed_bytes<float>(f, rows + 70, scales);
    accumulate_gram<std::int32_t>(p, g);
    for (Index a = 0; a < cols; ++a) {
      for (Index b = 0; b <= a; ++b) {
        std::int32_t sum = -5;
        for (Index i = 0; i < rows; ++i) sum += q(i, a) * q(i, b);
        ASSERT_EQ(g(a, b), sum) << rows << "x" << cols << " at " << a << "," << b;
      }
    }
  }
}

TEST_P(Bytes, LargestNumbersDoNotOverflow) {
  const Index rows = 8192;  // all ±127: sums that saturating arithmetic, or one byte of offset too many, would spoil
  Matrix<float> f(rows, 34);
  for (Index i = 0; i < rows; ++i) {
    for (Index c = 0; c < 34; ++c) f(i, c) = c % 2 == 0 ? 127.0F : -127.0F;
  }
  ByteRows p = packed_bytes<float>(f, rows, std::vector<float>(34, 1.0F));
  Matrix<std::int32_t> g(34, 34);
  accumulate_gram<std::int32_t>(p, g);
  for (Index a = 0; a < 34; ++a) {
    for (Index b = 0; b <= a; ++b) ASSERT_EQ(g(a, b), ((a + b) % 2 == 0 ? 1 : -1) * 127 * 127 * rows);
  }
}

TEST_P(Bytes, DoubleRowsAndMoreColumnsPackLikeFloatRows) {
  const Matrix<float> f = random_rows(75, 90);
  const std::vector<float> scales = scales_of(f);
  const ByteRows a = packed_bytes<float>(f, 80, scales);
  for (const Index more : {0, 1, 10, 42, 80}) {  // from the middle of a panel on, and from its start; several panels
    Matrix<double> first(75, 90 - more);
    Matrix<double> last(75, more);
    for (Index i = 0; i < 75; ++i) {
      std::ranges::copy(f.row(i).first(static_cast<std::size_t>(90 - more)), first.row(i).begin());
      std::ranges::copy(f.row(i).subspan(static_cast<std::size_t>(90 - more)), last.row(i).begin());
    }
    ByteRows b(80, 90);
    b.set_rows(75);
    b.pack<double>(0, first, last, scales);
    for (Index q = 0; q < a.panels(); ++q) {
      for (Index k = 0; k < a.lines() * 16; ++k) ASSERT_EQ(a.panel_data(q)[k], b.panel_data(q)[k]) << more << " more";
    }
  }
}

TEST_P(Bytes, ThreadsDoNotChangeASum) {
  const Matrix<float> f = random_rows(130, 1500);  // several rows of tiles
  ByteRows p = packed_bytes<float>(f, 130, scales_of(f));
  Matrix<std::int32_t> first(1500, 1500);
  set_threads(1);
  accumulate_gram<std::int32_t>(p, first);
  for (const int count : {2, 5}) {
    set_threads(count);
    Matrix<std::int32_t> g(1500, 1500);
    accumulate_gram<std::int32_t>(p, g);
    EXPECT_TRUE(std::ranges::equal(g.values(), first.values()));
  }
  set_threads(0);
}

INSTANTIATE_TEST_SUITE_P(Paths, Bytes, ::testing::ValuesIn(supported(LowNumber::int8)), path_name);

TEST(PackedPaths, EveryPathHasANameAndUnsupportedOnesAreRefused) {
  for (const PackedPath path : {PackedPath::portable, PackedPath::avx512, PackedPath::amx}) {
    EXPECT_FALSE(std::string(to_string(path)).empty());
    if (path_supported(LowNumber::int8, path) || path_supported(LowNumber::bf16, path)) {
      force_path(path);
      EXPECT_EQ(active_path(LowNumber::int8) == path, path_supported(LowNumber::int8, path));
      EXPECT_EQ(active_path(LowNumber::bf16) == path, path_supported(LowNumber::bf16, path));
    } else {
      EXPECT_ANY_THROW(force_path(path));
    }
  }
  force_path(PackedPath::automatic);
}

TEST(SplitCholesky, IsThatOfFloatsToSixteenBits) {
  const Index n = 1300;  // tiles of 256; the last rows are no multiple of 16
  Matrix<float> z = random_rows(n, n);
  Matrix<double> a(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j) {
      for (Index k = 0; k < 40; ++k) a(i, j) += static_cast<double>(z(i, k)) * static_cast<double>(z(j, k)) / (1.0 + k * k);
      if (i == j) a(i, j) += 0.01;
    }
  }
  for (const PackedPath path : supported(LowNumber::bf16)) {
    force_path(path);
    Matrix<float> l(n, n);
    // In bfloat16 throughout, where that is quieter than some bound, and nowhere.
    for (const double harmless : {1.0, 1e-5, 1e-6, 0.0}) {
      std::ranges::fill(l.values(), std::numeric_limits<float>::quiet_NaN());
      for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j <= i; ++j) l(i, j) = static_cast<float>(a(i, j));
      }
      ASSERT_EQ(split_cholesky(l, harmless), -1) << to_string(path);
      for (Index i = 0; i < n; ++i) {  // what is above the diagonal is neither read nor written
        for (Index j = i + 1; j < n; ++j) ASSERT_TRUE(std::isnan(l(i, j)));
      }
      // Products are off by at most 3·2⁻¹⁶ of Σ|l_ik l_jk| ≤ √(a_ii a_jj), and by far less on the average; the rest is in
      // float.
      for (Index i = 0; i < n; i += 7) {
        for (Index j = 0; j <= i; j += 3) {
          double product = 0;
          for (Index k = 0; k <= j; ++k) product += static_cast<double>(l(i, k)) * static_cast<double>(l(j, k));
          ASSERT_NEAR(product, a(i, j), 0x1p-16 * std::sqrt(a(i, i) * a(j, j))) << to_string(path) << ", " << harmless;
        }
      }
    }
    // Nothing is harmless: in float throughout.
    Matrix<float> precise(n, n);
    Matrix<float> plain(n, n);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j <= i; ++j) precise(i, j) = plain(i, j) = static_cast<float>(a(i, j));
    }
    ASSERT_EQ(split_cholesky(precise, 0.0), -1);
    ASSERT_EQ(cholesky(plain.view()), -1);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j <= i; ++j) ASSERT_NEAR(precise(i, j), plain(i, j), 1e-4 * std::sqrt(a(i, i)));
    }
    Matrix<float> indefinite = l;
    for (Index i = 0; i < n; ++i) indefinite(i, i) = i == 700 ? -1.0F : 1.0F;
    for (Index i = 0; i < n; ++i) std::fill_n(indefinite.row(i).begin(), i, 0.0F);
    EXPECT_EQ(split_cholesky(indefinite, 1.0), 700);
  }
  force_path(PackedPath::automatic);
}

/// max |A - LLᵀ| of some entries.
double most_off(MatrixView<const double> a, MatrixView<const float> l) {
  double most = 0;
  for (Index i = 0; i < a.rows; i += 7) {
    for (Index j = 0; j <= i; j += 3) {
      double product = 0;
      for (Index k = 0; k <= j; ++k) product += static_cast<double>(l(i, k)) * static_cast<double>(l(j, k));
      most = std::max(most, std::abs(product - a(i, j)));
    }
  }
  return most;
}

TEST(SplitCholesky, MultipliesLoudColumnsByFloats) {
  // Five directions stand out, and so do the first columns of the factor, which share a tile with quiet ones.
  const Index n = 800;
  const Matrix<float> z = random_rows(n, 5);
  Matrix<double> a(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j) {
      for (Index k = 0; k < 5; ++k) a(i, j) += static_cast<double>(z(i, k)) * static_cast<double>(z(j, k));
      if (i == j) a(i, j) += 0.01;
    }
  }
  const auto off = [&](double harmless) {
    Matrix<float> l(n, n);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j <= i; ++j) l(i, j) = static_cast<float>(a(i, j));
    }
    EXPECT_EQ(split_cholesky(l, harmless), -1);
    return most_off(a, l);
  };
  for (const PackedPath path : supported(LowNumber::bf16)) {
    force_path(path);
    const double floats = off(0.0);
    const double mixed = off(3e-5);
    EXPECT_LT(mixed, 2 * floats) << to_string(path);
    EXPECT_GT(off(1.0), 4 * floats) << to_string(path);
  }
  force_path(PackedPath::automatic);
}

TEST(SplitCholesky, NoiseOfAllTilesTogetherIsWithinTheRootOfTheirNumber) {
  // A spectrum that falls through the noise of bfloat16 and goes on to the ridge, 1.
  const Index n = 1024;
  const double tiles = 4;
  const Matrix<float> z = random_rows(n, n);
  ::Eigen::MatrixXd f(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < n; ++k)
      f(i, k) = std::sqrt(3e4 * std::exp(-static_cast<double>(k) / 60)) * static_cast<double>(z(i, k));
  }
  const ::Eigen::MatrixXd a = f * f.transpose() / n + ::Eigen::MatrixXd::Identity(n, n);
  const auto noise = [&](double harmless) {
    Matrix<float> room(n, n);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j <= i; ++j) room(i, j) = static_cast<float>(a(i, j));
    }
    EXPECT_EQ(split_cholesky(room, harmless), -1);
    ::Eigen::MatrixXd l = ::Eigen::MatrixXd::Zero(n, n);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j <= i; ++j) l(i, j) = static_cast<double>(room(i, j));
    }
    const ::Eigen::MatrixXd off = l * l.transpose() - a;
    return ::Eigen::SelfAdjointEigenSolver<::Eigen::MatrixXd>(off, ::Eigen::EigenvaluesOnly)
        .eigenvalues()
        .cwiseAbs()
        .maxCoeff();
  };
  for (const PackedPath path : supported(LowNumber::bf16)) {
    if (path == PackedPath::portable) continue;  // it takes its time, and nobody factors by it
    SCOPED_TRACE(to_string(path));
    force_path(path);
    const double floats = noise(0.0);
    for (const double harmless : {0.01, 0.003}) EXPECT_LT(noise(harmless), std::sqrt(tiles) * harmless + floats) << harmless;
    EXPECT_GT(noise(1.0), std::sqrt(tiles) * 0.01 + floats) << "without a limit";
  }
  force_path(PackedPath::automatic);
}

TEST(LoudColumns, AreTheFewestThatWillDo) {
  Matrix<float> l(256, split_tile);
  Matrix<float> m(100, split_tile);
  for (Index k = 0; k < split_tile; ++k) {
    for (Index i = 0; i < l.rows(); ++i) l(i, k) = k % 50 == 7 ? 4.0F : 0.01F;
    for (Index i = 0; i < m.rows(); ++i) m(i, k) = k == 57 ? 8.0F : k % 50 == 7 ? 4.0F : 0.01F;
  }
  const Index rows = 1000;
  const Loudness of_l(l, rows);
  const Loudness of_m(m, rows);
  // Five columns of 4, of which one is 8 in m: the squared noise, 2⁻³³·rows·Σ (mean square)².
  const double unit = std::ldexp(2.0 * static_cast<double>(rows), -34);
  EXPECT_NEAR(of_l.noise(), unit * 5 * 256, 1e-6 * of_l.noise());
  EXPECT_NEAR(of_m.noise(), unit * (4 * 256 + 4096), 1e-6 * of_m.noise());
  const double quiet = std::sqrt(unit * 256 * 1e-8);  // far more than what columns of 0.01 make
  const LoudColumns none(of_l, of_m, 2 * std::sqrt(unit * 6000));
  EXPECT_EQ(none.count(), 0);
  EXPECT_FALSE(none.too_many());
  const LoudColumns all(of_l, of_m, quiet);
  EXPECT_EQ(all.count(), 5);
  EXPECT_FALSE(all.too_many());
  const SplitColumns others = all.others();
  for (std::size_t k = 0; k < others.size(); ++k) EXPECT_EQ(others[k], k % 50 == 7 ? 0U : ~0U);
  // Without the loudest there is 4·256 of both.
  const LoudColumns one(of_l, of_m, std::sqrt(unit * 1100));
  ASSERT_EQ(one.count(), 1);
  EXPECT_EQ(one.others()[57], 0U);
  Matrix<float> room(256, LoudColumns::most);
  const MatrixView<const float> gathered = one.of(m, room);
  EXPECT_EQ(gathered.rows, 100);
  EXPECT_EQ(gathered.cols, 1);
  EXPECT_EQ(gathered(99, 0), 8.0F);
  EXPECT_TRUE(LoudColumns(of_l, of_m, 0.0).too_many());
}

/// A = FFᵀ/n + I, so well conditioned that factors are as good as their products.
Matrix<float> spread_matrix(Index n) {
  const Matrix<float> f = random_rows(40, n);
  Matrix<float> a(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j) {
      float sum = i == j ? 1.0F : 0.0F;
      for (Index k = 0; k < 40; ++k) sum += f(k, i) * f(k, j) / 40;
      a(i, j) = sum;
    }
  }
  return a;
}

/// Neighbouring rows that are nearly the same, and a little on the diagonal: solves with small blocks of L go as far as
/// floats can, and products with their inverses would not.
TEST(SplitCholesky, BlocksThatAreNearlySingularAreAsPreciseAsByABlas) {
  const Index n = 700;
  const Matrix<float> z = random_rows(n, 30);
  for (const double ridge : {1e-2, 1e-4, 3e-6}) {
    Matrix<float> a(n, n);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j <= i; ++j) {
        double sum = i == j ? ridge : 0.0;
        for (Index k = 0; k < 30; ++k) sum += static_cast<double>(z(i / 8, k)) * static_cast<double>(z(j / 8, k)) / 30;
        a(i, j) = static_cast<float>(sum);
      }
    }
    const auto farthest = [&](const Matrix<float>& l) {
      double most = 0;
      for (Index i = 0; i < n; i += 3) {
        for (Index j = 0; j <= i; ++j) {
          double product = 0;
          for (Index k = 0; k <= j; ++k) product += static_cast<double>(l(i, k)) * static_cast<double>(l(j, k));
          const double scale = std::sqrt(static_cast<double>(a(i, i)) * static_cast<double>(a(j, j)));
          most = std::max(most, std::abs(product - static_cast<double>(a(i, j))) / scale);
        }
      }
      return most;
    };
    Matrix<float> plain = a;
    Matrix<float> split = a;
    ASSERT_EQ(cholesky(plain.view()), -1) << ridge;
    ASSERT_EQ(split_cholesky(split, 0.0), -1) << ridge;
    EXPECT_LE(farthest(split), 3 * farthest(plain) + 0x1p-22) << ridge;
  }
}

TEST(SplitCholesky, SizesAroundTilesFactorWithTheSameBitsForAnyNumberOfThreads) {
  for (const Index n : {0, 1, 255, 256, 257, 272, 512, 560, 3400}) {  // the last: tiles taken off eight at a time
    const Matrix<float> a = spread_matrix(n);
    for (const bool split : {false, true}) {
      std::optional<Matrix<float>> first;
      for (const int count : {1, 2, 5}) {
        set_threads(count);
        Matrix<float> l = a;
        ASSERT_EQ(split ? split_cholesky(l, 1.0) : cholesky(l.view()), -1) << n;
        if (first) {
          ASSERT_TRUE(std::ranges::equal(l.values(), first->values())) << n << ", " << count << " threads";
          continue;
        }
        // LLᵀx = Ax for a vector of signs. Entries of LLᵀ are off by some 2⁻¹⁸ of √Σ_k l_ik² l_jk², 0.2 or so: 3400 of them
        // by 4e-5 at random, and a seventh of the tolerance is that.
        std::vector<double> x(static_cast<std::size_t>(n));
        for (Index i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = i % 3 == 0 ? 1 : -1;
        std::vector<double> lx(x.size(), 0.0);
        std::vector<double> ax(x.size(), 0.0);
        for (Index i = 0; i < n; ++i) {
          for (Index j = 0; j <= i; ++j) {
            const auto row = static_cast<std::size_t>(i);
            const auto col = static_cast<std::size_t>(j);
            lx[col] += static_cast<double>(l(i, j)) * x[row];
            ax[row] += static_cast<double>(a(i, j)) * x[col];
            if (i != j) ax[col] += static_cast<double>(a(i, j)) * x[row];
          }
        }
        for (Index i = 0; i < n; ++i) {
          double product = 0;
          for (Index j = 0; j <= i; ++j) product += static_cast<double>(l(i, j)) * lx[static_cast<std::size_t>(j)];
          ASSERT_NEAR(product, ax[static_cast<std::size_t>(i)], 3e-4) << n << " at " << i;
        }
        first = std::move(l);
      }
    }
  }
  set_threads(0);
}

TEST(SplitCholesky, StopsAtTheFirstFailingPivotForAnyNumberOfThreads) {
  Matrix<float> a = spread_matrix(1500);
  a(800, 800) = 0;
  a(1490, 1490) = -1;
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    for (int turn = 0; turn < 5; ++turn) {
      Matrix<float> l = a;
      EXPECT_EQ(split_cholesky(l, 1.0), 800);
    }
  }
  set_threads(0);
}

}  // namespace
}  // namespace mercer
