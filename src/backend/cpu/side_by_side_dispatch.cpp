#include <algorithm>

#include "backend/backend.hpp"
#include "backend/cpu/cpu.hpp"
#include "backend/cpu/side_by_side.hpp"

namespace mercer {

template <class Real>
void subtract_product(const Reading<Real>& a, std::ptrdiff_t rows, std::ptrdiff_t count, const VectorRows<Real>& b,
                      const VectorRows<Real>& c) {
  switch (active_simd()) {
    case Simd::avx512:
      return simd_avx512::subtract_product(a.data, a.down, a.right, rows, count, b.data, b.down, b.cols, c.data, c.down);
    case Simd::avx2:
      return simd_avx2::subtract_product(a.data, a.down, a.right, rows, count, b.data, b.down, b.cols, c.data, c.down);
    case Simd::portable:
    case Simd::automatic:
      break;
  }
  simd_portable::subtract_product(a.data, a.down, a.right, rows, count, b.data, b.down, b.cols, c.data, c.down);
}

template <class Real>
void solve_triangle(const Reading<Real>& t, std::ptrdiff_t rows, const VectorRows<Real>& c) {
  switch (active_simd()) {
    case Simd::avx512:
      return simd_avx512::solve_triangle(t.data, t.down, t.right, rows, c.cols, c.data, c.down);
    case Simd::avx2:
      return simd_avx2::solve_triangle(t.data, t.down, t.right, rows, c.cols, c.data, c.down);
    case Simd::portable:
    case Simd::automatic:
      break;
  }
  simd_portable::solve_triangle(t.data, t.down, t.right, rows, c.cols, c.data, c.down);
}

namespace {

/// How many columns lie side by side, filled up where only a sixth of the vectors would be empty. A number of A that meets
/// only one vector is a load for every multiply-add: where that is too many, dots of rows and columns need less than half of
/// them (16 columns of floats on sixteen threads of a Xeon: 81 in place of 64 GF/s; on AMD 94 in place of 107).
template <class Real>
Index columns_beside(Index columns) {
  static const bool ample_loads = cpu_features().ample_loads;
  const Index vectors = active_simd() == Simd::avx512 && !ample_loads ? 2 : 1;
  const Index multiple = vectors * VectorRows<Real>::multiple;
  const Index full = (columns + multiple - 1) / multiple * multiple;
  return 6 * columns >= 5 * full ? columns : columns / multiple * multiple;
}

template <class Real>
void wide_product(MatrixView<const Real> a, MatrixView<const Real> b, MatrixView<Real> c) {
  switch (active_simd()) {
    case Simd::avx512:
      return simd_avx512::wide_product(a.data, a.stride, a.rows, a.cols, b.data, b.stride, b.cols, c.data, c.stride);
    case Simd::avx2:
      return simd_avx2::wide_product(a.data, a.stride, a.rows, a.cols, b.data, b.stride, b.cols, c.data, c.stride);
    case Simd::portable:
    case Simd::automatic:
      break;
  }
  simd_portable::wide_product(a.data, a.stride, a.rows, a.cols, b.data, b.stride, b.cols, c.data, c.stride);
}

}  // namespace

template <class Real>
ThinWeights<Real>::ThinWeights(ConstMatrix w) : columns_(w.cols) {
  constexpr Index multiple = VectorRows<Real>::multiple;
  const Index beside = columns_beside<Real>(w.cols);
  beside_ = Matrix<Real>(w.rows, (beside + multiple - 1) / multiple * multiple);
  others_ = Matrix<Real>(w.cols - beside, w.rows);
  for (Index c = 0; c < w.rows; ++c) {
    for (Index k = 0; k < beside; ++k) beside_(c, k) = static_cast<Real>(w(c, k));
    for (Index k = beside; k < w.cols; ++k) others_(k - beside, c) = static_cast<Real>(w(c, k));
  }
}

template <class Real>
void ThinWeights<Real>::forward(MatrixView<const Real> a, MatrixView<Real> f) const {
  const Index beside = columns_ - others_.rows();
  if (beside > 0) {
    thread_local Matrix<Real> sums;
    if (sums.rows() < a.rows || sums.cols() != beside_.cols()) sums = Matrix<Real>(a.rows, beside_.cols());
    wide_product<Real>(a, beside_, sums);
    for (Index i = 0; i < a.rows; ++i) std::copy_n(sums.row(i).begin(), beside, f.row(i).begin());
  }
  if (others_.rows() > 0) thin_forward<Real>(a, others_, f.col_range(beside, others_.rows()));
}

template class ThinWeights<float>;
template class ThinWeights<double>;
template void subtract_product(const Reading<float>&, std::ptrdiff_t, std::ptrdiff_t, const VectorRows<float>&,
                               const VectorRows<float>&);
template void subtract_product(const Reading<double>&, std::ptrdiff_t, std::ptrdiff_t, const VectorRows<double>&,
                               const VectorRows<double>&);
template void solve_triangle(const Reading<float>&, std::ptrdiff_t, const VectorRows<float>&);
template void solve_triangle(const Reading<double>&, std::ptrdiff_t, const VectorRows<double>&);

}  // namespace mercer
