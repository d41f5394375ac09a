#include "backend/backend.hpp"
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

template void subtract_product(const Reading<float>&, std::ptrdiff_t, std::ptrdiff_t, const VectorRows<float>&,
                               const VectorRows<float>&);
template void subtract_product(const Reading<double>&, std::ptrdiff_t, std::ptrdiff_t, const VectorRows<double>&,
                               const VectorRows<double>&);
template void solve_triangle(const Reading<float>&, std::ptrdiff_t, const VectorRows<float>&);
template void solve_triangle(const Reading<double>&, std::ptrdiff_t, const VectorRows<double>&);

}  // namespace mercer
