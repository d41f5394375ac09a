#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "backend/cpu/split_product.hpp"
#include "base/matrix.hpp"

namespace mercer {

/// How loud the columns of a tile of L are: the mean of l_ik² over its rows. When every product of two numbers is off by
/// some 2⁻¹⁸ of itself at random, LLᵀ is off, in spectral norm, by twice the root of the rows times that of the mean square,
/// 2Σ_k (mean of l_ik²)², L being `rows` rows like these and 512 columns. (What is harmless was found for so many columns at
/// a time.)
class Loudness {
 public:
  Loudness() = default;
  Loudness(MatrixView<const float> l, Index rows) : unit_(std::ldexp(2.0 * static_cast<double>(rows), -34)) {
    for (Index i = 0; i < l.rows; ++i) {
      const float* row = l.row(i).data();
      for (std::size_t k = 0; k < of_.size(); ++k) of_[k] += row[k] * row[k];
    }
    for (float& square : of_) square /= static_cast<float>(l.rows);
    for (std::size_t k = 0; k < of_.size(); ++k) sum_ += noise(k);
  }
  double of(std::size_t k) const { return static_cast<double>(of_[k]); }
  double noise(std::size_t k) const { return unit_ * of(k) * of(k); }  ///< of one column, squared
  double noise() const { return sum_; }                                ///< of all of them

 private:
  std::array<float, split_tile> of_{};
  double unit_ = 0;
  double sum_ = 0;
};

/// The fewest columns, the loudest first, without which a product of two tiles by bfloat16 moves A by no more than
/// `harmless`. (The root of the noise of both counts.)
class LoudColumns {
 public:
  static constexpr Index most = 64;  ///< more take as long as all columns by floats

  LoudColumns(const Loudness& a, const Loudness& b, double harmless) {
    double a_noise = a.noise();
    double b_noise = b.noise();
    const auto harm = [&] { return a_noise * b_noise > std::pow(harmless, 4); };
    if (!harm()) return;
    std::array<std::size_t, split_tile> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto both = [&](std::size_t c) { return a.of(c) * b.of(c); };
    std::ranges::partial_sort(order, order.begin() + most, [&](std::size_t c, std::size_t d) {
      return both(c) > both(d) || (both(c) == both(d) && c < d);
    });
    for (; count_ < most && harm(); ++count_) {
      const std::size_t c = order[static_cast<std::size_t>(count_)];
      columns_[static_cast<std::size_t>(count_)] = c;
      a_noise = std::max(a_noise - a.noise(c), 0.0);
      b_noise = std::max(b_noise - b.noise(c), 0.0);
    }
    too_many_ = harm();
  }

  bool too_many() const { return too_many_; }  ///< `most` would not do
  Index count() const { return count_; }
  SplitColumns others() const {
    SplitColumns keep{};
    keep.fill(~std::uint32_t{0});
    for (Index c = 0; c < count_; ++c) keep[columns_[static_cast<std::size_t>(c)]] = 0;
    return keep;
  }
  /// These columns of a tile, side by side in `room`.
  MatrixView<const float> of(MatrixView<const float> l, Matrix<float>& room) const {
    const MatrixView<float> gathered = room.view().row_range(0, l.rows).col_range(0, count_);
    for (Index i = 0; i < l.rows; ++i) {
      const float* row = l.row(i).data();
      for (Index c = 0; c < count_; ++c) gathered(i, c) = row[columns_[static_cast<std::size_t>(c)]];
    }
    return gathered;
  }

 private:
  std::array<std::size_t, most> columns_{};
  Index count_ = 0;
  bool too_many_ = false;
};

}  // namespace mercer
