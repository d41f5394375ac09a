#pragma once
#include <mercer/view.hpp>

#include <bit>
#include <cstdint>
#include <span>

#include "base/matrix.hpp"

/// Gram matrices of features rounded to bfloat16 (8 bits of mantissa), summed in float: at most half the time of float
/// products where the CPU multiplies bfloat16, with an error of about 2⁻⁹ of each product. Good for preconditioners alone.
namespace mercer {

/// What multiplies the bfloat16 pairs. `automatic` is the best this CPU has; environment variable MERCER_BFLOAT overrides
/// it.
enum class BfloatPath { automatic, portable, avx512_bf16, amx };
bool bfloat_supported(BfloatPath path);
/// Forces a path for tests; throws Error when this CPU lacks it.
void force_bfloat(BfloatPath path);
BfloatPath active_bfloat();
const char* to_string(BfloatPath path);
/// True when the active path is faster than float products: not so for `portable`, which exists to be right, nor for
/// avx512_bf16 on Intel, which multiplies pairs at half the rate of floats (a Xeon: 14 s against 8 on the canonical job).
bool bfloat_is_fast();

/// Rows of features rounded to bfloat16 (nearest even), packed for the products: panels of 16 columns, in each panel one
/// line of 16 pairs (row 2k, row 2k+1) for every two rows. Columns and rows beyond the given ones are 0.
class BfloatRows {
 public:
  static constexpr Index panel = 16;

  BfloatRows(Index most_rows, Index cols);

  Index cols() const { return cols_; }
  Index panels() const { return panels_; }
  Index pairs() const { return pairs_; }  ///< of the rows in use, padded to a multiple of 16

  /// Says how many rows the next products see; then they are packed.
  void set_rows(Index rows);
  /// Rows first, first + 1, … := f, followed by one more column when `last` (one value per row) is given. `first` is even;
  /// only the last part of the rows may have an odd number of them. Parts may be packed by different threads.
  template <class Real>
  void pack(Index first, MatrixView<const Real> f, std::span<const Real> last = {});

  Index panel_lines() const { return most_pairs_; }  ///< from one panel to the next
  const std::uint32_t* panel_data(Index q) const { return data_.data() + q * most_pairs_ * panel; }

 private:
  Index cols_;
  Index panels_;
  Index most_pairs_;
  Index pairs_ = 0;
  Matrix<std::uint32_t> data_;  ///< aligned to cache lines, as the kernels read it
};

/// Lower triangle of G (float, cols × cols) += FᵀF, by tiles that each belong to one thread. Entries above the diagonal but
/// within its 48 × 48 blocks may be written too. n·cols² flops.
void accumulate_gram(const BfloatRows& f, MatrixView<float> g);
/// The same for G += FᵀH + HᵀF, for as many rows of as many columns. 2·n·cols² flops.
void accumulate_gram(const BfloatRows& f, const BfloatRows& h, MatrixView<float> g);

/// The nearest bfloat16, as a value; finite ones only.
template <class Real>
Real rounded_to_bfloat(Real value) {
  const auto word = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return static_cast<Real>(std::bit_cast<float>((word + 0x7fffU + ((word >> 16U) & 1U)) & 0xffff0000U));
}

}  // namespace mercer
