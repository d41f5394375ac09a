#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <vector>

#include "backend/backend.hpp"
#include "backend/cpu/blas.hpp"
#include "backend/cpu/loud_columns.hpp"
#include "backend/cpu/split_product.hpp"
#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"

namespace mercer {
namespace {

constexpr Index block = split_tile;

/// A row-major lower factor L is, read column-major, the upper factor U = Lᵀ with A = UᵀU.
template <class Real>
Index factor_block(MatrixView<Real> a) {
  const int n = checked_int(a.rows, "a matrix dimension");
  const int lda = checked_int(a.stride, "a stride");
  int info = 0;
  of_kind<Real>(blas().spotrf, blas().dpotrf)("U", &n, a.data, &lda, &info);
  return info > 0 ? info - 1 : -1;
}

/// X := X L⁻ᵀ for the rows X under a diagonal block.
template <class Real>
void solve_rows(MatrixView<const Real> l, MatrixView<Real> x) {
  const int m = checked_int(l.rows, "a matrix dimension");
  const int n = checked_int(x.rows, "a matrix dimension");
  const int lda = checked_int(l.stride, "a stride");
  const int ldb = checked_int(x.stride, "a stride");
  const Real one = 1;
  of_kind<Real>(blas().strsm, blas().dtrsm)("L", "U", "T", "N", &m, &n, &one, l.data, &lda, x.data, &ldb);
}

/// Lower triangle of C -= AAᵀ.
template <class Real>
void subtract_square(MatrixView<const Real> a, MatrixView<Real> c) {
  const int size = checked_int(a.rows, "a matrix dimension");
  const int depth = checked_int(a.cols, "a matrix dimension");
  const int lda = checked_int(a.stride, "a stride");
  const int ldc = checked_int(c.stride, "a stride");
  const Real minus = -1;
  const Real one = 1;
  of_kind<Real>(blas().ssyrk, blas().dsyrk)("U", "T", &size, &depth, &minus, a.data, &lda, &one, c.data, &ldc);
}

/// The factor of a tile on the diagonal in small blocks, whose inverses multiply what is below: OpenBLAS solves with floats
/// at a tenth of the rate at which it multiplies (38 of 300 GF/s on two cores of a Xeon with AMX; no difference on AMD).
/// Products with an inverse are less precise than solves by the condition number of the small block: a test with a penalty
/// of 5e-8 found that out, so precise factors do without. Where they could move A by more than `harmless`, X is corrected by
/// what it leaves of A; where even that would not do, blocks are halved.
class InvertedDiagonal {
 public:
  InvertedDiagonal(MatrixView<float> a, double harmless) : l_(a), harmless_(harmless) {}
  Index factor() {
    for (Index first = 0; first < l_.rows; first += largest) {
      const Index width = std::min(largest, l_.rows - first);
      const MatrixView<float> rows = l_.row_range(first, width);
      const MatrixView<float> corner = rows.col_range(first, width);
      if (first > 0) subtract_square<float>(rows.col_range(0, first), corner);
      if (const Index failed = factor_block<float>(corner); failed >= 0) return first + failed;
      const std::size_t before = parts_.size();
      invert(first, width);
      const Index below = first + width;
      for (std::size_t k = before; k < parts_.size(); ++k) solve_columns(parts_[k], l_.row_range(below, l_.rows - below));
    }
    return -1;
  }
  void solve(MatrixView<float> x) const {
    for (const Part& part : parts_) solve_columns(part, x);
  }

 private:
  static constexpr Index largest = 64;
  static constexpr Index least = 16;  ///< solved with where even its corrected inverse would do harm

  enum class Way { inverse, corrected, solve };
  struct Part {
    Index first;
    Index width;
    Way way;
  };

  void invert(Index first, Index width) {
    const Way way = way_of(first, width);
    if (way != Way::solve || width <= least) {
      parts_.push_back({first, width, way});
      return;
    }
    invert(first, width / 2);
    invert(first + width / 2, width - width / 2);
  }

  /// Rounding by 2⁻²⁴ of X = AL⁻ᵀ moves A = XLᵀ by 2⁻²⁴‖L⁻¹‖‖L‖ of ‖A‖, at most, and a correction leaves the same share of
  /// that, or as much as a solve would. What is below is taken to be as large as the diagonal of the block, Σ_j l_ij².
  Way way_of(Index first, Index width) {
    const MatrixView<const float> corner = l_.row_range(first, width).col_range(first, width);
    const MatrixView<float> lower = lower_.view().row_range(first, width).col_range(0, width);
    const MatrixView<float> inverse = inverse_.view().row_range(first, width).col_range(0, width);
    for (Index i = 0; i < width; ++i) {
      std::ranges::fill(lower.row(i), 0.0F);
      std::copy_n(corner.row(i).begin(), i + 1, lower.row(i).begin());
      std::ranges::fill(inverse.row(i), 0.0F);
      inverse(i, i) = 1;
    }
    solve_rows<float>(corner, inverse);
    double inverse_square = 0;
    double square = 0;
    double largest_row = 0;
    for (Index i = 0; i < width; ++i) {
      double row = 0;
      for (Index j = 0; j < width; ++j) inverse_square += std::pow(static_cast<double>(inverse(i, j)), 2);
      for (Index j = 0; j <= i; ++j) row += std::pow(static_cast<double>(corner(i, j)), 2);
      square += row;
      largest_row = std::max(largest_row, row);
    }
    const double share = 0x1p-24 * std::sqrt(inverse_square * square);
    if (share * largest_row <= harmless_) return Way::inverse;
    return share * share * largest_row <= std::max(harmless_, 0x1p-24 * largest_row) ? Way::corrected : Way::solve;
  }

  /// The columns of a part, given those before them.
  void solve_columns(const Part& part, MatrixView<float> x) const {
    if (x.rows == 0) return;
    const auto [first, width, way] = part;
    const MatrixView<float> target = x.col_range(first, width);
    const MatrixView<const float> rows = l_.row_range(first, width);
    if (first > 0) gemm<float>(false, true, -1.0F, x.col_range(0, first), rows.col_range(0, first), 1.0F, target);
    if (way == Way::solve) {
      solve_rows<float>(rows.col_range(first, width), target);
      return;
    }
    const MatrixView<const float> inverse = inverse_.view().row_range(first, width).col_range(0, width);
    thread_local Matrix<float> right(block, largest);
    const MatrixView<float> copy = right.view().row_range(0, x.rows).col_range(0, width);
    for (Index i = 0; i < x.rows; ++i) std::ranges::copy(target.row(i), copy.row(i).begin());
    gemm<float>(false, false, 1.0F, copy, inverse, 0.0F, target);
    if (way == Way::inverse) return;
    const MatrixView<const float> lower = lower_.view().row_range(first, width).col_range(0, width);
    gemm<float>(false, true, -1.0F, target, lower, 1.0F, copy);
    gemm<float>(false, false, 1.0F, copy, inverse, 1.0F, target);
  }

  MatrixView<float> l_;
  double harmless_;
  Matrix<float> inverse_{block, largest};  ///< L⁻ᵀ of every part, one below the other
  Matrix<float> lower_{block, largest};    ///< L likewise, with nothing above its diagonal
  std::vector<Part> parts_;
};

/// A = LLᵀ by square tiles,
///     L_ij = (A_ij - Σ_{k<j} L_ik L_jkᵀ) L_jj⁻ᵀ,
/// column by column and from the diagonal down. A task finds one of them as soon as those it needs are there: nobody waits
/// for all the others, and while one thread factors a tile on the diagonal the rest are busy with columns to come. Sums are
/// in the same order for any number of threads. `Tiles` knows how to work on them.
template <class Tiles>
Index factor_tiles(Tiles& tiles, Index count) {
  std::vector<Milestone> found(static_cast<std::size_t>(count));  // of every row, the tiles so far
  std::atomic<Index> failed{-1};                                  // from then on, what is there is not to be used
  const auto find = [&](Index i, Index j) {
    const Milestone& row = found[static_cast<std::size_t>(i)];
    const Milestone& other = found[static_cast<std::size_t>(j)];
    check_stop();
    // Many at a time where they were found long ago, the last ones one by one.
    for (Index from = 0, to = 0; from < j; from = to) {
      to = from + (from + 12 < j ? 8 : from + 4 < j ? 4 : 1);
      row.wait_for(to);
      other.wait_for(to);
      if (failed >= 0) return;
      tiles.take_off(i, j, from, to);
    }
    if (i == j) {
      if (const Index pivot = tiles.factor(j); pivot >= 0) failed = j * block + pivot;
      return;
    }
    other.wait_for(j + 1);
    if (failed < 0) tiles.solve(i, j);
  };
  const Index tasks = count * (count + 1) / 2;
  parallel_for(tasks, [&](Index task) {
    const auto [up, left] = triangle_tile(tasks - 1 - task);
    const Index j = count - 1 - up;
    const Index i = count - 1 - left;
    const Milestone::Guard guard(found[static_cast<std::size_t>(i)], j + 1);
    try {
      find(i, j);
    } catch (...) {
      failed = 0;
      throw;
    }
  });
  return failed;
}

Index tile_count(Index rows) {
  return (rows + block - 1) / block;
}

/// Rows of tile i, columns of the tiles from `from` to `to`.
template <class Real>
MatrixView<Real> tile(MatrixView<Real> a, Index i, Index from, Index to) {
  const Index row = i * block;
  const Index col = from * block;
  return a.row_range(row, std::min(block, a.rows - row)).col_range(col, std::min(to * block, a.cols) - col);
}
template <class Real>
MatrixView<Real> tile(MatrixView<Real> a, Index i, Index j) {
  return tile<Real>(a, i, j, j + 1);
}

/// By a BLAS.
template <class Real>
class PlainTiles {
 public:
  explicit PlainTiles(MatrixView<Real> a) : a_(a) {}

  void take_off(Index i, Index j, Index from, Index to) const {
    const MatrixView<Real> left = tile(a_, i, from, to);
    if (i == j) {
      subtract_square<Real>(left, tile(a_, i, j));
    } else {
      gemm<Real>(false, true, Real(-1), left, tile(a_, j, from, to), Real(1), tile(a_, i, j));
    }
  }
  Index factor(Index j) const { return factor_block<Real>(tile(a_, j, j)); }
  void solve(Index i, Index j) const { solve_rows<Real>(tile(a_, j, j), tile(a_, i, j)); }

 private:
  MatrixView<Real> a_;
};

/// By three products of bfloat16 where that is harmless; a few loud columns, which make nearly all of the noise of tiles
/// near the first ones, by floats.
class SplitTiles {
 public:
  SplitTiles(MatrixView<float> a, double harmless)
      : a_(a), harmless_(harmless), loudness_(static_cast<std::size_t>(triangle(tile_count(a.rows), 0))) {
    for (Index j = 0; j < tile_count(a.rows); ++j) diagonal_.emplace_back(tile(a_, j, j), harmless);
  }

  void take_off(Index i, Index j, Index from, Index to) const {
    const MatrixView<float> target = tile(a_, i, j);
    if (i != j && target.rows % 16 == 0) return take_off(i, j, from, to, target);
    // Products write whole panels, and above the diagonal.
    thread_local Matrix<float> whole(block, block);
    const auto width = [&](Index r) { return i == j ? r + 1 : target.cols; };
    for (Index r = 0; r < target.rows; ++r) std::copy_n(target.row(r).begin(), width(r), whole.row(r).begin());
    take_off(i, j, from, to, whole.view().row_range(0, target.rows).col_range(0, target.cols));
    for (Index r = 0; r < target.rows; ++r) std::copy_n(whole.row(r).begin(), width(r), target.row(r).begin());
  }
  Index factor(Index j) { return diagonal_[static_cast<std::size_t>(j)].factor(); }
  void solve(Index i, Index j) {
    const MatrixView<float> l = tile(a_, i, j);
    diagonal_[static_cast<std::size_t>(j)].solve(l);
    loudness_[static_cast<std::size_t>(triangle(i, j))] = Loudness(l, a_.rows - (j + 1) * block);
  }

 private:
  static Index triangle(Index i, Index j) { return i * (i + 1) / 2 + j; }
  const Loudness& loudness(Index i, Index j) const { return loudness_[static_cast<std::size_t>(triangle(i, j))]; }

  LoudColumns loud_columns(Index i, Index j, Index k) const { return {loudness(i, k), loudness(j, k), harmless_}; }

  void take_off(Index i, Index j, Index from, Index to, MatrixView<float> target) const {
    thread_local SplitProduct product;
    thread_local Matrix<float> left_room(block, LoudColumns::most);
    thread_local Matrix<float> right_room(block, LoudColumns::most);
    for (Index k = from; k < to; ++k) {
      const LoudColumns loud = loud_columns(i, j, k);
      if (loud.too_many()) {
        const Index first = k;
        while (k + 1 < to && loud_columns(i, j, k + 1).too_many()) ++k;
        gemm<float>(false, true, -1.0F, tile(a_, i, first, k + 1), tile(a_, j, first, k + 1), 1.0F, target);
        continue;
      }
      const MatrixView<float> left = tile(a_, i, k);
      const MatrixView<float> right = tile(a_, j, k);
      product.subtract(left, right, loud.others(), target);
      if (loud.count() == 0) continue;
      gemm<float>(false, true, -1.0F, loud.of(left, left_room), loud.of(right, right_room), 1.0F, target);
    }
  }

  MatrixView<float> a_;
  double harmless_;
  std::vector<InvertedDiagonal> diagonal_;
  std::vector<Loudness> loudness_;  ///< of every tile below the diagonal
};

}  // namespace

Index cholesky(MutMatrix a) {
  PlainTiles<double> tiles(a);
  return factor_tiles(tiles, tile_count(a.rows));
}
Index cholesky(MatrixView<float> a) {
  PlainTiles<float> tiles(a);
  return factor_tiles(tiles, tile_count(a.rows));
}

Index split_cholesky(MatrixView<float> a, double harmless) {
  SplitTiles tiles(a, harmless);
  return factor_tiles(tiles, tile_count(a.rows));
}

}  // namespace mercer
