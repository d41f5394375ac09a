#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <Eigen/Dense>
#include <cmath>

#include "base/parallel.hpp"
#include "kernel/evaluate.hpp"
#include "unit/kernel/kernel_samples.hpp"

namespace mercer {
namespace {

/// Every form for d inputs, with one length scale and one each (around √d, so that entries are neither 0 nor 1).
std::vector<Kernel> kernels(Index d) {
  const double l = std::sqrt(static_cast<double>(d));
  const LengthScale one{{l}};
  LengthScale each;
  for (Index i = 0; i < d; ++i) each.values.push_back(l * (0.5 + static_cast<double>(i % 3)));
  SpectralMixture mixture{{0.3, 2}, {}, {}};
  for (int q = 0; q < 2; ++q) {
    mixture.means.emplace_back();
    mixture.scales.emplace_back();
    for (Index i = 0; i < d; ++i) {
      mixture.means.back().push_back((q + 0.1 * static_cast<double>(i % 4)) / l);
      mixture.scales.back().push_back(0.1 / l);
    }
  }
  std::vector<Kernel> result;
  for (const LengthScale& scale : {one, each}) {
    result.insert(result.end(), {{Gaussian{scale}},
                                 {Matern{scale, 0.5}},
                                 {Matern{scale, 1.5}},
                                 {Matern{scale, 2.5}},
                                 {Matern{scale, 0.8}},
                                 {Matern{scale, 40}},
                                 {Laplacian{scale}},
                                 {Cauchy{scale}},
                                 {RationalQuadratic{scale, 1}},
                                 {RationalQuadratic{scale, 2.5}}});
  }
  result.push_back({mixture});
  result.push_back({Sum{{result[0], {Scaled{0.3, {result[2]}}}, {Product{{result[6], result[8], {mixture}}}}}}});
  return result;
}

void expect_pointwise(const Kernel& kernel, ConstMatrix x, ConstMatrix z, double tolerance) {
  Matrix<double> out(x.rows, z.rows);
  gram(kernel, x, z, out);
  double worst = 0;
  for (Index i = 0; i < x.rows; ++i) {
    for (Index j = 0; j < z.rows; ++j) worst = std::max(worst, std::abs(out(i, j) - value(kernel, x.row(i), z.row(j))));
  }
  EXPECT_LE(worst, tolerance) << to_string(kernel).substr(0, 60) << " d = " << x.cols;
}

/// value() at equal points: the scale of a stationary kernel.
double height(const Kernel& kernel, Index d) {
  const std::vector<double> x(static_cast<std::size_t>(d));
  return value(kernel, x, x);
}

TEST(KernelGram, TileEqualsPointwise) {
  for (const Index d : {1, 2, 3, 16, 17, 20, 100}) {
    for (const double shift : {0.0, 1e6}) {
      const Matrix<double> x = samples::normal_rows(11, 140, d, 1, shift);
      Matrix<double> z = samples::normal_rows(12, 131, d, 1, shift);
      for (Index j = 0; j < 20; ++j) {  // equal rows, and rows that nearly are: where squares of norms cancel
        for (Index k = 0; k < d; ++k) z(j, k) = x(j, k) + (j < 5 ? 0 : std::pow(10.0, -static_cast<double>(j - 5) / 2));
      }
      for (const Kernel& kernel : kernels(d)) expect_pointwise(kernel, x, z, 1e-12 * height(kernel, d));
    }
  }
}

TEST(KernelGram, FarClustersKeepTheirDigits) {
  // Two tight clusters far apart: within a cluster ‖x‖² + ‖z‖² - 2⟨x, z⟩ loses everything.
  for (const Index d : {3, 20, 100}) {
    Matrix<double> x = samples::normal_rows(13, 60, d);
    for (Index i = 0; i < 30; ++i) {
      for (double& entry : x.row(i)) entry += 1e5;
    }
    for (const Kernel& kernel : kernels(d)) expect_pointwise(kernel, x, x, 1e-12 * height(kernel, d));
  }
}

/// Dates such as 20260115 with waves of a few days: phases of 1e7 turns are reduced from exact products.
TEST(KernelGram, MixturesOfFarInputsKeepTheirDigits) {
  for (const Index d : {1, 3}) {
    SpectralMixture mixture{{0.3, 2}, {}, {}};
    for (int q = 0; q < 2; ++q) {
      mixture.means.emplace_back(static_cast<std::size_t>(d), 0.13 + q / 7.0);
      mixture.scales.emplace_back(static_cast<std::size_t>(d), 0.01 * q);
    }
    const Matrix<double> x = samples::normal_rows(1, 150, d, 30, 20260115);
    const Matrix<double> z = samples::normal_rows(2, 140, d, 30, 20260115);
    expect_pointwise({mixture}, x, z, 1e-12);
    expect_pointwise({mixture}, x, x, 1e-12);
  }
}

TEST(KernelGram, InnerProductsEqualPointwise) {
  for (const Index d : {1, 3, 20, 100}) {
    for (const double shift : {0.0, 1e6}) {
      const Matrix<double> x = samples::normal_rows(14, 130, d, 1, shift);
      const Matrix<double> z = samples::normal_rows(15, 129, d, 1, shift);
      double size = 1;
      for (Index i = 0; i < x.rows(); ++i) size = std::max(size, value(Kernel{Linear{}}, x.row(i), x.row(i)));
      for (Index i = 0; i < z.rows(); ++i) size = std::max(size, value(Kernel{Linear{}}, z.row(i), z.row(i)));
      expect_pointwise({Linear{}}, x, z, 1e-12 * size);
      expect_pointwise({Polynomial{3, 0.5}}, x, z, 1e-12 * std::pow(size + 0.5, 3));
      expect_pointwise({Polynomial{1, 0}}, x, z, 1e-12 * size);
      expect_pointwise(samples::scalar("linear()*polynomial(degree=2, offset=1) + 2*linear()"), x, z,
                       1e-12 * std::pow(size + 2, 3));
    }
  }
}

TEST(KernelGram, SymmetricHalfIsMirrored) {
  for (const Index d : {2, 20}) {
    const Matrix<double> x = samples::normal_rows(16, 300, d);
    for (const Kernel& kernel : kernels(d)) {
      Matrix<double> out(300, 300);
      gram(kernel, x, x, out);
      for (Index i = 0; i < 300; ++i) {
        for (Index j = 0; j < i; ++j) ASSERT_EQ(out(i, j), out(j, i));
      }
      expect_pointwise(kernel, x, x, 1e-12 * height(kernel, d));
    }
  }
}

TEST(KernelGram, ReadsAndWritesStridedViews) {
  for (const Index d : {3, 18}) {
    const Matrix<double> wide_x = samples::normal_rows(17, 40, d + 5);
    const Matrix<double> wide_z = samples::normal_rows(18, 30, d + 2);
    const ConstMatrix x = wide_x.view().col_range(2, d);
    const ConstMatrix z = wide_z.view().col_range(1, d);
    for (const Kernel& kernel : kernels(d)) {
      Matrix<double> room(42, 50);
      std::fill(room.values().begin(), room.values().end(), -7.0);
      gram(kernel, x, z, room.view().row_range(1, 40).col_range(10, 30));
      for (Index i = 0; i < 42; ++i) {
        for (Index j = 0; j < 50; ++j) {
          if (i >= 1 && i < 41 && j >= 10 && j < 40) {
            ASSERT_NEAR(room(i, j), value(kernel, x.row(i - 1), z.row(j - 10)), 1e-12 * height(kernel, d));
          } else {
            ASSERT_EQ(room(i, j), -7);
          }
        }
      }
    }
  }
}

TEST(KernelGram, SameForAnyNumberOfThreads) {
  const Matrix<double> x = samples::normal_rows(19, 400, 20);
  const Kernel kernel = kernels(20).back();
  Matrix<double> one(400, 400);
  Matrix<double> four(400, 400);
  const int before = threads();
  set_threads(1);
  gram(kernel, x, x, one);
  set_threads(4);
  gram(kernel, x, x, four);
  set_threads(before);
  EXPECT_TRUE(std::equal(one.values().begin(), one.values().end(), four.values().begin()));
}

TEST(KernelGram, IsPositiveSemiDefinite) {
  const Matrix<double> x = samples::normal_rows(20, 120, 3);
  for (const std::string& text : samples::scalar_texts()) {
    ::Eigen::Matrix<double, ::Eigen::Dynamic, ::Eigen::Dynamic, ::Eigen::RowMajor> k(120, 120);
    gram(samples::scalar(text), x, x, MutMatrix(k.data(), 120, 120));
    const auto values = ::Eigen::SelfAdjointEigenSolver<::Eigen::MatrixXd>(k).eigenvalues();
    EXPECT_GE(values.minCoeff(), -1e-12 * values.maxCoeff()) << text;
  }
}

TEST(KernelGram, EmptyAndTinyShapes) {
  const Matrix<double> x = samples::normal_rows(21, 1, 20);
  const Matrix<double> none(0, 20);
  for (const Kernel& kernel : kernels(20)) {
    Matrix<double> one(1, 1);
    gram(kernel, x, x, one);
    EXPECT_NEAR(one(0, 0), height(kernel, 20), 1e-12 * height(kernel, 20));
    Matrix<double> empty(1, 0);
    gram(kernel, x, none, empty);
    Matrix<double> nothing(0, 1);
    gram(kernel, none, x, nothing);
  }
}

TEST(KernelGram, RefusesWhatDoesNotFit) {
  const Matrix<double> x = samples::normal_rows(22, 4, 3);
  const Matrix<double> z = samples::normal_rows(22, 4, 2);
  Matrix<double> out(4, 4);
  Matrix<double> small(4, 3);
  EXPECT_THROW(gram({Gaussian{{{1}}}}, x, z, out), Error);
  EXPECT_THROW(gram({Gaussian{{{1}}}}, x, x, small), Error);
  EXPECT_THROW(gram({Gaussian{{{1, 2}}}}, x, x, out), Error);
  EXPECT_THROW(gram({Gaussian{{{}, true}}}, x, x, out), Error);
  EXPECT_THROW(gram({SpectralMixture{{1}, {{1, 2}}, {{1, 2}}}}, x, x, out), Error);
  EXPECT_THROW(gram({Sum{}}, x, x, out), Error);
}

}  // namespace
}  // namespace mercer
