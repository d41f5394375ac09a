#pragma once
#include <span>

#include "backend/bfloat.hpp"
#include "base/matrix.hpp"
#include "solve/statistics.hpp"

namespace mercer {

/// Σ w [φ,1][φ,1]ᵀ in low precision, gathered while features pass by for another reason: the material of a preconditioner.
/// Rounded rows have a Gram matrix like any others, and with the column of ones it stays positive semi-definite when
/// centred: means of unrounded features would not fit it.
class LowGram {
 public:
  LowGram(Index columns, Index block_rows);

  void begin_block(Index rows) { packed_.set_rows(rows); }
  /// Rows row_in_block, … of the block (even); called by many threads.
  template <class Real>
  void add(Index row_in_block, MatrixView<const Real> features, std::span<const double> weights);
  void end_block();

  /// Moves it into `system` (lower triangle), centred when that has an intercept.
  void move_into(NormalSystem& system);

 private:
  BfloatRows packed_;
  Matrix<float> gram_;
};

}  // namespace mercer
