#pragma once
#include <Eigen/SVD>
#include <cmath>
#include <string>
#include <vector>

#include "unit/solve/data.hpp"

/// The settings that refinement is tried on, and their answers by singular values.
namespace mercer::grid {

using samples::Data;
using samples::Dense;
using samples::dense;
using samples::Vector;

struct Setting {
  std::string group;  ///< line of docs/refinement.md
  std::string kernel;
  Index inputs;
  Index outputs;
  Index frequencies;
  Index rows;
  std::string twist;  ///< what is odd about the rows; "" for nothing
  bool intercept = true;

  std::string name() const {
    return kernel + ", d = " + std::to_string(inputs) + ", p = " + std::to_string(outputs) +
           ", D = " + std::to_string(frequencies) + ", n = " + std::to_string(rows) + (twist.empty() ? "" : ", " + twist) +
           (intercept ? "" : ", no intercept");
  }
  FourierMap map() const { return samples::map_of(kernel, inputs, outputs, frequencies); }
};

inline const std::vector<double>& penalties() {
  static const std::vector<double> all = {1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12};
  return all;
}

inline const std::vector<std::string>& twists() {
  static const std::vector<std::string> all = {"duplicated rows",  "constant columns", "inputs x 1e-6",
                                               "inputs x 1e6",     "targets x 1e-6",   "targets x 1e6",
                                               "targets x 1e-160", "row weights",      "weights 1e-6 to 1e6"};
  return all;
}

inline std::vector<Setting> settings() {
  std::vector<Setting> all;
  const auto add = [&](const std::string& group, const std::string& kernel, Index d, Index p, Index below, Index above) {
    for (const Index frequencies : {20, 60}) {
      for (const Index n : {below, above}) all.push_back({group, kernel, d, p, frequencies, n, ""});
    }
  };
  for (const Index d : {1, 3, 10}) {
    const std::string scale = d == 1 ? "0.5" : d == 3 ? "1.5" : "4";
    add("gaussian", "gaussian(" + scale + ")", d, 1, 30, 400);
    add("matern", "matern(" + scale + ", nu=1.5)", d, 1, 30, 400);
    add("laplacian", "laplacian(" + scale + ")", d, 1, 30, 400);
    add("cauchy", "cauchy(" + scale + ")", d, 1, 30, 400);
    add("gaussian, 3 outputs", "gaussian(" + scale + ")", d, 3, 30, 400);
    add("decomposable", "decomposable(gaussian(" + scale + "), [[2,0.5],[0.5,1]])", d, 2, 30, 300);
  }
  add("curl-free 2-D", "curl_free(gaussian(0.8))", 2, 2, 15, 200);
  add("curl-free 3-D", "curl_free(gaussian(1.1))", 3, 3, 10, 150);
  add("divergence-free 2-D", "divergence_free(gaussian(0.8))", 2, 2, 15, 200);
  add("divergence-free 3-D", "divergence_free(gaussian(1.1))", 3, 3, 20, 150);
  for (const std::string& twist : twists()) {
    for (const Index n : {50, 300}) {
      all.push_back({twist, "gaussian(1.5)", 3, 1, 40, n, twist});
      all.push_back({twist, "curl_free(gaussian(1))", 2, 2, 30, n / 2, twist});
    }
  }
  for (const Index n : {50, 300}) all.push_back({"no intercept", "gaussian(1.5)", 3, 2, 40, n, "", false});
  return all;
}

/// The rows of a setting, and 40 others to predict.
struct Rows {
  Data learn;
  Matrix<double> fresh;
};

inline Rows rows_of(const Setting& s) {
  Rows r{samples::data(s.rows, s.inputs, s.outputs), samples::normals(40, s.inputs, "fresh")};
  const auto scale = [](Matrix<double>& m, double factor) {
    for (double& v : m.values()) v *= factor;
  };
  Data& l = r.learn;
  if (s.twist == "duplicated rows") {
    for (Index i = 0; i < s.rows; ++i) {
      std::ranges::copy(Matrix<double>(l.x.view().row_range(i % 7, 1)).row(0), l.x.row(i).begin());
    }
  } else if (s.twist == "constant columns") {
    for (Index i = 0; i < s.rows; ++i) {
      for (Index k = 1; k < s.inputs; ++k) l.x(i, k) = 3;
    }
  } else if (s.twist.starts_with("inputs x ")) {
    scale(l.x, std::stod(s.twist.substr(9)));
    scale(r.fresh, std::stod(s.twist.substr(9)));
  } else if (s.twist.starts_with("targets x ")) {
    scale(l.y, std::stod(s.twist.substr(10)));
  } else if (s.twist == "row weights") {
    l.weights = samples::counts(s.rows);
    l.weights[1] = 0;
  } else if (s.twist == "weights 1e-6 to 1e6") {
    for (Index i = 0; i < s.rows; ++i) l.weights.push_back(std::pow(10.0, static_cast<double>(i % 13 - 6)));
  }
  return r;
}

/// Ridge by the singular values of √w(Φ - mean): never forms a Gram matrix, so its error grows with √κ, not κ. One
/// decomposition for every penalty.
class SingularRidge {
 public:
  SingularRidge(const Setting& s, const Rows& r) : outputs_(s.outputs), intercept_(s.intercept), weight_(r.learn.total()) {
    const FourierMap map = s.map();
    rows_ = samples::operator_rows(map, r.learn.x);
    const std::vector<double> w = r.learn.all_weights();
    least_weight_ = std::ranges::min(w);
    mean_ = Dense::Zero(outputs_, rows_.cols());
    centre_ = Vector::Zero(outputs_);
    const auto weight = [&](Index i) { return w[static_cast<std::size_t>(i / outputs_)]; };
    for (Index i = 0; s.intercept && i < rows_.rows(); ++i) {
      mean_.row(i % outputs_) += weight(i) / weight_ * rows_.row(i);
      centre_(i % outputs_) += weight(i) / weight_ * r.learn.y(i / outputs_, i % outputs_);
    }
    Dense scaled = rows_;
    Vector target(rows_.rows());
    for (Index i = 0; i < rows_.rows(); ++i) {
      scaled.row(i) = std::sqrt(weight(i)) * (rows_.row(i) - mean_.row(i % outputs_));
      target(i) = std::sqrt(weight(i)) * (r.learn.y(i / outputs_, i % outputs_) - centre_(i % outputs_));
    }
    svd_.compute(scaled, ::Eigen::ComputeThinU | ::Eigen::ComputeThinV);
    rotated_ = svd_.matrixU().transpose() * target;
    fresh_ = samples::operator_rows(map, r.fresh);
  }

  Vector parameters(double penalty) const {
    const ::Eigen::ArrayXd value = svd_.singularValues().array();
    return svd_.matrixV() * (value / (value.square() + penalty * weight_) * rotated_.array()).matrix();
  }
  /// Of the rows learned from, then of the fresh ones; n·p numbers.
  Vector learned(double penalty) const { return predict(rows_, penalty); }
  Vector fresh(double penalty) const { return predict(fresh_, penalty); }
  double degrees_of_freedom(double penalty) const {
    const ::Eigen::ArrayXd square = svd_.singularValues().array().square();
    return (square / (square + penalty * weight_)).sum() / static_cast<double>(outputs_) + (intercept_ ? 1 : 0);
  }
  double condition(double penalty) const { return 1 + std::pow(svd_.singularValues()(0), 2) / (penalty * weight_); }
  /// How far a relative residual ρ = ‖b - Mθ‖/‖b‖ can take predictions, relative: the error of θ is M⁻¹(b - Mθ), so at most
  /// ‖Φ - mean‖ ρ‖b‖/ridge.
  double reach(double penalty, double residual) const { return reach(fresh_, fresh(penalty), penalty, residual); }
  /// For the rows learned from, where all have a weight: ‖√w ΦM⁻¹‖ ≤ max σ/(σ² + ridge) ≤ 1/(2√ridge).
  double learned_reach(double penalty, double residual) const {
    if (least_weight_ <= 0) return reach(rows_, learned(penalty), penalty, residual);
    return residual * rhs_norm() / (2 * std::sqrt(penalty * weight_ * least_weight_)) / learned(penalty).stableNorm();
  }
  double weight() const { return weight_; }

 private:
  double rhs_norm() const { return (svd_.singularValues().array() * rotated_.array()).matrix().stableNorm(); }
  double reach(Dense rows, const Vector& predicted, double penalty, double residual) const {
    for (Index i = 0; i < rows.rows(); ++i) rows.row(i) -= mean_.row(i % outputs_);
    return rows.norm() * residual * rhs_norm() / (penalty * weight_) / predicted.stableNorm();
  }
  Vector predict(const Dense& rows, double penalty) const {
    const Vector theta = parameters(penalty);
    Vector f = rows * theta;
    for (Index i = 0; i < f.size(); ++i) f(i) += centre_(i % outputs_) - mean_.row(i % outputs_).dot(theta);
    return f;
  }

  Index outputs_;
  bool intercept_;
  double weight_;
  double least_weight_ = 1;
  Dense rows_;
  Dense fresh_;
  Dense mean_;
  Vector centre_;
  ::Eigen::BDCSVD<Dense> svd_;
  Vector rotated_;
};

}  // namespace mercer::grid
