#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/packed_rows.hpp"
#include "base/matrix.hpp"
#include "solve/statistics.hpp"

namespace mercer {

/// How a Gram matrix that only preconditions is computed; each takes longer and serves smaller penalties than the one before
/// it.
enum class GramPrecision {
  int8,        ///< features rounded to whole multiples of 1/127 of their bounds, summed exactly
  bf16,        ///< features rounded to bfloat16: each product to about 2⁻⁹
  bf16_three,  ///< f = h + r + …, h and r in bfloat16: hhᵀ + hrᵀ + rhᵀ, each product to about 2⁻¹⁷; thrice the time
  float32,  ///< features rounded to float: each product to about 2⁻²⁴
};
/// "int8 (AMX)", "bf16 (AMX)", "three bf16 products (AMX)", "float32".
std::string words(GramPrecision gram);

/// Σ w [φ,1][φ,1]ᵀ in low precision, gathered while features pass by for another reason: the material of a preconditioner.
/// Rounded rows have a Gram matrix like any others, and with the column of ones it stays positive semi-definite when
/// centred: means of unrounded features would not fit it.
class LowGram {
 public:
  /// int8 wants the bounds of the features (FeatureMap::bounds), and rows without weights; so many targets go along with it,
  /// where they are few beside the columns.
  LowGram(Index columns, Index most_rows, GramPrecision precision, const std::vector<double>& bounds, Index targets = 0);

  /// Rows of a block at most: `most_rows`, or fewer for few threads.
  Index block_rows() const { return block_rows_; }

  /// Products of a block in int8 or bf16 are made while the next one is gathered, so that threads wait for each other once a
  /// block and not twice. They are `tasks()` of them from here on, to be begun in their order and run before another block
  /// begins. Others are made here.
  void begin_block(Index rows);
  Index tasks() const;
  void run(Index task) const;
  /// Rows row_in_block, … of the block (a multiple of 4); called by many threads.
  template <class Real>
  void add(Index row_in_block, MatrixView<const Real> features, std::span<const double> weights);
  /// The same, and the features become those the matrix is of: √w φ, rounded.
  template <class Real>
  void round_and_add(Index row_in_block, MatrixView<Real> features, std::span<const double> weights);

  /// Whether targets t go along, as three more columns of bytes for each: in steps of 2⁻¹⁵ up to `most_target`.
  bool takes_targets() const { return targets_ > 0; }
  static constexpr double most_target = 63;
  /// Adds rows, which have no weights. False where a target is larger: nothing is added then.
  template <class Real>
  bool add_with_targets(Index row_in_block, MatrixView<const Real> features, MatrixView<const Real> targets);
  /// Sums of rounded numbers, all of them exact.
  struct TargetSums {
    std::vector<double> features;  ///< Σ φ, over all rows
    std::vector<double> targets;   ///< Σ t, over those whose targets went along
    Matrix<double> products;       ///< Σ φtᵀ, over the same (columns × targets)
  };
  TargetSums sums_with_targets();  ///< no more blocks are to come

  /// Moves it into `system` (lower triangle), centred when that has an intercept. Returns what roundings ε have added to
  /// the diagonal and may be taken off again: of bytes, Σεεᵀ has eigenvalues between (√n ± √m)² times 1/12 of the square of
  /// the step where rows err independently, and the least of them is on the diagonal of all directions. Empty: nothing.
  std::vector<double> move_into(NormalSystem& system);

 private:
  /// The sums of floats lose a bit for every factor of four in rows: they are moved on to doubles now and then (after ten
  /// million rows in floats alone, standard deviations by one product were 3 % off at a penalty of 1e-5). Those of bytes
  /// would leave 32 bits.
  void flush();
  /// What is to be done with the block that was gathered.
  void multiply_block();
  /// The products of the last block; all sums are in `sum_` then, or else in those of their kind.
  void finish_products();
  /// work(sums): of whatever kind.
  template <class Work>
  void with_sums(const Work& work) const;
  /// Rows that are √w φ, with √w and the bytes of targets beside them.
  template <class Real>
  void pack(Index row_in_block, MatrixView<const Real> features, MatrixView<const Real> beside);
  Index most_summed_rows() const;

  bool integer() const { return precision_ == GramPrecision::int8; }

  GramPrecision precision_;
  Index block_rows_;
  Index columns_;
  Index targets_;              ///< that go along
  std::vector<float> scales_;  ///< int8: 127/bound of every column, the one of ones included; 1 for the bytes of targets
  std::vector<float> steps_;   ///< 1/scales
  Index rows_seen_ = 0;
  std::size_t gathered_ = 0;                           ///< which of the two below are those of this block
  std::array<ByteRows, 2> bytes_;                      ///< int8
  std::array<BfloatRows, 2> packed_;                   ///< bf16; bf16_three: h, the first of them
  BfloatRows rest_;                                    ///< bf16_three: r
  Matrix<float> rows_;                                 ///< float32
  Index row_count_ = 0;                                ///< of this block
  Matrix<std::int32_t> counts_;                        ///< of bytes
  Matrix<float> gram_;                                 ///< of bfloat16 numbers
  Index summed_rows_ = 0;                              ///< in counts_ or gram_
  Matrix<double> sum_;                                 ///< of what was flushed, or of float32
  std::optional<GramTasks<std::int32_t>> byte_tasks_;  ///< of the block before
  std::optional<GramTasks<float>> bfloat_tasks_;
};

}  // namespace mercer
