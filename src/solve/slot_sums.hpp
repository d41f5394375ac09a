#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "base/matrix.hpp"

namespace mercer {

/// Σ φFᵀ over the chunks of one stretch of rows (FeatureChunks), and Σ F, by the thread that works on it: in its caches, and
/// in memory that it keeps, since fresh pages cost as much as some rows.
template <class Real>
class StretchSums {
 public:
  static StretchSums& of_this_thread() {
    thread_local StretchSums sums;
    return sums;
  }

  void begin(Index columns, Index features) {
    any_ = false;
    columns_ = columns;
    if (room_.rows() < columns || room_.cols() != features) room_ = Matrix<Real>(columns, features);
    ones_.assign(static_cast<std::size_t>(columns), 0.0);
  }
  void add(MatrixView<const Real> features, MatrixView<const Real> f) {
    for (Index i = 0; i < f.rows; ++i) {
      const Real* row = f.row(i).data();
      double* ones = ones_.data();
      for (Index k = 0; k < f.cols; ++k) ones[k] += static_cast<double>(row[k]);
    }
    thin_adjoint<Real>(features, f, any_, room_.view().row_range(0, columns_));
    any_ = true;
  }

  bool any() const { return any_; }
  MatrixView<const Real> products() const { return room_.view().row_range(0, columns_); }
  const std::vector<double>& ones() const { return ones_; }

 private:
  bool any_ = false;
  Index columns_ = 0;
  Matrix<Real> room_;
  std::vector<double> ones_;
};

/// The same over many stretches, in double. Its memory is kept from pass to pass.
class SlotSums {
 public:
  /// Before a pass with so many columns of F and features; nothing is touched until something is added.
  void expect(Index columns, Index features) {
    begun_ = false;
    columns_ = columns;
    features_ = features;
  }
  template <class Real>
  void add(const StretchSums<Real>& stretch) {
    if (!stretch.any()) return;
    if (!begun_) begin();
    const MatrixView<const Real> products = stretch.products();
    for (Index i = 0; i < products.rows * products.cols; ++i) sums_.data()[i] += static_cast<double>(products.data[i]);
    for (std::size_t k = 0; k < ones_.size(); ++k) ones_[k] += stretch.ones()[k];
  }

  bool any() const { return begun_; }
  std::span<const double> row(Index column) const { return sums_.row(column); }  ///< of all features
  const std::vector<double>& ones() const { return ones_; }                      ///< Σ F

 private:
  void begin() {
    ones_.assign(static_cast<std::size_t>(columns_), 0.0);
    if (sums_.rows() < columns_ || sums_.cols() != features_) {
      sums_ = Matrix<double>(columns_, features_);
    } else {
      for (Index k = 0; k < columns_; ++k) std::ranges::fill(sums_.row(k), 0.0);
    }
    begun_ = true;
  }

  bool begun_ = false;
  Index columns_ = 0;
  Index features_ = 0;
  Matrix<double> sums_;
  std::vector<double> ones_;
};

}  // namespace mercer
