#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "backend/backend.hpp"
#include "backend/cpu/blas.hpp"
#include "backend/cpu/side_by_side.hpp"
#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"

namespace mercer {
namespace {

/// B := L⁻¹B or L⁻ᵀB on a strip of columns. Column-major, B is Bᵀ: solve from the right with U = Lᵀ.
template <class Real>
void solve_strip(MatrixView<const Real> l, MatrixView<Real> b, bool transposed) {
  const int m = checked_int(b.cols, "a matrix dimension");
  const int n = checked_int(l.rows, "a matrix dimension");
  const int lda = checked_int(l.stride, "a stride");
  const int ldb = checked_int(b.stride, "a stride");
  const Real one = 1;
  of_kind<Real>(blas().strsm, blas().dtrsm)("R", "U", transposed ? "T" : "N", "N", &m, &n, &one, l.data, &lda, b.data, &ldb);
}

/// For few columns all of the time goes into reading L, which a BLAS would also copy. A task solves for a band of X, given
/// what others have found so far: all threads read L at once, and nobody waits but for the numbers of bands that are still
/// being found. Sums are the same for any number of threads. Of very few columns of B, these are the rows of X (k × n).
template <class Real>
class FewColumns {
 public:
  /// Rows of X: more are better side by side, later where L comes from memory, which is read in longer pieces here.
  static Index most(Index n) { return n > 6000 ? VectorRows<Real>::multiple * 3 / 4 : VectorRows<Real>::multiple / 3; }

  FewColumns(MatrixView<const Real> l, MatrixView<Real> x) : l_(l), x_(x) {}

  /// X := X L⁻ᵀ, from the first band on: x_i = (x_i - Σ_{j<i} x_j l_ij)/l_ii.
  void solve() const {
    Milestone known;
    parallel_for((l_.rows + band - 1) / band, [&](Index task) {
      const Index first = task * band;
      const Index end = std::min(l_.rows, first + band);
      const Milestone::Guard guard(known, end);
      // Many at a time where they were found long ago, the last ones one by one.
      for (Index from = 0, to = 0; from < first; from = to) {
        to = from + band * (from + 16 * band < first ? 16 : from + 4 * band < first ? 4 : 1);
        known.wait_for(to);
        take_off(from, to, first, end);
      }
      for (Index top = first; top < end; top += small) {
        const Index bottom = std::min(end, top + small);
        if (top > first) take_off(first, top, top, bottom);
        Corner corner;
        for (Index i = top; i < bottom; ++i) {
          for (Index j = top; j <= i; ++j) corner.set(j - top, i - top, l_(i, j));
        }
        corner.solve(x_.col_range(top, bottom - top), [](Index step) { return step; });
      }
    });
  }

  /// X := X L⁻¹, from the last band on: x_i = (x_i - Σ_{j>i} x_j l_ji)/l_ii. Rows of L are read in pieces, longer ones where
  /// bands are wider.
  void solve_transposed() const {
    const Index n = l_.rows;
    constexpr Index wide_band = 4 * band;
    const Index bands = (n + wide_band - 1) / wide_band;
    Matrix<Real> minus(n, x_.rows);  // -Xᵀ, as far as it is known
    Milestone known;                 // from the last column on
    parallel_for(bands, [&](Index task) {
      const Index first = (bands - 1 - task) * wide_band;
      const Index end = std::min(n, first + wide_band);
      const Milestone::Guard guard(known, n - first);
      for (Index bottom = n, top = 0; bottom > end; bottom = top) {
        top = (bottom - 1) / wide_band * wide_band;
        known.wait_for(n - top);
        take_off_transposed(minus, top, bottom, first, end);
      }
      for (Index top = first + (end - first - 1) / small * small; top >= first; top -= small) {
        const Index bottom = std::min(end, top + small);
        Corner corner;
        for (Index j = top; j < bottom; ++j) {
          for (Index i = top; i <= j; ++i) corner.set(j - top, i - top, l_(j, i));
        }
        corner.solve(x_.col_range(top, bottom - top), [](Index step) { return small - 1 - step; });
        for (Index i = top; i < bottom; ++i) {
          for (Index k = 0; k < x_.rows; ++k) minus(i, k) = -x_(k, i);
        }
        if (top > first) take_off_transposed(minus, top, bottom, first, top);
      }
    });
  }

 private:
  static constexpr Index small = 32;
  static constexpr Index band = 64;

  static constexpr std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  /// A small triangle, with ones on its diagonal where L ends before it does: loops of one length.
  class Corner {
   public:
    Corner() { inverse_.fill(1); }
    /// What x_j contributes to x_i, or has to be divided by.
    void set(Index j, Index i, Real value) {
      if (i == j) {
        inverse_[at(j)] = 1 / value;
      } else {
        factor_[at(j * small + i)] = value;
      }
    }
    template <class Order>
    void solve(MatrixView<Real> x, const Order& order) const {
      for (Index k = 0; k < x.rows; ++k) solve_row(x.row(k), order);
    }

   private:
    template <class Order>
    void solve_row(std::span<Real> x, const Order& order) const {
      std::array<Real, at(small)> y{};
      std::ranges::copy(x, y.begin());
      for (Index step = 0; step < small; ++step) {
        const Index j = order(step);
        const Real known = y[at(j)] * inverse_[at(j)];
        const Real* factor = factor_.data() + j * small;
        for (Index i = 0; i < small; ++i) y[at(i)] -= factor[i] * known;
        y[at(j)] = known;
      }
      std::copy_n(y.begin(), x.size(), x.begin());
    }

    std::array<Real, at(small)> inverse_;
    std::array<Real, at(small* small)> factor_{};  ///< 0 where there is nothing to contribute
  };

  /// What columns [from, to) of X contribute to columns [top, bottom), no more than a band: by those rows of L.
  void take_off(Index from, Index to, Index top, Index bottom) const {
    thread_local Matrix<Real> sums(band, VectorRows<Real>::multiple);
    const MatrixView<Real> f = sums.view().row_range(0, bottom - top).col_range(0, x_.rows);
    thin_forward<Real>(l_.row_range(top, f.rows).col_range(from, to - from), x_.col_range(from, to - from), f);
    for (Index i = 0; i < f.rows; ++i) {
      for (Index k = 0; k < f.cols; ++k) x_(k, top + i) -= f(i, k);
    }
  }
  /// What columns [top, bottom) of X contribute to columns [from, to): by those rows of L.
  void take_off_transposed(MatrixView<const Real> minus, Index top, Index bottom, Index from, Index to) const {
    const Index rows = bottom - top;
    thin_adjoint<Real>(l_.row_range(top, rows).col_range(from, to - from), minus.row_range(top, rows), true,
                       x_.col_range(from, to - from));
  }

  MatrixView<const Real> l_;
  MatrixView<Real> x_;
};

/// The same for columns that lie side by side in vectors: X is n × k, B with zeros that fill up its last vectors. What takes
/// time here is that every band waits for the one before, and products of small triangles have no lanes to be summed up.
template <class Real>
class SideBySide {
 public:
  static constexpr Index most = 64;  ///< columns

  SideBySide(MatrixView<const Real> l, MatrixView<Real> x) : l_(l), x_(x) {}

  void solve() const { solve({l_.data, l_.stride, 1}, {x_.data, x_.stride, x_.cols}); }
  /// Lᵀ read from its last entry on is a lower triangle, too.
  void solve_transposed() const {
    const Index last = l_.rows - 1;
    solve({l_.row(last).data() + last, -1, -l_.stride}, {x_.row(last).data(), -x_.stride, x_.cols});
  }

 private:
  void solve(const Reading<Real>& t, const VectorRows<Real>& x) const {
    constexpr Index band = 64;
    const Index n = l_.rows;
    Milestone known;
    parallel_for((n + band - 1) / band, [&](Index task) {
      const Index first = task * band;
      const Index rows = std::min(n - first, band);
      const Milestone::Guard guard(known, first + rows);
      for (Index from = 0, to = 0; from < first; from = to) {
        to = from + band * (from + 8 * band < first ? 4 : 1);
        known.wait_for(to);
        subtract_product(t.from(first, from), rows, to - from, x.from(from), x.from(first));
      }
      solve_triangle(t.from(first, first), rows, x.from(first));
    });
  }

  MatrixView<const Real> l_;
  MatrixView<Real> x_;
};

enum class Sides { lower, transposed, both };

template <class Columns>
void solve_sides(const Columns& columns, Sides sides) {
  if (sides != Sides::transposed) columns.solve();
  if (sides != Sides::lower) columns.solve_transposed();
}

template <class Real>
void solve_few(MatrixView<const Real> l, MatrixView<Real> b, Sides sides) {
  Matrix<Real> x(b.cols, b.rows);
  parallel_rows(b.rows, b.cols, [&](Index first, Index end) {
    for (Index i = first; i < end; ++i) {
      for (Index k = 0; k < b.cols; ++k) x(k, i) = b(i, k);
    }
  });
  solve_sides(FewColumns<Real>(l, x), sides);
  parallel_rows(b.rows, b.cols, [&](Index first, Index end) {
    for (Index i = first; i < end; ++i) {
      for (Index k = 0; k < b.cols; ++k) b(i, k) = x(k, i);
    }
  });
}

template <class Real>
void solve_side_by_side(MatrixView<const Real> l, MatrixView<Real> b, Sides sides) {
  constexpr Index multiple = VectorRows<Real>::multiple;
  Matrix<Real> x(b.rows, (b.cols + multiple - 1) / multiple * multiple);
  const auto copy_rows = [&](const auto& copy) {
    parallel_rows(b.rows, b.cols, [&](Index first, Index end) {
      for (Index i = first; i < end; ++i) copy(i);
    });
  };
  copy_rows([&](Index i) { std::ranges::copy(b.row(i), x.row(i).begin()); });
  solve_sides(SideBySide<Real>(l, x), sides);
  copy_rows([&](Index i) { std::copy_n(x.row(i).begin(), b.cols, b.row(i).begin()); });
}

template <class Real>
void solve_triangular(MatrixView<const Real> l, MatrixView<Real> b, Sides sides) {
  constexpr Index strip = 128;
  constexpr Index large = 1024;  // below, L is not read for long
  constexpr Index most = SideBySide<Real>::most;
  if (l.rows == 0 || b.cols == 0) return;
  if (b.cols <= FewColumns<Real>::most(l.rows) && l.rows >= large) return solve_few<Real>(l, b, sides);
  if (b.cols <= 4 * most && l.rows >= large) {
    for (Index first = 0; first < b.cols; first += most)
      solve_side_by_side<Real>(l, b.col_range(first, std::min(most, b.cols - first)), sides);
    return;
  }
  parallel_for((b.cols + strip - 1) / strip, [&](Index task) {
    const MatrixView<Real> part = b.col_range(task * strip, std::min(strip, b.cols - task * strip));
    if (sides != Sides::transposed) solve_strip<Real>(l, part, false);
    if (sides != Sides::lower) solve_strip<Real>(l, part, true);
  });
}

}  // namespace

void solve_lower(ConstMatrix l, MutMatrix b) {
  solve_triangular<double>(l, b, Sides::lower);
}
void solve_lower(MatrixView<const float> l, MatrixView<float> b) {
  solve_triangular<float>(l, b, Sides::lower);
}
void solve_lower_transposed(ConstMatrix l, MutMatrix b) {
  solve_triangular<double>(l, b, Sides::transposed);
}
void solve_lower_transposed(MatrixView<const float> l, MatrixView<float> b) {
  solve_triangular<float>(l, b, Sides::transposed);
}
void cholesky_solve(ConstMatrix l, MutMatrix b) {
  solve_triangular<double>(l, b, Sides::both);
}
void cholesky_solve(MatrixView<const float> l, MatrixView<float> b) {
  solve_triangular<float>(l, b, Sides::both);
}

void cholesky_inverse(MutMatrix l, MutMatrix work) {
  constexpr Index strip = 128;
  constexpr Index block = 256;
  const Index n = l.rows;
  // Column strip j of L⁻¹ is 0 above row j: a solve with the factor from there on.
  parallel_for((n + strip - 1) / strip, [&](Index task) {
    check_stop();
    const Index first = task * strip;
    const MutMatrix columns = work.col_range(first, std::min(strip, n - first));
    for (Index i = 0; i < n; ++i) std::fill_n(columns.data + i * columns.stride, columns.cols, 0.0);
    for (Index i = 0; i < columns.cols; ++i) columns(first + i, i) = 1;
    const Index left = n - first;
    solve_strip<double>(l.row_range(first, left).col_range(first, left), columns.row_range(first, left), false);
  });
  // L⁻ᵀL⁻¹ by tiles: entries (i, j), j ≤ i, need the rows from i on.
  const Index tiles = (n + block - 1) / block;
  parallel_for(tiles * (tiles + 1) / 2, [&](Index task) {
    check_stop();
    const auto [bi, bj] = triangle_tile(task);
    const Index i = bi * block;
    const Index j = bj * block;
    const ConstMatrix left = work.row_range(i, n - i).col_range(i, std::min(block, n - i));
    const ConstMatrix right = work.row_range(i, n - i).col_range(j, std::min(block, n - j));
    const MutMatrix target = l.row_range(i, left.cols).col_range(j, right.cols);
    if (bi != bj) {
      gemm<double>(true, false, 1.0, left, right, 0.0, target);
      return;
    }
    const int size = checked_int(left.cols, "a matrix dimension");
    const int depth = checked_int(left.rows, "a matrix dimension");
    const int lda = checked_int(left.stride, "a stride");
    const int ldc = checked_int(target.stride, "a stride");
    const double one = 1;
    const double zero = 0;
    blas().dsyrk("U", "N", &size, &depth, &one, left.data, &lda, &zero, target.data, &ldc);
  });
}

}  // namespace mercer
