#pragma once
#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "backend/backend.hpp"
#include "base/matrix.hpp"

namespace mercer {

/// Σ φFᵀ over the chunks of one slot of a pass (FeatureChunks), and Σ F. Its memory is kept from pass to pass: fresh pages
/// cost as much as some rows.
class SlotSums {
 public:
  /// Before a pass with so many columns of F and features; nothing is touched until something is added.
  void expect(Index columns, Index features) {
    begun_ = false;
    has_part_ = false;
    columns_ = columns;
    features_ = features;
  }

  template <class Real>
  void add(MatrixView<const Real> features, MatrixView<const Real> f) {
    if (!begun_) begin();
    for (Index i = 0; i < f.rows; ++i) {
      const Real* row = f.row(i).data();
      double* ones = ones_.data();
      for (Index k = 0; k < f.cols; ++k) ones[k] += static_cast<double>(row[k]);
    }
    if constexpr (std::is_same_v<Real, float>) {
      thin_adjoint<float>(features, f, has_part_, part());
      has_part_ = true;
    } else {
      thin_adjoint<double>(features, f, true, sums_.view().row_range(0, columns_));
    }
  }
  /// Sums in float are of one stretch, which one thread works on, and are moved on to doubles after it.
  void end_stretch() {
    if (!has_part_) return;
    const MatrixView<const float> sums = part();
    for (Index i = 0; i < sums.rows * sums.cols; ++i) sums_.data()[i] += static_cast<double>(sums.data[i]);
    has_part_ = false;
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
  /// That of this thread: it stays in its cache.
  MatrixView<float> part() const {
    thread_local Matrix<float> room;
    if (room.rows() < columns_ || room.cols() != features_) room = Matrix<float>(columns_, features_);
    return room.view().row_range(0, columns_);
  }

  bool begun_ = false;
  bool has_part_ = false;
  Index columns_ = 0;
  Index features_ = 0;
  Matrix<double> sums_;
  std::vector<double> ones_;
};

}  // namespace mercer
