#include "backend/backend.hpp"

#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <complex>
#include <vector>

#include "base/parallel.hpp"
#include "base/random.hpp"

namespace mercer {
namespace {

using RowMajor = ::Eigen::Matrix<double, ::Eigen::Dynamic, ::Eigen::Dynamic, ::Eigen::RowMajor>;

template <class Real>
Matrix<Real> random_matrix(Index rows, Index cols, std::uint64_t seed) {
  const Stream stream(seed, "test");
  Matrix<Real> m(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) m(i, j) = static_cast<Real>(stream.normal(i, j));
  }
  return m;
}

template <class Real>
RowMajor as_eigen(const Matrix<Real>& m) {
  RowMajor e(m.rows(), m.cols());
  for (Index i = 0; i < m.rows(); ++i) {
    for (Index j = 0; j < m.cols(); ++j) e(i, j) = static_cast<double>(m(i, j));
  }
  return e;
}

double largest_difference(const RowMajor& a, const RowMajor& b) {
  return (a - b).cwiseAbs().maxCoeff();
}

TEST(Gemm, EqualsEigenForEveryTransposition) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const auto a = ta ? random_matrix<double>(37, 600, 1) : random_matrix<double>(600, 37, 1);
      const auto b = tb ? random_matrix<double>(1100, 37, 2) : random_matrix<double>(37, 1100, 2);
      auto c = random_matrix<double>(600, 1100, 3);
      const RowMajor ea = ta ? RowMajor(as_eigen(a).transpose()) : as_eigen(a);
      const RowMajor eb = tb ? RowMajor(as_eigen(b).transpose()) : as_eigen(b);
      const RowMajor expected = 0.5 * ea * eb + 2.0 * as_eigen(c);
      gemm<double>(ta, tb, 0.5, a, b, 2.0, c);
      EXPECT_LT(largest_difference(as_eigen(c), expected), 1e-12);
    }
  }
}

template <class Real>
class GramOf : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GramOf, Reals);

TYPED_TEST(GramOf, BlockAddsItsCrossProducts) {
  const auto f = random_matrix<TypeParam>(300, 1100, 4);
  Matrix<double> g(1100, 1100);
  accumulate_gram<TypeParam>(f, g);
  accumulate_gram<TypeParam>(f, g);
  mirror_lower(g);
  const RowMajor expected = 2.0 * as_eigen(f).transpose() * as_eigen(f);
  const double eps = sizeof(TypeParam) == 4 ? 6e-8 : 1.2e-16;
  // |fl(Σ f_ki f_kj) - Σ f_ki f_kj| ≤ n·eps·Σ|f_ki f_kj| ≤ n·eps·max_i Σ f_ki².
  EXPECT_LT(largest_difference(as_eigen(g), expected), 300 * eps * expected.diagonal().maxCoeff());
}

TYPED_TEST(GramOf, IsBitEqualForAnyNumberOfThreads) {
  const auto f = random_matrix<TypeParam>(200, 1300, 5);
  Matrix<double> reference;
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    Matrix<double> g(1300, 1300);
    accumulate_gram<TypeParam>(f, g);
    if (count == 1) {
      reference = g;
    } else {
      EXPECT_TRUE(std::equal(g.values().begin(), g.values().end(), reference.values().begin()));
    }
  }
  set_threads(0);
}

template <class Real>
void check_cos_sin(Real limit, Real tolerance) {
  std::vector<Real> phase;
  for (Real x = -limit; x <= limit; x += limit / Real(20001.7)) phase.push_back(x);
  for (int k = -40; k <= 40; ++k) phase.push_back(static_cast<Real>(k * 0.78539816339744830962));  // multiples of π/4
  phase.insert(phase.end(), {Real(0), Real(-0.0), limit * 100, Real(1e-30)});
  std::vector<Real> c(phase.size());
  std::vector<Real> s(phase.size());
  cos_sin<Real>(phase.data(), static_cast<Index>(phase.size()), Real(0.5), c.data(), s.data());
  for (std::size_t i = 0; i < phase.size(); ++i) {
    const long double x = phase[i];
    ASSERT_NEAR(static_cast<double>(c[i]), static_cast<double>(0.5L * std::cos(x)), tolerance) << static_cast<double>(x);
    ASSERT_NEAR(static_cast<double>(s[i]), static_cast<double>(0.5L * std::sin(x)), tolerance) << static_cast<double>(x);
  }
}

TEST(CosSin, EveryInstructionSetIsAccurate) {
  for (const Simd level : {Simd::portable, Simd::avx2, Simd::avx512}) {
    if (!simd_supported(level)) continue;
    force_simd(level);
    EXPECT_EQ(active_simd(), level);
    check_cos_sin<float>(100.0F, 1.2e-7F * 0.5F);
    check_cos_sin<float>(8192.0F, 1.2e-7F * 0.5F);
    check_cos_sin<double>(100.0, 2.3e-16 * 0.5);
    check_cos_sin<double>(1e6, 2.3e-16 * 0.5);
  }
  force_simd(Simd::automatic);
}

TEST(CosSin, NotANumberStaysNotANumber) {
  const double phase[3] = {NAN, 1.0, INFINITY};
  double c[3];
  double s[3];
  cos_sin<double>(phase, 3, 1.0, c, s);
  EXPECT_TRUE(std::isnan(c[0]) && std::isnan(s[2]));
  EXPECT_DOUBLE_EQ(c[1], std::cos(1.0));
}

// long double exp has 11 more bits: the error measured is that of the loop.
TEST(Exponential, EveryInstructionSetIsWithinTwoUlp) {
  std::vector<double> x;
  for (double v = -708; v <= 709; v += 0.0137) x.push_back(v);
  for (double v = 1e-20; v < 1; v *= 1.7) x.insert(x.end(), {v, -v});
  for (int k = -200; k <= 200; ++k) x.push_back(k * 0.34657359027997265471);  // multiples of ½ ln 2: ends of the reduction
  x.insert(x.end(), {0.0, -0.0, -708.0, 709.0});
  for (const Simd level : {Simd::portable, Simd::avx2, Simd::avx512}) {
    if (!simd_supported(level)) continue;
    force_simd(level);
    std::vector<double> y = x;
    for (double& v : y) v *= -2;
    exponential(y.data(), static_cast<Index>(y.size()), -0.5);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double exact = std::exp(static_cast<long double>(x[i]));
      ASSERT_LE(std::abs(static_cast<double>((y[i] - exact) / exact)), 2 * 1.2e-16) << x[i] << " " << to_string(level);
    }
    std::vector<double> odd = {NAN, -INFINITY, INFINITY, -708.5, 1e300, -1e300, 710, -1e-320, 0};
    exponential(odd.data(), static_cast<Index>(odd.size()), 1);
    EXPECT_TRUE(std::isnan(odd[0]));
    EXPECT_EQ(std::vector<double>(odd.begin() + 1, odd.end()),
              (std::vector<double>{0, INFINITY, 0, INFINITY, 0, INFINITY, 1, 1}));
  }
  force_simd(Simd::automatic);
}

TEST(TileLoops, AddWhatTheirNamesSay) {
  const auto column = random_matrix<double>(1, 77, 8);
  for (const Simd level : {Simd::portable, Simd::avx2, Simd::avx512}) {
    if (!simd_supported(level)) continue;
    force_simd(level);
    std::vector<double> absolute(77, 1.0);
    std::vector<double> multiple(77, 1.0);
    add_absolute_differences(column.data(), 77, 0.3, 2.5, absolute.data());
    add_multiple(column.data(), 77, -2.5, multiple.data());
    for (Index i = 0; i < 77; ++i) {
      const double t = (0.3 - column(0, i)) * 2.5;
      const auto k = static_cast<std::size_t>(i);
      EXPECT_DOUBLE_EQ(absolute[k], 1 + std::abs(t));
      EXPECT_NEAR(multiple[k], 1 - 2.5 * column(0, i), 1e-14);
    }
    const auto x = random_matrix<double>(1, 11, 9);
    const auto inverse = random_matrix<double>(1, 11, 10);
    const auto columns = random_matrix<double>(11, 77, 11);
    for (const Index inputs : {0, 1, 2, 3, 4, 5, 8, 11}) {
      std::vector<double> squared(77, NAN);
      squared_distances(columns.data(), inputs, 77, x.data(), inverse.data(), squared.data());
      for (Index i = 0; i < 77; ++i) {
        double expected = 0;
        for (Index k = 0; k < inputs; ++k) expected += std::pow((x(0, k) - columns(k, i)) * inverse(0, k), 2);
        EXPECT_NEAR(squared[static_cast<std::size_t>(i)], expected, 1e-15 * (1 + 10 * expected));
      }
      for (const double scale :
           {1.0, 0.37, 1e100, 1e-100}) {  // one for all inputs, and too large or small to be squared apart
        const std::vector<double> same(11, scale);
        squared_distances(columns.data(), inputs, 77, x.data(), same.data(), squared.data());
        for (Index i = 0; i < 77; ++i) {
          double expected = 0;
          for (Index k = 0; k < inputs; ++k) expected += std::pow((x(0, k) - columns(k, i)) * scale, 2);
          EXPECT_NEAR(squared[static_cast<std::size_t>(i)], expected, 1e-14 * expected);
        }
      }
    }
    const std::vector<double> norms(77, 2.0);
    std::vector<double> products(77, -4.5);
    EXPECT_TRUE(add_norms(norms.data(), 77, 3.0, 0.1, products.data()));
    EXPECT_EQ(products, std::vector<double>(77, 0.5));
    for (const double spoiled : {-4.6, double{NAN}, -double{INFINITY}}) {
      products.assign(77, -4.5);
      products[66] = spoiled;
      EXPECT_FALSE(add_norms(norms.data(), 77, 3.0, 0.1, products.data()));
    }
    EXPECT_FALSE(add_norms(norms.data(), 77, INFINITY, 0.1, products.data()));
  }
  force_simd(Simd::automatic);
}

TEST(Cholesky, FactorsSolvesAndIsBitEqualForAnyNumberOfThreads) {
  // From 1024 unknowns on, up to 64 columns are solved by all threads together.
  for (const Index n : {700, 1300}) {
    const auto f = random_matrix<double>(n + 50, n, 6);
    Matrix<double> g(n, n);
    accumulate_gram<double>(f, g);
    mirror_lower(g);
    const auto exact = as_eigen(g).llt();
    std::vector<Matrix<double>> references;
    for (const int count : {1, 2, 3}) {
      set_threads(count);
      Matrix<double> l = g;
      EXPECT_EQ(cholesky(l), -1);
      std::size_t k = 0;
      for (const Index columns : {1, 2, 17, 64, 70}) {
        const auto rhs = random_matrix<double>(n, columns, 7);
        const RowMajor expected = exact.solve(as_eigen(rhs));
        Matrix<double> x = rhs;
        cholesky_solve(l, x);
        EXPECT_LT(largest_difference(as_eigen(x), expected), 1e-9 * expected.cwiseAbs().maxCoeff());
        if (count == 1) references.push_back(x);
        EXPECT_TRUE(std::ranges::equal(x.values(), references[k++].values()));
      }
    }
  }
  set_threads(0);
}

TEST(Cholesky, InvertsAndIsBitEqualForAnyNumberOfThreads) {
  for (const Index n : {1, 5, 128, 129, 700}) {
    const auto f = random_matrix<double>(n + 50, n, 9);
    Matrix<double> g(n, n);
    accumulate_gram<double>(f, g);
    mirror_lower(g);
    const RowMajor expected = as_eigen(g).inverse();
    Matrix<double> reference;
    for (const int count : {1, 2, 3}) {
      set_threads(count);
      Matrix<double> l = g;
      ASSERT_EQ(cholesky(l), -1);
      Matrix<double> work(n, n);
      cholesky_inverse(l, work);
      mirror_lower(l);
      EXPECT_LT(largest_difference(as_eigen(l), expected), 1e-9 * expected.cwiseAbs().maxCoeff());
      if (count == 1) reference = l;
      EXPECT_TRUE(std::equal(l.values().begin(), l.values().end(), reference.values().begin()));
    }
  }
  set_threads(0);
}

TEST(TileLoops, DampedWavesAndPairsOfSums) {
  const Index count = 77;
  const auto square = random_matrix<double>(1, count, 11);
  const auto phase = random_matrix<double>(1, count, 12);
  std::vector<double> cosine(count), sine(count), even(count), odd(count), out(count, 0.25);
  for (Index i = 0; i < count; ++i) {
    cosine[i] = std::cos(phase(0, i));
    sine[i] = std::sin(phase(0, i));
  }
  const double at = 0.7;
  for (const Simd level : {Simd::portable, Simd::avx2, Simd::avx512}) {
    if (!simd_supported(level)) continue;
    force_simd(level);
    out.assign(count, 0.25);
    add_damped_wave(square.data(), count, -0.4, cosine.data(), sine.data(), std::cos(at), std::sin(at), out.data());
    damped_waves(square.data(), count, -0.4, cosine.data(), sine.data(), std::cos(at), std::sin(at), even.data(),
                 odd.data());
    double first = 0;
    double second = 0;
    for (Index i = 0; i < count; ++i) {
      const double envelope = std::exp(-0.4 * square(0, i));
      EXPECT_NEAR(even[i], envelope * std::cos(at - phase(0, i)), 1e-14);
      EXPECT_NEAR(odd[i], envelope * std::sin(at - phase(0, i)), 1e-14);
      EXPECT_NEAR(out[i], 0.25 + even[i], 1e-14);
      first += even[i] * sine[i];
      second += odd[i] * cosine[i];
    }
    std::array<double, 2> sums{};
    dot_pair(even.data(), sine.data(), odd.data(), cosine.data(), count, sums.data());
    EXPECT_NEAR(sums[0], first, 1e-12);
    EXPECT_NEAR(sums[1], second, 1e-12);
  }
  force_simd(Simd::automatic);
}

// Cells of polynomials against std::complex Horner; places on both sides of 0, at the ends of cells and beyond ±½ of a part.
TEST(TileLoops, CellPolynomials) {
  constexpr Index cells = 5;
  const auto coefficients = random_matrix<double>(cells, 2 * cell_terms, 17);
  const std::vector<double> whole{0, 0, 0, 3, -3, 2, -2, 4, 1, -1, 0};
  const std::vector<double> part{0, 0.3, -0.3, 0.5, -0.2, 0.9, -0.9, -0.6, -1, 1, 0.7};
  for (const Simd level : {Simd::portable, Simd::avx2, Simd::avx512}) {
    if (!simd_supported(level)) continue;
    force_simd(level);
    Matrix<double> out(static_cast<Index>(whole.size()), 4);
    cell_polynomials(coefficients.data(), whole.data(), part.data(), out.rows(), out.data());
    for (Index i = 0; i < out.rows(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      const double place = whole[k] + part[k];
      const double cell = std::nearbyint(part[k]) + whole[k];
      const bool mirrored = cell < 0;
      const double u = 2 * (mirrored ? cell - place : place - cell);
      std::complex<double> value = 0;
      std::complex<double> slope = 0;
      for (Index m = cell_terms - 1; m >= 0; --m) {
        slope = slope * u + value;
        const auto row = static_cast<Index>(std::abs(cell));
        value = value * u + std::complex<double>(coefficients(row, 2 * m), coefficients(row, 2 * m + 1));
      }
      EXPECT_NEAR(out(i, 0), value.real(), 1e-12);
      EXPECT_NEAR(out(i, 1), mirrored ? -value.imag() : value.imag(), 1e-12);
      EXPECT_NEAR(out(i, 2), mirrored ? -slope.real() : slope.real(), 1e-11);
      EXPECT_NEAR(out(i, 3), slope.imag(), 1e-11);
    }
  }
  force_simd(Simd::automatic);
}

TEST(Cholesky, NamesTheFailingPivot) {
  Matrix<double> a(400, 400);
  for (Index i = 0; i < 400; ++i) a(i, i) = i == 300 ? -1.0 : 1.0;
  EXPECT_EQ(cholesky(a), 300);
}

TEST(Cholesky, StopsAtTheFirstFailingPivotForAnyNumberOfThreads) {
  const Index n = 1500;  // six rows of tiles, the last a short one; pivots fail in the fourth and in the last
  const auto f = random_matrix<double>(2 * n, n, 5);
  Matrix<double> g(n, n);
  accumulate_gram<double>(f, g);
  g(800, 800) = 0;
  g(1490, 1490) = -1;
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    for (int turn = 0; turn < 5; ++turn) {
      Matrix<double> a = g;
      EXPECT_EQ(cholesky(a), 800);
    }
  }
  set_threads(0);
}

TEST(Eigh, RebuildsTheMatrix) {
  const auto f = random_matrix<double>(90, 60, 8);
  Matrix<double> g(60, 60);
  accumulate_gram<double>(f, g);
  const Eigen e = eigh(g);  // only the lower triangle is filled
  mirror_lower(g);
  const RowMajor v = as_eigen(e.vectors);
  const ::Eigen::VectorXd w = ::Eigen::Map<const ::Eigen::VectorXd>(e.values.data(), 60);
  EXPECT_LT(largest_difference(v.transpose() * w.asDiagonal() * v, as_eigen(g)), 1e-11);
  EXPECT_LE(e.values.front(), e.values.back());
}

TEST(Blas, RunsOnKernelsThatFitTheCpu) {
  const BackendInfo info = backend_info();
  EXPECT_EQ(info.warning, "") << info.blas_kernels;
  EXPECT_NE(info.blas_kernels, "Prescott");
}

}  // namespace
}  // namespace mercer
