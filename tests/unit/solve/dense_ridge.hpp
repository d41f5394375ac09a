#pragma once
#include <vector>

#include "kernel/evaluate.hpp"
#include "unit/map/map_samples.hpp"

namespace mercer::oracle {

using samples::Dense;
using samples::Vector;

/// Problem (P) with the square loss, as it is written: minimise ½ Σ_i w_i ‖Φ_iᵀθ + c - y_i‖² + (ridge/2)‖θ‖² over θ and,
/// with an intercept, c, by one dense system in (θ, c). `rows` is Φᵀ of all rows, (n·p) × parameters.
struct DenseRidge {
  Index outputs = 0;
  bool intercept = true;
  Dense inverse;                  ///< of the Hessian in (θ, c)
  Vector solution;                ///< (θ, c)
  double degrees_of_freedom = 0;  ///< tr(hat)/p
  std::vector<double> rss;        ///< p: Σ w r²

  Dense augmented(const Dense& rows) const {
    Dense z = Dense::Zero(rows.rows(), rows.cols() + (intercept ? outputs : 0));
    z.leftCols(rows.cols()) = rows;
    for (Index i = 0; intercept && i < rows.rows(); ++i) z(i, rows.cols() + i % outputs) = 1;
    return z;
  }
  /// n × p.
  Dense predict(const Dense& rows) const {
    const Vector f = augmented(rows) * solution;
    Dense out(rows.rows() / outputs, outputs);
    for (Index i = 0; i < rows.rows(); ++i) out(i / outputs, i % outputs) = f(i);
    return out;
  }
  /// Var f_a(x_i)/σ² = gᵀ H⁻¹ g with g = (Φ_a(x_i), e_a).
  Dense variance(const Dense& rows) const {
    const Dense z = augmented(rows);
    Dense out(rows.rows() / outputs, outputs);
    for (Index i = 0; i < rows.rows(); ++i) out(i / outputs, i % outputs) = z.row(i) * inverse * z.row(i).transpose();
    return out;
  }
  /// The same of all pairs: entry (i·p + a, j·p + b) is Cov(f_a(x_i), f_b(x_j))/σ².
  Dense covariance(const Dense& rows) const { return augmented(rows) * inverse * augmented(rows).transpose(); }
};

inline DenseRidge dense_ridge(const Dense& rows, const Dense& y, const std::vector<double>& weights, double ridge,
                              bool intercept) {
  DenseRidge r;
  r.outputs = y.cols();
  r.intercept = intercept;
  const Index p = y.cols();
  const Dense z = r.augmented(rows);
  Vector w(rows.rows());
  Vector target(rows.rows());
  for (Index i = 0; i < rows.rows(); ++i) {
    w(i) = weights[static_cast<std::size_t>(i / p)];
    target(i) = y(i / p, i % p);
  }
  Dense hessian = z.transpose() * w.asDiagonal() * z;
  for (Index k = 0; k < rows.cols(); ++k) hessian(k, k) += ridge;
  r.inverse = hessian.fullPivLu().inverse();
  r.solution = r.inverse * (z.transpose() * w.asDiagonal() * target);
  r.degrees_of_freedom = (z * r.inverse * z.transpose() * w.asDiagonal()).trace() / static_cast<double>(p);
  r.rss.assign(static_cast<std::size_t>(p), 0.0);
  const Vector f = z * r.solution;
  for (Index i = 0; i < rows.rows(); ++i)
    r.rss[static_cast<std::size_t>(i % p)] += w(i) * (target(i) - f(i)) * (target(i) - f(i));
  return r;
}

/// Weighted mean of ‖y_i - f_{-i}(x_i)‖² where f_{-i} is fitted anew, at the same ridge, with min(1, w_i) units of row i
/// left out.
inline double refitted_leave_one_out(const Dense& rows, const Dense& y, const std::vector<double>& weights, double ridge,
                                     bool intercept) {
  double sum = 0;
  double total = 0;
  for (Index i = 0; i < y.rows(); ++i) {
    std::vector<double> left = weights;
    double& w = left[static_cast<std::size_t>(i)];
    total += w;
    const double own = w;
    w -= std::min(1.0, w);
    const DenseRidge fit = dense_ridge(rows, y, left, ridge, intercept);
    const Dense f = fit.predict(rows.middleRows(i * y.cols(), y.cols()));
    sum += own * (y.row(i) - f.row(0)).squaredNorm();
  }
  return sum / total;
}

/// The same problem in the function space of a kernel: with f = Σ K(·, x_j)α_j + c the optimum satisfies
/// (K + ridge·W⁻¹)α + Ec = y,  Eᵀα = 0.
struct DenseKernelRidge {
  Index outputs = 0;
  bool intercept = true;
  OperatorKernel kernel;
  Matrix<double> inputs;
  Dense inverse;  ///< of the bordered system
  Vector solution;

  Dense cross(ConstMatrix x) const {
    Matrix<double> k(x.rows * outputs, inputs.rows() * outputs);
    gram(kernel, x, inputs, outputs, k);
    Dense g = Dense::Zero(k.rows(), k.cols() + (intercept ? outputs : 0));
    g.leftCols(k.cols()) = samples::dense(k);
    for (Index i = 0; intercept && i < k.rows(); ++i) g(i, k.cols() + i % outputs) = 1;
    return g;
  }
  Dense predict(ConstMatrix x) const {
    const Vector f = cross(x) * solution;
    Dense out(x.rows, outputs);
    for (Index i = 0; i < f.size(); ++i) out(i / outputs, i % outputs) = f(i);
    return out;
  }
  /// [K(x,x) - g B⁻¹ gᵀ]/ridge: universal kriging.
  Dense variance(ConstMatrix x, double ridge) const {
    const Dense g = cross(x);
    Matrix<double> self(outputs, outputs);
    Dense out(x.rows, outputs);
    for (Index i = 0; i < x.rows; ++i) {
      value(kernel, x.row(i), x.row(i), self);
      for (Index a = 0; a < outputs; ++a) {
        const auto row = g.row(i * outputs + a);
        out(i, a) = (self(a, a) - (row * inverse * row.transpose())(0, 0)) / ridge;
      }
    }
    return out;
  }
  /// The same of all pairs: entry (i·p + a, j·p + b).
  Dense covariance(ConstMatrix x, double ridge) const {
    const Dense g = cross(x);
    Matrix<double> prior(x.rows * outputs, x.rows * outputs);
    gram(kernel, x, x, outputs, prior);
    return (samples::dense(prior) - g * inverse * g.transpose()) / ridge;
  }
};

/// What entries of one output are, of a covariance of all.
inline Dense of_output(const Dense& all, Index outputs, Index a) {
  const Index n = all.rows() / outputs;
  Dense own(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) own(i, j) = all(i * outputs + a, j * outputs + a);
  }
  return own;
}

inline DenseKernelRidge dense_kernel_ridge(const OperatorKernel& kernel, const Matrix<double>& x, const Dense& y,
                                           const std::vector<double>& weights, double ridge, bool intercept) {
  DenseKernelRidge r;
  r.outputs = y.cols();
  r.intercept = intercept;
  r.kernel = kernel;
  r.inputs = x;
  const Index size = x.rows() * y.cols();
  const Dense g = r.cross(x);
  Dense system = Dense::Zero(g.cols(), g.cols());
  system.topRows(size) = g;
  system.leftCols(size) = system.topRows(size).transpose();
  system.topLeftCorner(size, size) = g.leftCols(size);
  for (Index i = 0; i < size; ++i) system(i, i) += ridge / weights[static_cast<std::size_t>(i / y.cols())];
  Vector target = Vector::Zero(g.cols());
  for (Index i = 0; i < size; ++i) target(i) = y(i / y.cols(), i % y.cols());
  r.inverse = system.fullPivLu().inverse();
  r.solution = r.inverse * target;
  return r;
}

/// As refitted_leave_one_out, in function space; a row whose whole weight goes is removed.
inline double refitted_leave_one_out(const OperatorKernel& kernel, const Matrix<double>& x, const Dense& y,
                                     const std::vector<double>& weights, double ridge, bool intercept) {
  double sum = 0;
  double total = 0;
  for (Index i = 0; i < y.rows(); ++i) {
    const double own = weights[static_cast<std::size_t>(i)];
    total += own;
    const bool gone = own <= 1;
    const Index n = y.rows() - (gone ? 1 : 0);
    Matrix<double> part(n, x.cols());
    Dense targets(n, y.cols());
    std::vector<double> left;
    for (Index j = 0; j < y.rows(); ++j) {
      if (gone && j == i) continue;
      const auto k = static_cast<Index>(left.size());
      std::ranges::copy(x.row(j), part.row(k).begin());
      targets.row(k) = y.row(j);
      left.push_back(weights[static_cast<std::size_t>(j)] - (j == i ? 1.0 : 0.0));
    }
    const Dense f = dense_kernel_ridge(kernel, part, targets, left, ridge, intercept).predict(x.view().row_range(i, 1));
    sum += own * (y.row(i) - f.row(0)).squaredNorm();
  }
  return sum / total;
}

}  // namespace mercer::oracle
