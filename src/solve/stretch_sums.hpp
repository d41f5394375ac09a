#pragma once
#include <mutex>
#include <utility>
#include <vector>

#include "backend/backend.hpp"
#include "base/matrix.hpp"

namespace mercer {

/// Σ φFᵀ over the chunks of one stretch of rows (FeatureChunks), and Σ F.
template <class Real>
class StretchSums {
 public:
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

/// Sums of the stretches at work, one of every slot at most. Their memory goes from one to the next, the last used first: it
/// is warm in some cache, there is as much of it as threads or slots, whichever are fewer, and fresh pages, which cost as
/// much as some rows, are few.
template <class Real>
class StretchRooms {
 public:
  explicit StretchRooms(Index slots) : at_work_(static_cast<std::size_t>(slots)) {}

  void begin(Index slot, Index columns, Index features) {
    StretchSums<Real>& sums = of(slot);
    {
      const std::scoped_lock lock(mutex_);
      if (!free_.empty()) {
        sums = std::move(free_.back());
        free_.pop_back();
      }
    }
    sums.begin(columns, features);
  }
  StretchSums<Real>& of(Index slot) { return at_work_[static_cast<std::size_t>(slot)]; }
  void end(Index slot) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(of(slot)));
  }

 private:
  std::vector<StretchSums<Real>> at_work_;  ///< of every slot; a pass that was cut short may have left some
  std::vector<StretchSums<Real>> free_;
  std::mutex mutex_;
};

}  // namespace mercer
