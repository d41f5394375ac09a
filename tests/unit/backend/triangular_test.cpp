#include <gtest/gtest.h>
#include <mercer/threads.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

#include "backend/backend.hpp"
#include "base/random.hpp"

namespace mercer {
namespace {

/// Lower triangles whose rows sum to little beside their diagonal; above it is what must not be read.
template <class Real>
Matrix<Real> triangle(Index n) {
  const Stream stream(5, "triangle");
  Matrix<Real> l(n, n + 5);  // rows further apart than they are long
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < l.cols(); ++j) {
      const double v = stream.normal(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j));
      l(i, j) = j > i ? std::numeric_limits<Real>::quiet_NaN()
                      : static_cast<Real>(j < i ? 0.3 * v / std::sqrt(n) : 1 + 0.5 * std::abs(v));
    }
  }
  return l;
}

enum class Side { lower, transposed, both };

/// Largest |(L or Lᵀ or LLᵀ)x - b| of the first, the middle and the last column, with sums in long double.
template <class Real>
double largest_residual(MatrixView<const Real> l, MatrixView<const Real> x, MatrixView<const Real> b, Side side) {
  double largest = 0;
  for (const Index k : {Index{0}, x.cols / 2, x.cols - 1}) {
    std::vector<long double> v;
    for (Index i = 0; i < x.rows; ++i) v.push_back(x(i, k));
    const auto apply = [&](bool transposed) {
      std::vector<long double> product(v.size(), 0.0L);
      for (Index i = 0; i < l.rows; ++i) {
        for (Index j = 0; j <= i; ++j) {
          const auto [to, from] = transposed ? std::pair{j, i} : std::pair{i, j};
          product[static_cast<std::size_t>(to)] += static_cast<long double>(l(i, j)) * v[static_cast<std::size_t>(from)];
        }
      }
      v = product;
    };
    if (side != Side::lower) apply(true);
    if (side != Side::transposed) apply(false);
    for (Index i = 0; i < x.rows; ++i)
      largest = std::max(largest, std::abs(static_cast<double>(v[static_cast<std::size_t>(i)] - b(i, k))));
  }
  return largest;
}

/// Few columns, columns that fill vectors and others, in rows that are further apart, for lengths that end inside of bands.
template <class Real>
void check(std::initializer_list<Index> lengths, std::initializer_list<Index> column_counts, double tolerance) {
  for (const Index n : lengths) {
    const Matrix<Real> whole = triangle<Real>(n);
    const MatrixView<const Real> l = whole.view().col_range(0, n);
    for (const Index columns : column_counts) {
      SCOPED_TRACE(std::to_string(n) + " unknowns, " + std::to_string(columns) + " columns");
      const Stream stream(6, "right-hand sides");
      Matrix<Real> wide(n, columns + 3);
      for (Index i = 0; i < n; ++i) {
        for (Index k = 0; k < wide.cols(); ++k)
          wide(i, k) = static_cast<Real>(stream.normal(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(k)));
      }
      const Matrix<Real> b(wide.view().col_range(1, columns));
      const auto solved = [&](const auto& solve) {
        Matrix<Real> out = wide;
        solve(l, out.view().col_range(1, columns));
        for (Index i = 0; i < n; ++i) {  // what stands beside is left alone
          EXPECT_EQ(out(i, 0), wide(i, 0));
          EXPECT_EQ(out(i, columns + 1), wide(i, columns + 1));
        }
        return Matrix<Real>(out.view().col_range(1, columns));
      };
      const auto lower = solved([](MatrixView<const Real> t, MatrixView<Real> x) { solve_lower(t, x); });
      const auto both = solved([](MatrixView<const Real> t, MatrixView<Real> x) { cholesky_solve(t, x); });
      EXPECT_LT(largest_residual<Real>(l, lower, b, Side::lower), tolerance);
      EXPECT_LT(largest_residual<Real>(l, both, b, Side::both), tolerance);
      const auto transposed = solved([](MatrixView<const Real> t, MatrixView<Real> x) { solve_lower_transposed(t, x); });
      EXPECT_LT(largest_residual<Real>(l, transposed, b, Side::transposed), tolerance);
    }
  }
}

TEST(TriangularSolves, AreRightForAnyColumnsAtEveryLevel) {
  for (const Simd level : {Simd::portable, Simd::avx2, Simd::avx512}) {
    if (!simd_supported(level)) continue;
    SCOPED_TRACE(to_string(level));
    force_simd(level);
    // Backward stable: n·u·|L||x| in norm, some 1e-13 and 5e-5 here at the most; errors that are random are far smaller.
    check<float>({1024, 1111}, {1, 3, 5, 6, 15, 16, 17, 64, 65}, 5e-5);
    check<double>({1024, 1111}, {1, 3, 5, 6, 15, 16, 17, 64, 65}, 1e-13);
  }
  force_simd(Simd::automatic);
}

TEST(TriangularSolves, OfLargeTrianglesAreRight) {
  check<float>({6050}, {8, 12, 13}, 3e-4);  // where few columns are more than elsewhere
}

TEST(TriangularSolves, DoNotDependOnThreads) {
  const Index n = 1500;
  const Matrix<float> whole = triangle<float>(n);
  const MatrixView<const float> l = whole.view().col_range(0, n);
  for (const Index columns : {1, 7, 16, 30}) {
    Matrix<float> first;
    for (const int count : {1, 2, 5}) {
      set_threads(count);
      Matrix<float> x(n, columns);
      for (Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i % 17) - 8;
      cholesky_solve(l, x.view());
      if (count == 1) first = x;
      EXPECT_TRUE(std::ranges::equal(x.values(), first.values())) << columns << " columns, " << count << " threads";
    }
  }
  set_threads(0);
}

}  // namespace
}  // namespace mercer
