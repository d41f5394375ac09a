#pragma once
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "gp/mean_basis.hpp"
#include "gp/objective.hpp"
#include "kernel/evaluate.hpp"
#include "unit/kernel/kernel_samples.hpp"

namespace mercer::samples {

using Dense = ::Eigen::MatrixXd;

inline Dense as_dense(ConstMatrix a) {
  Dense result(a.rows, a.cols);
  for (Index i = 0; i < a.rows; ++i) {
    for (Index j = 0; j < a.cols; ++j) result(i, j) = a(i, j);
  }
  return result;
}

/// Targets that are waves of the inputs and noise.
inline Matrix<double> wavy_targets(ConstMatrix x, Index outputs) {
  const Stream stream(7, "targets");
  Matrix<double> y(x.rows, outputs);
  for (Index i = 0; i < x.rows; ++i) {
    for (Index a = 0; a < outputs; ++a) {
      y(i, a) = 1.5 + 0.2 * stream.normal(i, a);
      for (Index k = 0; k < x.cols; ++k) y(i, a) += std::sin((1.0 + a) * x(i, k) + k) + 0.3 * x(i, k);
    }
  }
  return y;
}

inline Dense slow_gram(const Kernel& kernel, ConstMatrix x, ConstMatrix z) {
  Dense k(x.rows, z.rows);
  for (Index i = 0; i < x.rows; ++i) {
    for (Index j = 0; j < z.rows; ++j) k(i, j) = value(kernel, x.row(i), z.row(j));
  }
  return k;
}

/// -log N(Y | Hb, S ⊗ I) at the generalised least-squares b, from textbook formulas.
inline double slow_nlml(const Dense& s, ConstMatrix x, ConstMatrix y, MeanForm mean, Dense* coefficients = nullptr) {
  const Dense inverse = s.fullPivLu().inverse();
  Dense r = as_dense(y);
  if (mean != MeanForm::none) {
    Dense h = Dense::Ones(x.rows, mean == MeanForm::constant ? 1 : 1 + x.cols);
    if (mean == MeanForm::linear) h.rightCols(x.cols) = as_dense(x);
    const Dense b = (h.transpose() * inverse * h).fullPivLu().solve(h.transpose() * inverse * r);
    if (coefficients != nullptr) *coefficients = b;
    r -= h * b;
  }
  const double log_determinant = s.selfadjointView<::Eigen::Lower>().eigenvalues().array().log().sum();
  const auto p = static_cast<double>(y.cols);
  return 0.5 * (r.transpose() * inverse * r).trace() + 0.5 * p * log_determinant +
         0.5 * p * x.rows * std::log(2 * std::numbers::pi);
}

/// The gradient against fourth-order central differences, to 1e-6 of the largest partial derivative (or of 1).
inline void expect_gradient(Objective& objective, std::vector<double> at, const std::string& what, double h = 1e-3) {
  std::vector<double> gradient(at.size());
  std::vector<double> unused(at.size());
  ASSERT_TRUE(std::isfinite(objective.evaluate(at, gradient))) << what;
  double size = 1;
  for (const double g : gradient) size = std::max(size, std::abs(g));
  const auto shifted = [&](std::size_t i, double step) {
    std::vector<double> there = at;
    there[i] += step;
    return objective.evaluate(there, unused);
  };
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double near = shifted(i, h) - shifted(i, -h);
    const double far = shifted(i, 2 * h) - shifted(i, -2 * h);
    EXPECT_NEAR(gradient[i], (8 * near - far) / (12 * h), 1e-6 * size) << what << ", coordinate " << i;
  }
}

}  // namespace mercer::samples
