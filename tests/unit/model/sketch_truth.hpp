#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernel/evaluate.hpp"
#include "map/nystrom.hpp"
#include "model/sketch_quality.hpp"
#include "unit/map/sketch_samples.hpp"

namespace mercer::samples {

/// What plan and info say of a kernel and a sketch, by dense algebra over all rows.
struct SketchTruth {
  Dense k;        ///< K
  Vector values;  ///< of K/n, largest first
  Dense vectors;

  SketchTruth(const Kernel& kernel, const Matrix<double>& x) : kernel_(kernel), x_(x) {
    Matrix<double> gram_matrix(x.rows(), x.rows());
    gram(kernel, x, x, gram_matrix);
    k = dense(gram_matrix);
    const ::Eigen::SelfAdjointEigenSolver<Dense> e(k / static_cast<double>(x.rows()));
    values = e.eigenvalues().reverse();
    vectors = e.eigenvectors().rowwise().reverse();
  }

  /// δ² by the definition: no less than ψ, and a little below it no more; d_n from it.
  void expect_radius(const CriticalRadius& radius, const std::string& what) const {
    const auto n = static_cast<double>(k.rows());
    const auto psi = [&](double t) { return std::sqrt(values.cwiseMax(0).cwiseMin(t).sum() / n); };
    EXPECT_LE(psi(radius.squared), radius.squared * (1 + 1e-9)) << what;
    EXPECT_GT(psi(radius.squared * 0.999), radius.squared * 0.999) << what;
    EXPECT_EQ(radius.dimension, (values.array() > radius.squared).count() + 1) << what;
  }

  /// (K - K Sᵀ(S K Sᵀ)⁺ S K)(x, x) of a kernel with k(x, x) = 1.
  void expect_error(const SketchRecipe& recipe, const KernelError& error, const std::string& what) const {
    const Dense s = drawn(recipe);
    const ::Eigen::SelfAdjointEigenSolver<Dense> e(s * k * s.transpose());
    Vector left = k.diagonal();
    for (Index j = 0; j < s.rows(); ++j) {
      if (e.eigenvalues()(j) <= 1e-13 * e.eigenvalues().maxCoeff()) continue;
      const Vector f = k * s.transpose() * e.eigenvectors().col(j) / std::sqrt(e.eigenvalues()(j));
      left -= f.cwiseAbs2();
    }
    EXPECT_NEAR(error.mean, left.mean(), 1e-9) << what;
    EXPECT_NEAR(error.largest, left.maxCoeff(), 1e-9) << what;
  }

  /// Definition 3: ‖(SU_1)ᵀSU_1 - I‖ and ‖S U_2 D_2^½‖/δ.
  void expect_satisfied(const SketchRecipe& recipe, const CriticalRadius& radius, const Satisfiability& satisfied,
                        const std::string& what) const {
    const Dense s = drawn(recipe);
    const Index d = radius.dimension;
    const Index rest = k.rows() - d;
    const Dense first = s * vectors.leftCols(d);
    const Dense off = first.transpose() * first - Dense::Identity(d, d);
    EXPECT_NEAR(satisfied.isometry, off.operatorNorm(), 1e-6) << what;
    const Dense second = s * vectors.rightCols(rest) * values.tail(rest).cwiseMax(0).cwiseSqrt().asDiagonal();
    const double tail = ::Eigen::JacobiSVD<Dense>(second).singularValues()(0);
    EXPECT_NEAR(satisfied.constant, tail / std::sqrt(radius.squared), 1e-6) << what;
  }

 private:
  Dense drawn(const SketchRecipe& recipe) const { return dense_sketch(draw_sketch(recipe, kernel_, x_), x_.rows()); }

  Kernel kernel_;
  Matrix<double> x_;
};

}  // namespace mercer::samples
