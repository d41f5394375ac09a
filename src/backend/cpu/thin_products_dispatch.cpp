#include "backend/backend.hpp"
#include "backend/cpu/thin_products.hpp"

namespace mercer {

template <class Real>
void thin_forward(MatrixView<const Real> a, MatrixView<const Real> v, MatrixView<Real> f) {
  switch (active_simd()) {
    case Simd::avx512:
      return simd_avx512::thin_forward(a.data, a.stride, a.rows, v.data, v.stride, v.rows, a.cols, f.data, f.stride);
    case Simd::avx2:
      return simd_avx2::thin_forward(a.data, a.stride, a.rows, v.data, v.stride, v.rows, a.cols, f.data, f.stride);
    case Simd::portable:
    case Simd::automatic:
      break;
  }
  simd_portable::thin_forward(a.data, a.stride, a.rows, v.data, v.stride, v.rows, a.cols, f.data, f.stride);
}

template <class Real>
void thin_adjoint(MatrixView<const Real> a, MatrixView<const Real> f, bool add, MatrixView<Real> s) {
  switch (active_simd()) {
    case Simd::avx512:
      return simd_avx512::thin_adjoint(a.data, a.stride, a.rows, f.data, f.stride, f.cols, a.cols, add, s.data, s.stride);
    case Simd::avx2:
      return simd_avx2::thin_adjoint(a.data, a.stride, a.rows, f.data, f.stride, f.cols, a.cols, add, s.data, s.stride);
    case Simd::portable:
    case Simd::automatic:
      break;
  }
  simd_portable::thin_adjoint(a.data, a.stride, a.rows, f.data, f.stride, f.cols, a.cols, add, s.data, s.stride);
}

template void thin_forward(MatrixView<const float>, MatrixView<const float>, MatrixView<float>);
template void thin_forward(MatrixView<const double>, MatrixView<const double>, MatrixView<double>);
template void thin_adjoint(MatrixView<const float>, MatrixView<const float>, bool, MatrixView<float>);
template void thin_adjoint(MatrixView<const double>, MatrixView<const double>, bool, MatrixView<double>);

}  // namespace mercer
