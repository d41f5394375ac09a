#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/backend.hpp"
#include "base/random.hpp"

namespace mercer {
namespace {

template <class Real>
Matrix<Real> normal(Index rows, Index cols, const char* what) {
  const Stream stream(3, what);
  Matrix<Real> a(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index c = 0; c < cols; ++c)
      a(i, c) = static_cast<Real>(stream.normal(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(c)));
  }
  return a;
}

struct Shape {
  Index rows, cols, m;
};
constexpr Shape shapes[] = {{1, 1, 1},     {3, 2, 7},     {6, 4, 64},   {24, 16, 512}, {25, 17, 1031},
                            {47, 14, 257}, {31, 33, 700}, {50, 3, 300}, {7, 40, 129},  {64, 1, 2000},
                            {0, 3, 40},    {0, 20, 40},   {13, 8, 256}};

/// Against sums in long double: each of `terms` products and sums may be off by half a unit.
template <class Real>
void check() {
  const double unit = static_cast<double>(std::numeric_limits<Real>::epsilon());
  for (const auto [rows, cols, m] : shapes) {
    SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(cols) + " columns, m = " + std::to_string(m));
    const Matrix<Real> wide = normal<Real>(rows, m + 3, "a");  // rows further apart than they are long
    const MatrixView<const Real> a = wide.view().col_range(1, m);
    const Matrix<Real> v = normal<Real>(cols, m, "v");
    Matrix<double> weights(m, cols);
    for (Index k = 0; k < cols; ++k) {
      for (Index c = 0; c < m; ++c) weights(c, k) = static_cast<double>(v(k, c));
    }
    Matrix<Real> f(rows, cols);
    Matrix<Real> beside(rows, cols);
    thin_forward<Real>(a, v, f);
    const ThinWeights<Real> thin(weights);
    thin.forward(a, beside);
    for (Index i = 0; i < rows; ++i) {
      for (Index k = 0; k < cols; ++k) {
        long double sum = 0;
        long double size = 0;
        for (Index c = 0; c < m; ++c) {
          sum += static_cast<long double>(a(i, c)) * v(k, c);
          size += std::abs(static_cast<long double>(a(i, c)) * v(k, c));
        }
        ASSERT_NEAR(f(i, k), static_cast<double>(sum), unit * static_cast<double>(m * size));
        ASSERT_NEAR(beside(i, k), static_cast<double>(sum), unit * static_cast<double>(m * size));
      }
    }
    const Matrix<Real> before = normal<Real>(cols, m, "s");
    for (const bool add : {false, true}) {
      Matrix<Real> s = before;
      thin_adjoint<Real>(a, f, add, s);
      for (Index k = 0; k < cols; ++k) {
        for (Index c = 0; c < m; ++c) {
          long double sum = add ? before(k, c) : 0;
          long double size = std::abs(sum);
          for (Index i = 0; i < rows; ++i) {
            sum += static_cast<long double>(f(i, k)) * a(i, c);
            size += std::abs(static_cast<long double>(f(i, k)) * a(i, c));
          }
          ASSERT_NEAR(s(k, c), static_cast<double>(sum), unit * static_cast<double>((rows + 1) * size));
        }
      }
    }
  }
}

TEST(ThinProducts, AreTheSumsOfTheirProducts) {
  for (const Simd level : {Simd::portable, Simd::avx2, Simd::avx512}) {
    if (!simd_supported(level)) continue;
    SCOPED_TRACE(to_string(level));
    force_simd(level);
    check<float>();
    check<double>();
  }
  force_simd(Simd::automatic);
}

TEST(SingleFactor, IsTheDoubleOneRounded) {
  const Index n = 700;  // more than two blocks
  const Matrix<double> z = normal<double>(n, n, "z");
  Matrix<double> a(n, n);
  gemm<double>(false, true, 1.0, z, z, 0.0, a);
  for (Index i = 0; i < n; ++i) a(i, i) += static_cast<double>(n);  // condition number about 5
  Matrix<float> narrow(n, n);
  for (Index i = 0; i < a.size(); ++i) narrow.data()[i] = static_cast<float>(a.data()[i]);
  ASSERT_EQ(cholesky(a.view()), -1);
  ASSERT_EQ(cholesky(narrow.view()), -1);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j) ASSERT_NEAR(narrow(i, j), a(i, j), 1e-5 * std::sqrt(5.0 * n));
  }
  Matrix<double> x = normal<double>(n, 2, "b");
  Matrix<float> y(n, 2);
  for (Index i = 0; i < x.size(); ++i) y.data()[i] = static_cast<float>(x.data()[i]);
  cholesky_solve(a, x);
  cholesky_solve(narrow.view(), y.view());
  for (Index i = 0; i < x.size(); ++i) ASSERT_NEAR(y.data()[i], x.data()[i], 1e-7);
  Matrix<float> indefinite(2, 2, {1, 2, 2, 1});
  EXPECT_EQ(cholesky(indefinite.view()), 1);
}

}  // namespace
}  // namespace mercer
