#pragma once
#include <span>
#include <string>

#include "backend/bfloat.hpp"
#include "base/matrix.hpp"
#include "solve/statistics.hpp"

namespace mercer {

/// How a Gram matrix that only preconditions is computed; each takes longer and serves smaller penalties than the one before
/// it.
enum class GramPrecision {
  bf16,        ///< features rounded to bfloat16: each product to about 2⁻⁹
  bf16_three,  ///< f = h + r + …, h and r in bfloat16: hhᵀ + hrᵀ + rhᵀ, each product to about 2⁻¹⁷; thrice the time
  float32,  ///< features rounded to float: each product to about 2⁻²⁴
};
/// "bf16 (AMX)", "three bf16 products (AMX)", "float32".
std::string words(GramPrecision gram);

/// Σ w [φ,1][φ,1]ᵀ in low precision, gathered while features pass by for another reason: the material of a preconditioner.
/// Rounded rows have a Gram matrix like any others, and with the column of ones it stays positive semi-definite when
/// centred: means of unrounded features would not fit it.
class LowGram {
 public:
  LowGram(Index columns, Index block_rows, GramPrecision precision);

  void begin_block(Index rows);
  /// Rows row_in_block, … of the block (even); called by many threads.
  template <class Real>
  void add(Index row_in_block, MatrixView<const Real> features, std::span<const double> weights);
  void end_block();

  /// Moves it into `system` (lower triangle), centred when that has an intercept.
  void move_into(NormalSystem& system);

 private:
  /// The sums of floats lose a bit for every factor of four in rows: they are moved on to doubles now and then (after ten
  /// million rows in floats alone, standard deviations by one product were 3 % off at a penalty of 1e-5).
  void flush();

  GramPrecision precision_;
  BfloatRows packed_;   ///< bf16, bf16_three: h
  BfloatRows rest_;     ///< bf16_three: r
  Matrix<float> rows_;  ///< float32
  Index row_count_ = 0;
  Matrix<float> gram_;  ///< of bfloat16 numbers
  Index blocks_ = 0;    ///< in gram_
  Matrix<double> sum_;  ///< of what was flushed, or of float32
};

}  // namespace mercer
