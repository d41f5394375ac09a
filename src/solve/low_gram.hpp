#pragma once
#include <span>

#include "backend/bfloat.hpp"
#include "base/matrix.hpp"
#include "solve/statistics.hpp"

namespace mercer {

/// Σ w φφᵀ in low precision, gathered while features pass by for another reason: the material of a preconditioner.
class LowGram {
 public:
  LowGram(Index columns, Index block_rows);

  void begin_block(Index rows) { packed_.set_rows(rows); }
  /// Rows row_in_block, … of the block (even); called by many threads.
  template <class Real>
  void add(Index row_in_block, MatrixView<const Real> features, std::span<const double> weights);
  void end_block();

  /// Moves it into `system` (lower triangle, centred by the means there).
  void move_into(NormalSystem& system);

 private:
  BfloatRows packed_;
  Matrix<float> gram_;
};

}  // namespace mercer
