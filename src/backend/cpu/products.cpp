#include <algorithm>
#include <type_traits>

#include "backend/backend.hpp"
#include "backend/cpu/blas.hpp"
#include "base/checked.hpp"
#include "base/parallel.hpp"

namespace mercer {
namespace {

Index ceil_div(Index a, Index b) {
  return (a + b - 1) / b;
}

/// Row-major C = op(A)op(B) is column-major Cᵀ = op(B)ᵀop(A)ᵀ: swap the operands, keep the flags.
template <class Real>
void serial_gemm(bool ta, bool tb, Real alpha, MatrixView<const Real> a, MatrixView<const Real> b, Real beta,
                 MatrixView<Real> c) {
  const int m = checked_int(c.cols, "a matrix dimension");
  const int n = checked_int(c.rows, "a matrix dimension");
  const int k = checked_int(ta ? a.rows : a.cols, "a matrix dimension");
  const int lda = std::max(1, checked_int(b.stride, "a stride"));
  const int ldb = std::max(1, checked_int(a.stride, "a stride"));
  const int ldc = std::max(1, checked_int(c.stride, "a stride"));
  of_kind<Real>(blas().sgemm, blas().dgemm)(tb ? "T" : "N", ta ? "T" : "N", &m, &n, &k, &alpha, b.data, &lda, a.data, &ldb,
                                            &beta, c.data, &ldc);
}

/// y = alpha·op(A)x + beta·y for a stored matrix `a`: matrix products with a vector, which a gemm would pack for nothing.
template <class Real>
void serial_gemv(bool transpose, Real alpha, MatrixView<const Real> a, const Real* x, Index x_step, Real beta, Real* y,
                 Index y_step) {
  const int m = checked_int(a.cols, "a matrix dimension");
  const int n = checked_int(a.rows, "a matrix dimension");
  const int lda = std::max(1, checked_int(a.stride, "a stride"));
  const int incx = std::max(1, checked_int(x_step, "a stride"));
  const int incy = std::max(1, checked_int(y_step, "a stride"));
  const char* flag = transpose ? "N" : "T";  // row-major A is column-major Aᵀ
  of_kind<Real>(blas().sgemv, blas().dgemv)(flag, &m, &n, &alpha, a.data, &lda, x, &incx, &beta, y, &incy);
}

template <class Real>
void serial_product(bool ta, bool tb, Real alpha, MatrixView<const Real> a, MatrixView<const Real> b, Real beta,
                    MatrixView<Real> c) {
  const Index inner = ta ? a.rows : a.cols;
  if (inner > 0 && c.cols == 1) {
    serial_gemv<Real>(ta, alpha, a, b.data, tb ? 1 : b.stride, beta, c.data, c.stride);
  } else if (inner > 0 && c.rows == 1) {
    serial_gemv<Real>(!tb, alpha, b, a.data, ta ? a.stride : 1, beta, c.data, 1);
  } else {
    serial_gemm<Real>(ta, tb, alpha, a, b, beta, c);
  }
}

template <class Real>
void serial_syrk(MatrixView<const Real> f, Real beta, MatrixView<Real> g) {  // lower of G = FᵀF + beta G
  const int n = checked_int(f.cols, "a matrix dimension");
  const int k = checked_int(f.rows, "a matrix dimension");
  const int lda = checked_int(f.stride, "a stride");
  const int ldc = checked_int(g.stride, "a stride");
  const Real one = 1;
  of_kind<Real>(blas().ssyrk, blas().dsyrk)("U", "N", &n, &k, &one, f.data, &lda, &beta, g.data, &ldc);
}

}  // namespace

template <class Real>
void gemm(bool transpose_a, bool transpose_b, Real alpha, MatrixView<const Real> a, MatrixView<const Real> b, Real beta,
          MatrixView<Real> c) {
  if (c.rows == 0 || c.cols == 0) return;
  // Panels of C: tall enough for BLAS to reach its speed, and many enough to share.
  constexpr Index panel_rows = 256;
  constexpr Index panel_cols = 1024;
  const Index row_panels = ceil_div(c.rows, panel_rows);
  const Index col_panels = ceil_div(c.cols, panel_cols);
  parallel_for(row_panels * col_panels, [&](Index task) {
    const Index i = task / col_panels * panel_rows;
    const Index j = task % col_panels * panel_cols;
    const Index rows = std::min(panel_rows, c.rows - i);
    const Index cols = std::min(panel_cols, c.cols - j);
    const auto a_part = transpose_a ? a.col_range(i, rows) : a.row_range(i, rows);
    const auto b_part = transpose_b ? b.row_range(j, cols) : b.col_range(j, cols);
    serial_product<Real>(transpose_a, transpose_b, alpha, a_part, b_part, beta, c.row_range(i, rows).col_range(j, cols));
  });
}

template <class Real>
void accumulate_gram(MatrixView<const Real> f, MutMatrix g) {
  constexpr Index tile = 512;
  const Index tiles = ceil_div(f.cols, tile);
  parallel_for(tiles * (tiles + 1) / 2, [&](Index task) {
    const auto [bi, bj] = triangle_tile(task);
    const Index i = bi * tile;
    const Index j = bj * tile;
    const Index rows = std::min(tile, f.cols - i);
    const Index cols = std::min(tile, f.cols - j);
    const MutMatrix target = g.row_range(i, rows).col_range(j, cols);
    if constexpr (std::is_same_v<Real, double>) {
      if (bi == bj) {
        serial_syrk<double>(f.col_range(i, rows), 1.0, target);
      } else {
        serial_gemm<double>(true, false, 1.0, f.col_range(i, rows), f.col_range(j, cols), 1.0, target);
      }
    } else {
      thread_local Matrix<Real> product(tile, tile);
      const MatrixView<Real> part(product.data(), rows, cols, tile);
      if (bi == bj) {
        serial_syrk<Real>(f.col_range(i, rows), Real(0), part);
      } else {
        serial_gemm<Real>(true, false, Real(1), f.col_range(i, rows), f.col_range(j, cols), Real(0), part);
      }
      for (Index r = 0; r < rows; ++r) {
        const Index width = bi == bj ? r + 1 : cols;
        for (Index s = 0; s < width; ++s) target(r, s) += static_cast<double>(part(r, s));
      }
    }
  });
}

void mirror_lower(MutMatrix a) {
  constexpr Index tile = 64;
  const Index tiles = ceil_div(a.rows, tile);
  parallel_for(tiles, [&](Index bi) {
    for (Index bj = 0; bj <= bi; ++bj) {
      for (Index i = bi * tile; i < std::min(a.rows, (bi + 1) * tile); ++i) {
        for (Index j = bj * tile; j < std::min(i, (bj + 1) * tile); ++j) a(j, i) = a(i, j);
      }
    }
  });
}

std::vector<double> column_dots(ConstMatrix a, ConstMatrix b) {
  constexpr Index stretch = 512;
  const auto cols = static_cast<std::size_t>(a.cols);
  Matrix<double> parts(ceil_div(a.rows, stretch), a.cols);
  parallel_rows(parts.rows(), stretch * a.cols, [&](Index first, Index end) {
    for (Index part = first; part < end; ++part) {
      double* sum = parts.row(part).data();
      for (Index i = part * stretch; i < std::min(a.rows, (part + 1) * stretch); ++i) {
        const double* left = a.row(i).data();
        const double* right = b.row(i).data();
        for (std::size_t k = 0; k < cols; ++k) sum[k] += left[k] * right[k];
      }
    }
  });
  std::vector<double> dots(cols, 0.0);
  for (Index part = 0; part < parts.rows(); ++part) {
    for (std::size_t k = 0; k < cols; ++k) dots[k] += parts.row(part)[k];
  }
  return dots;
}

Matrix<double> transposed(ConstMatrix a) {
  constexpr Index tile = 64;
  Matrix<double> t(a.cols, a.rows);
  parallel_for(ceil_div(a.cols, tile), [&](Index task) {
    const Index first = task * tile;
    const Index last = std::min(a.cols, first + tile);
    for (Index row = 0; row < a.rows; row += tile) {
      for (Index j = first; j < last; ++j) {
        for (Index i = row; i < std::min(a.rows, row + tile); ++i) t(j, i) = a(i, j);
      }
    }
  });
  return t;
}

template void gemm(bool, bool, float, MatrixView<const float>, MatrixView<const float>, float, MatrixView<float>);
template void gemm(bool, bool, double, MatrixView<const double>, MatrixView<const double>, double, MatrixView<double>);
template void accumulate_gram(MatrixView<const float>, MutMatrix);
template void accumulate_gram(MatrixView<const double>, MutMatrix);

}  // namespace mercer
