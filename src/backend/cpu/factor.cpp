#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "backend/backend.hpp"
#include "backend/cpu/blas.hpp"
#include "backend/packed_rows.hpp"
#include "base/checked.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"

namespace mercer {
namespace {

constexpr Index block = 256;

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

/// The factor of a diagonal block, and what it makes of the rows below.
template <class Real>
class Diagonal {
 public:
  explicit Diagonal(MatrixView<Real> a) : l_(a) {}
  Index factor() { return factor_block<Real>(l_); }  ///< as cholesky
  void solve(MatrixView<Real> x) const { solve_rows<Real>(l_, x); }

 private:
  MatrixView<Real> l_;
};

/// The same in small blocks, whose inverses multiply what is below: OpenBLAS solves with floats at a tenth of the rate at
/// which it multiplies (38 of 300 GF/s on two cores of a Xeon with AMX, where it made a sixth of split_cholesky; no
/// difference on AMD). Products with an inverse are less precise than solves by the condition number of the small block: a
/// test with a penalty of 5e-8 found that out, so precise factors do without, and small blocks where it could move A by more
/// than `harmless` are solved with.
class InvertedDiagonal {
 public:
  InvertedDiagonal(MatrixView<float> a, double harmless) : l_(a), harmless_(harmless) {}
  Index factor() {
    for (Index first = 0; first < l_.rows; first += small) {
      const Index width = std::min(small, l_.rows - first);
      const MatrixView<float> rows = l_.row_range(first, width);
      const MatrixView<float> corner = rows.col_range(first, width);
      if (first > 0) subtract_square<float>(rows.col_range(0, first), corner);
      if (const Index failed = factor_block<float>(corner); failed >= 0) return first + failed;
      invert(corner, first);
      const Index below = first + width;
      solve_columns(first, l_.row_range(below, l_.rows - below));
    }
    return -1;
  }
  void solve(MatrixView<float> x) const {
    for (Index first = 0; first < l_.rows; first += small) solve_columns(first, x);
  }

 private:
  static constexpr Index small = 64;

  /// Rounding by 2⁻²⁴ of X = AL⁻ᵀ moves A = XLᵀ by 2⁻²⁴‖A‖‖L⁻¹‖‖L‖; what is below is taken to be as large as the diagonal
  /// of the block, Σ_j l_ij² at most.
  void invert(MatrixView<const float> corner, Index first) {
    const MatrixView<float> inverse = inverse_.view().row_range(first, corner.rows).col_range(0, corner.rows);
    for (Index i = 0; i < inverse.rows; ++i) inverse(i, i) = 1;
    solve_rows<float>(corner, inverse);
    double inverse_square = 0;
    double square = 0;
    double largest = 0;
    for (Index i = 0; i < inverse.rows; ++i) {
      double row = 0;
      for (Index j = 0; j < inverse.rows; ++j) inverse_square += std::pow(static_cast<double>(inverse(i, j)), 2);
      for (Index j = 0; j <= i; ++j) row += std::pow(static_cast<double>(corner(i, j)), 2);
      square += row;
      largest = std::max(largest, row);
    }
    inverted_.at(static_cast<std::size_t>(first / small)) =
        0x1p-24 * std::sqrt(inverse_square * square) * largest <= harmless_;
  }

  /// The columns of a small block, given those before them.
  void solve_columns(Index first, MatrixView<float> x) const {
    if (x.rows == 0) return;
    const Index width = std::min(small, l_.rows - first);
    const MatrixView<float> target = x.col_range(first, width);
    if (first > 0) {
      gemm<float>(false, true, -1.0F, x.col_range(0, first), l_.row_range(first, width).col_range(0, first), 1.0F, target);
    }
    if (!inverted_.at(static_cast<std::size_t>(first / small))) {
      solve_rows<float>(l_.row_range(first, width).col_range(first, width), target);
      return;
    }
    thread_local Matrix<float> right(block, small);
    const MatrixView<float> copy = right.view().row_range(0, x.rows).col_range(0, width);
    for (Index i = 0; i < x.rows; ++i) std::ranges::copy(target.row(i), copy.row(i).begin());
    gemm<float>(false, false, 1.0F, copy, inverse_.view().row_range(first, width).col_range(0, width), 0.0F, target);
  }

  MatrixView<float> l_;
  double harmless_;
  Matrix<float> inverse_{block, small};  ///< L⁻ᵀ of every small block, one below the other
  std::array<bool, block / small> inverted_{};
};

/// Rows of A from `first` on, in panels of a block each.
Index panel_count(Index rows, Index first) {
  return (rows - first + block - 1) / block;
}

/// Takes columns k, …, k + width - 1 of the factor off those that follow, as far as `end`: a whole number of blocks, or the
/// last column.
template <class Real>
void take_off(MatrixView<Real> a, Index k, Index width, Index end) {
  const Index n = a.rows;
  const Index below = k + width;
  const auto panel = [&](Index i) {
    const Index row = below + i * block;
    return a.row_range(row, std::min(block, n - row)).col_range(k, width);
  };
  // Tiles (i, j) of a triangle, and under it those of a rectangle.
  const Index across = panel_count(end, below);
  const Index triangle = across * (across + 1) / 2;
  parallel_for(triangle + (panel_count(n, below) - across) * across, [&](Index task) {
    const auto [i, j] = task < triangle ? triangle_tile(task)
                                        : TriangleTile{across + (task - triangle) / across, (task - triangle) % across};
    const MatrixView<Real> pi = panel(i);
    const MatrixView<Real> pj = panel(j);
    const MatrixView<Real> target = a.row_range(below + i * block, pi.rows).col_range(below + j * block, pj.rows);
    if (i != j) {
      gemm<Real>(false, true, Real(-1), pi, pj, Real(1), target);
      return;
    }
    subtract_square<Real>(pi, target);
  });
}

/// Factors the columns of A from `first` to `end`, given that those before them have been taken off. Returns as cholesky.
template <class Real, class Block = Diagonal<Real>, class... Rest>
Index factor_columns(MatrixView<Real> a, Index first, Index end, Rest... rest) {
  const Index n = a.rows;
  for (Index k = first; k < end; k += block) {
    check_stop();
    const Index width = std::min(block, n - k);
    Block diagonal(a.row_range(k, width).col_range(k, width), rest...);
    if (const Index failed = diagonal.factor(); failed >= 0) return k + failed;
    const Index below = k + width;
    parallel_for(panel_count(n, below), [&](Index i) {
      const Index row = below + i * block;
      diagonal.solve(a.row_range(row, std::min(block, n - row)).col_range(k, width));
    });
    take_off<Real>(a, k, width, end);
  }
  return -1;
}

/// The spectral norm of what LLᵀ is off by when every product of two numbers is off by some 2⁻¹⁸ of itself at random: twice
/// the root of the rows times that of the mean square, Σ_k (Σ_i l_ik²)²/rows².
double split_noise(MatrixView<const float> l) {
  const Index tasks = panel_count(l.rows, 0);
  Matrix<float> squares(tasks, l.cols);
  parallel_for(tasks, [&](Index task) {
    float* sum = squares.row(task).data();
    for (Index i = task * block; i < std::min(l.rows, (task + 1) * block); ++i) {
      const float* row = l.row(i).data();
      for (Index k = 0; k < l.cols; ++k) sum[k] += row[k] * row[k];
    }
  });
  double sum = 0;
  for (Index k = 0; k < l.cols; ++k) {
    double square = 0;
    for (Index task = 0; task < tasks; ++task) square += static_cast<double>(squares(task, k));
    sum += square * square;
  }
  return 0x1p-17 * std::sqrt(sum / static_cast<double>(l.rows));
}

/// Decompositions that nobody waits for any more. The process must not end under them: OpenBLAS frees its buffers at exit.
class Abandoned {
 public:
  ~Abandoned() {
    while (count_.load() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  void begin() { ++count_; }
  void end() { --count_; }

 private:
  std::atomic<int> count_{0};
};
Abandoned& abandoned() {
  static Abandoned instance;
  return instance;
}

/// dsyevd on result.vectors (the matrix, overwritten by its eigenvectors).
void decompose(Eigen& result, int lwork, int liwork) {
  const int n = static_cast<int>(result.vectors.rows());
  std::vector<double> work(static_cast<std::size_t>(lwork));
  std::vector<int> iwork(static_cast<std::size_t>(liwork));
  int info = 0;
  blas().dsyevd("V", "U", &n, result.vectors.data(), &n, result.values.data(), work.data(), &lwork, iwork.data(), &liwork,
                &info);
  if (info != 0) fail_internal("the eigendecomposition did not converge (LAPACK dsyevd info " + std::to_string(info) + ")");
}

}  // namespace

Index cholesky(MutMatrix a) {
  return factor_columns<double>(a, 0, a.rows);
}
Index cholesky(MatrixView<float> a) {
  return factor_columns<float>(a, 0, a.rows);
}

Index split_cholesky(MatrixView<float> a, double harmless) {
  constexpr Index depth = 2 * block;  // the fewer updates, the less often all of A is read and written
  const Index n = a.rows;
  SplitUpdate update(std::max<Index>(0, n - depth), depth);
  for (Index k = 0; k < n; k += depth) {
    const Index end = std::min(n, k + depth);
    if (const Index failed = factor_columns<float, InvertedDiagonal>(a, k, end, harmless); failed >= 0) return failed;
    if (end == n) break;
    const MatrixView<float> below = a.row_range(end, n - end);
    const MatrixView<const float> l = below.col_range(k, depth);
    if (split_noise(l) <= harmless) {
      update.subtract(l, below.col_range(end, n - end));
    } else {
      take_off<float>(a, k, depth, n);
    }
  }
  for (Index i = 0; i < n; ++i) {
    constexpr Index written = 48;  // above the diagonal, by updates
    const Index first = i + 1;
    std::ranges::fill_n(a.row(i).begin() + first, std::min(written, n - first), 0.0F);
  }
  return -1;
}

Eigen eigh(ConstMatrix a) {
  constexpr Index largest = 32766;  // 2n² + 6n + 1 doubles of workspace, counted in 32-bit integers
  if (a.rows > largest)
    fail_argument("an eigendecomposition of size " + std::to_string(a.rows) + " is beyond LAPACK's reach");
  Eigen result;
  result.values.resize(static_cast<std::size_t>(a.rows));
  result.vectors = Matrix<double>(a);
  if (a.rows == 0) return result;
  const int n = static_cast<int>(a.rows);
  const int query = -1;
  int info = 0;
  double work_size = 0;
  int iwork_size = 0;
  // Row-major lower is column-major upper; the columns LAPACK returns are our rows.
  blas().dsyevd("V", "U", &n, result.vectors.data(), &n, result.values.data(), &work_size, &query, &iwork_size, &query,
                &info);
  constexpr Index quick = 400;  // well below a second
  if (a.rows <= quick) {
    decompose(result, static_cast<int>(work_size), iwork_size);
    return result;
  }
  // LAPACK cannot be interrupted: it works on a thread of its own, and a stop leaves it to finish with its own copy,
  // unheard.
  struct Shared {
    Eigen eigen;
    std::exception_ptr failure;
    std::mutex mutex;
    std::condition_variable done_changed;
    bool done = false;
  };
  const auto shared = std::make_shared<Shared>();
  shared->eigen = std::move(result);
  abandoned().begin();
  const auto work = [shared, work_size, iwork_size] {
    std::exception_ptr failure;
    try {
      decompose(shared->eigen, static_cast<int>(work_size), iwork_size);
    } catch (...) {
      failure = std::current_exception();
    }
    {
      const std::scoped_lock lock(shared->mutex);
      shared->failure = failure;
      shared->done = true;
      shared->done_changed.notify_all();
    }
    abandoned().end();
  };
  try {
    std::thread(work).detach();
  } catch (const std::system_error&) {  // no thread to be had: do it here, deaf to stops
    work();
  }
  std::unique_lock lock(shared->mutex);
  while (!shared->done) {
    shared->done_changed.wait_for(lock, std::chrono::milliseconds(50));
    if (!shared->done) check_stop();
  }
  if (shared->failure) std::rethrow_exception(shared->failure);
  return std::move(shared->eigen);
}

}  // namespace mercer
