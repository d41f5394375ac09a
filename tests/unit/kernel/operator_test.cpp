#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <Eigen/Dense>
#include <cmath>

#include "kernel/evaluate.hpp"
#include "kernel/resolve.hpp"
#include "unit/kernel/kernel_samples.hpp"

namespace mercer {
namespace {

Matrix<double> block_of(const std::string& text, const std::vector<double>& x, const std::vector<double>& z, Index p) {
  Matrix<double> block(p, p);
  value(parse_kernel(text), x, z, block);
  return block;
}

double square(double v) {
  return v * v;
}

TEST(OperatorKernelValue, GaussianClosedForms) {
  // THEORY section 2.
  const double sigma = 0.8;
  std::mt19937_64 engine(1);
  for (const Index d : {2, 3, 5}) {
    const auto x = samples::normals(engine, static_cast<std::size_t>(d), 0.5);
    const auto z = samples::normals(engine, static_cast<std::size_t>(d), 0.5);
    const double k = value(samples::scalar("gaussian(0.8)"), x, z);
    double norm2 = 0;
    for (std::size_t i = 0; i < x.size(); ++i) norm2 += square(x[i] - z[i]);
    const auto curl = block_of("curl_free(gaussian(0.8))", x, z, d);
    const auto divergence = block_of("divergence_free(gaussian(0.8))", x, z, d);
    const auto both = block_of("helmholtz(gaussian(0.8), 0.3)", x, z, d);
    for (Index i = 0; i < d; ++i) {
      for (Index j = 0; j < d; ++j) {
        const double outer = (x[i] - z[i]) * (x[j] - z[j]);
        const double same = i == j ? 1 : 0;
        const double curl_form = (same - outer / square(sigma)) / square(sigma) * k;
        const double divergence_form =
            (outer / square(square(sigma)) + same * ((d - 1) / square(sigma) - norm2 / square(square(sigma)))) * k;
        EXPECT_NEAR(curl(i, j), curl_form, 1e-12);
        EXPECT_NEAR(divergence(i, j), divergence_form, 1e-12);
        EXPECT_NEAR(both(i, j), 0.3 * curl_form + 0.7 * divergence_form, 1e-12);
      }
    }
  }
}

TEST(OperatorKernelValue, DecomposableIsKTimesA) {
  const std::vector<double> x = {0.3, -0.7, 1.1};
  const std::vector<double> z = {-0.2, 0.4, 0.9};
  const auto block = block_of("0.5*decomposable(gaussian(0.8), [[2, 0.5], [0.5, 1]]) + linear()", x, z, 2);
  const double k = 0.30978554847668167944;  // mpmath; see value_test.cpp
  const double inner = 0.65;
  EXPECT_NEAR(block(0, 0), 0.5 * 2 * k + inner, 1e-14);
  EXPECT_NEAR(block(0, 1), 0.5 * 0.5 * k, 1e-14);
  EXPECT_NEAR(block(1, 0), 0.5 * 0.5 * k, 1e-14);
  EXPECT_NEAR(block(1, 1), 0.5 * 1 * k + inner, 1e-14);
}

const std::vector<std::string>& field_kernels() {
  static const std::vector<std::string> texts = {
      "gaussian(0.8)",
      "gaussian([0.8, 1.3, 2])",
      "matern(0.9, nu=2.5)",
      "matern([1, 2, 0.5], nu=3.7)",
      "cauchy(1.5)",
      "rational_quadratic([0.5, 1, 2], alpha=1.7)",
      "spectral_mixture([0.7], [[0.1, 0, -0.3]], [[0.1, 0.2, 0.05]])",
      "2*gaussian(1)*cauchy(2) + 0.5*matern(1, nu=4)",
  };
  return texts;
}

/// Central difference of order 4 of K(x, z)_ab along input c of x.
double slope(const std::string& text, std::vector<double> x, const std::vector<double>& z, Index a, Index b, Index c) {
  const double h = 1e-3;
  const auto at = [&](double t) {
    auto moved = x;
    moved[static_cast<std::size_t>(c)] += t;
    return block_of(text, moved, z, 3)(a, b);
  };
  return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
}

TEST(OperatorKernelValue, FieldsHaveNoCurlOrNoDivergence) {
  const std::vector<double> x = {0.3, -0.7, 1.1};
  const std::vector<double> z = {-0.2, 0.4, 0.9};
  for (const std::string& kernel : field_kernels()) {
    const std::string curl_free = "curl_free(" + kernel + ")";
    const std::string divergence_free = "divergence_free(" + kernel + ")";
    for (Index b = 0; b < 3; ++b) {  // each column is a field of x
      for (Index i = 0; i < 3; ++i) {
        for (Index j = 0; j < i; ++j) {
          EXPECT_NEAR(slope(curl_free, x, z, i, b, j), slope(curl_free, x, z, j, b, i), 1e-9) << kernel;
        }
      }
      double divergence = 0;
      for (Index i = 0; i < 3; ++i) divergence += slope(divergence_free, x, z, i, b, i);
      EXPECT_NEAR(divergence, 0, 1e-9) << kernel;
    }
  }
}

std::vector<std::string> operator_texts() {
  std::vector<std::string> texts = {
      "decomposable(gaussian(1), [[2, 0.5, 0], [0.5, 1, 0.2], [0, 0.2, 1]])",
      "gaussian(1) + 0.1*linear()",
      "0.5*helmholtz(gaussian(1), 0.25) + decomposable(matern(1, nu=1.5), [[1, 1, 1], [1, 1, 1], [1, 1, 1]]) + cauchy(2)",
  };
  for (const std::string& kernel : field_kernels()) {
    for (const char* wrap : {"curl_free(", "divergence_free(", "2*helmholtz("}) texts.push_back(wrap + kernel + ")");
  }
  return texts;
}

TEST(OperatorKernelGram, BlocksEqualPointwise) {
  const Matrix<double> x = samples::normal_rows(2, 40, 3);
  const Matrix<double> z = samples::normal_rows(3, 35, 3);
  for (const std::string& text : operator_texts()) {
    const OperatorKernel kernel = parse_kernel(text);
    for (const bool symmetric : {false, true}) {
      const ConstMatrix right = symmetric ? x.view() : z.view();
      Matrix<double> out(x.rows() * 3, right.rows * 3);
      std::fill(out.values().begin(), out.values().end(), 5.0);
      gram(kernel, x, right, 3, out);
      Matrix<double> block(3, 3);
      for (Index i = 0; i < x.rows(); ++i) {
        for (Index j = 0; j < right.rows; ++j) {
          value(kernel, x.row(i), right.row(j), block);
          for (Index a = 0; a < 3; ++a) {
            for (Index b = 0; b < 3; ++b) ASSERT_NEAR(out(i * 3 + a, j * 3 + b), block(a, b), 1e-11) << text;
          }
        }
      }
    }
  }
}

TEST(OperatorKernelGram, IsSymmetricPositiveSemiDefinite) {
  const Matrix<double> x = samples::normal_rows(4, 40, 3);
  for (const std::string& text : operator_texts()) {
    ::Eigen::Matrix<double, ::Eigen::Dynamic, ::Eigen::Dynamic, ::Eigen::RowMajor> k(120, 120);
    gram(parse_kernel(text), x, x, 3, MutMatrix(k.data(), 120, 120));
    EXPECT_EQ((k - k.transpose()).cwiseAbs().maxCoeff(), 0) << text;
    const auto values = ::Eigen::SelfAdjointEigenSolver<::Eigen::MatrixXd>(k).eigenvalues();
    EXPECT_GE(values.minCoeff(), -1e-12 * values.maxCoeff()) << text;
  }
}

TEST(OperatorKernelGram, RefusesWhatDoesNotFit) {
  const Matrix<double> x = samples::normal_rows(5, 4, 3);
  Matrix<double> out(8, 8);
  EXPECT_THROW(gram(parse_kernel("curl_free(gaussian(1))"), x, x, 2, out), Error);
  EXPECT_THROW(gram(parse_kernel("gaussian(1)"), x, x, 3, out), Error);
  EXPECT_THROW(gram(parse_kernel("decomposable(gaussian(1), [[1]])"), x, x, 2, out), Error);
  EXPECT_THROW(gram(parse_kernel("decomposable(gaussian(1), covariance)"), x, x, 2, out), Error);
  EXPECT_THROW(gram(parse_kernel("gaussian(median)"), x, x, 2, out), Error);
}

}  // namespace
}  // namespace mercer
