#pragma once
#include <mercer/view.hpp>

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/matrix.hpp"

/// Gram matrices of features rounded to numbers of one or two bytes, several times as fast as those of floats where the CPU
/// multiplies such numbers. Good for preconditioners alone.
namespace mercer {

enum class LowNumber {
  int8,  ///< whole multiples of 1/127 of a bound, summed exactly: features are off by at most 2⁻⁸ of the bound
  bf16,  ///< 8 bits of mantissa, summed in float: by at most 2⁻⁸ of the feature itself
};

/// What multiplies them. `automatic` is the best this CPU has; environment variable MERCER_PACKED overrides it.
enum class PackedPath { automatic, portable, avx512, amx };
bool path_supported(LowNumber number, PackedPath path);
/// Forces a path for tests, or the next lower one for numbers that lack it; throws Error when this CPU has it for neither.
void force_path(PackedPath path);
PackedPath active_path(LowNumber number);
const char* to_string(PackedPath path);
/// True when the active path is faster than float products: not so for `portable`, which exists to be right, nor for bf16 by
/// AVX-512 on Intel, which multiplies pairs at half the rate of floats (a Xeon: 14 s against 8 on the canonical job).
bool is_fast(LowNumber number);

/// Rows of rounded features, packed for the products: panels of 16 columns, in each panel lines of 16 words. A word holds
/// one column of `group` neighbouring rows. Columns and rows beyond the given ones are 0. The kind of sums tells the
/// numbers: float for bfloat16 (nearest even), std::int32_t for bytes.
template <class Sum>
class PackedRows {
 public:
  static constexpr Index panel = 16;
  static constexpr Index group = sizeof(Sum) / (std::is_same_v<Sum, float> ? 2 : 1);

  PackedRows(Index most_rows, Index cols);

  Index cols() const { return cols_; }
  Index panels() const { return panels_; }
  Index lines() const { return lines_; }  ///< of the rows in use, padded to a multiple of 16

  /// Says how many rows the next products see; then they are packed.
  void set_rows(Index rows);
  /// Rows first, first + 1, … := f, followed by the columns of `more` (as many rows, or none at all). `first` is a multiple
  /// of the group; only the last part of the rows may be no whole number of groups. Bytes are rounded from features times
  /// `scales`, one for each column, which brings them into [-127, 127]. Parts may be packed by different threads.
  template <class Real>
  void pack(Index first, MatrixView<const Real> f, MatrixView<const Real> more = {}, std::span<const float> scales = {});

  Index panel_lines() const { return most_lines_; }  ///< from one panel to the next
  const std::uint32_t* panel_data(Index q) const { return data_.data() + q * most_lines_ * panel; }
  std::uint32_t* panel_data(Index q) { return data_.data() + q * most_lines_ * panel; }
  /// Room for the rows once more, in the order that products want on their left; kept from block to block, since fresh
  /// memory costs more than the copy.
  Matrix<std::uint32_t>& reordered();
  /// Takes that of rows of the same shape, which need it no longer.
  void adopt_reordered(PackedRows& other) { reordered_ = std::move(other.reordered_); }

 private:
  Index cols_;
  Index panels_;
  Index most_lines_;
  Index lines_ = 0;
  Matrix<std::uint32_t> data_;  ///< aligned to cache lines, as the kernels read it
  Matrix<std::uint32_t> reordered_;
};
using BfloatRows = PackedRows<float>;
using ByteRows = PackedRows<std::int32_t>;

/// Lower triangle of G (cols × cols) += FᵀH, for as many rows of as many columns, by tiles that each belong to one task.
/// Entries above the diagonal but within its 48 × 48 blocks may be written too. n·cols² operations. Tasks are to be begun in
/// their order and wait for each other, but not for any others: they may be among those of a parallel_for.
template <class Sum>
class GramTasks {
 public:
  GramTasks(PackedRows<Sum>& f, const PackedRows<Sum>& h, MatrixView<Sum> g);
  ~GramTasks();
  GramTasks(const GramTasks&) = delete;
  GramTasks& operator=(const GramTasks&) = delete;

  Index count() const;
  void run(Index task) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// All tasks of G += FᵀF.
template <class Sum>
void accumulate_gram(PackedRows<Sum>& f, MatrixView<Sum> g);
/// The same for G += FᵀH + HᵀF, for as many rows of as many columns. 2·n·cols² operations.
void accumulate_gram(BfloatRows& f, BfloatRows& h, MatrixView<float> g);

/// The nearest bfloat16, as a value; finite ones only.
template <class Real>
Real rounded_to_bfloat(Real value) {
  const auto word = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return static_cast<Real>(std::bit_cast<float>((word + 0x7fffU + ((word >> 16U) & 1U)) & 0xffff0000U));
}

}  // namespace mercer
