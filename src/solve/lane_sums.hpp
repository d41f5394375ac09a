#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "base/matrix.hpp"
#include "solve/stretch_sums.hpp"

namespace mercer {

/// Σ φFᵀ and Σ F over the stretches of one lane of a pass (FeatureChunks::Ends), in double. Its memory is kept from pass to
/// pass.
class LaneSums {
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
