#pragma once
#include <cstddef>

namespace mercer {

/// A matrix that may be read in any direction: entry (i, j) is data[i·down + j·right].
template <class Real>
struct Reading {
  const Real* data;
  std::ptrdiff_t down;
  std::ptrdiff_t right;
  Reading from(std::ptrdiff_t i, std::ptrdiff_t j) const { return {data + i * down + j * right, down, right}; }
};

/// Rows of as many columns as fill whole vectors, `down` numbers apart.
template <class Real>
struct VectorRows {
  static constexpr std::ptrdiff_t multiple = 64 / static_cast<std::ptrdiff_t>(sizeof(Real));  ///< of which `cols` is one
  Real* data;
  std::ptrdiff_t down;
  std::ptrdiff_t cols;
  VectorRows from(std::ptrdiff_t i) const { return {data + i * down, down, cols}; }
};

/// C -= A B for `rows` rows of C and `count` of B, and C := T⁻¹C for a lower triangle T of `rows` rows, on the calling
/// thread. A number of A goes to all lanes of a vector, so that none have to be summed up. 2·rows·count·cols flops, or half
/// of it.
template <class Real>
void subtract_product(const Reading<Real>& a, std::ptrdiff_t rows, std::ptrdiff_t count, const VectorRows<Real>& b,
                      const VectorRows<Real>& c);
template <class Real>
void solve_triangle(const Reading<Real>& t, std::ptrdiff_t rows, const VectorRows<Real>& c);

}  // namespace mercer

/// One algorithm compiled three times with different instruction sets (side_by_side.inc).
namespace mercer::simd_portable {
void wide_product(const float* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, std::ptrdiff_t count, const float* b,
                  std::ptrdiff_t b_stride, std::ptrdiff_t cols, float* c, std::ptrdiff_t c_stride);
void wide_product(const double* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, std::ptrdiff_t count, const double* b,
                  std::ptrdiff_t b_stride, std::ptrdiff_t cols, double* c, std::ptrdiff_t c_stride);
void subtract_product(const float* a, std::ptrdiff_t a_down, std::ptrdiff_t a_right, std::ptrdiff_t rows,
                      std::ptrdiff_t count, const float* b, std::ptrdiff_t b_stride, std::ptrdiff_t cols, float* c,
                      std::ptrdiff_t c_stride);
void subtract_product(const double* a, std::ptrdiff_t a_down, std::ptrdiff_t a_right, std::ptrdiff_t rows,
                      std::ptrdiff_t count, const double* b, std::ptrdiff_t b_stride, std::ptrdiff_t cols, double* c,
                      std::ptrdiff_t c_stride);
void solve_triangle(const float* a, std::ptrdiff_t a_down, std::ptrdiff_t a_right, std::ptrdiff_t rows, std::ptrdiff_t cols,
                    float* c, std::ptrdiff_t c_stride);
void solve_triangle(const double* a, std::ptrdiff_t a_down, std::ptrdiff_t a_right, std::ptrdiff_t rows, std::ptrdiff_t cols,
                    double* c, std::ptrdiff_t c_stride);
}  // namespace mercer::simd_portable
namespace mercer::simd_avx2 {
void wide_product(const float* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, std::ptrdiff_t count, const float* b,
                  std::ptrdiff_t b_stride, std::ptrdiff_t cols, float* c, std::ptrdiff_t c_stride);
void wide_product(const double* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, std::ptrdiff_t count, const double* b,
                  std::ptrdiff_t b_stride, std::ptrdiff_t cols, double* c, std::ptrdiff_t c_stride);
void subtract_product(const float* a, std::ptrdiff_t a_down, std::ptrdiff_t a_right, std::ptrdiff_t rows,
                      std::ptrdiff_t count, const float* b, std::ptrdiff_t b_stride, std::ptrdiff_t cols, float* c,
                      std::ptrdiff_t c_stride);
void subtract_product(const double* a, std::ptrdiff_t a_down, std::ptrdiff_t a_right, std::ptrdiff_t rows,
                      std::ptrdiff_t count, const double* b, std::ptrdiff_t b_stride, std::ptrdiff_t cols, double* c,
                      std::ptrdiff_t c_stride);
void solve_triangle(const float* a, std::ptrdiff_t a_down, std::ptrdiff_t a_right, std::ptrdiff_t rows, std::ptrdiff_t cols,
                    float* c, std::ptrdiff_t c_stride);
void solve_triangle(const double* a, std::ptrdiff_t a_down, std::ptrdiff_t a_right, std::ptrdiff_t rows, std::ptrdiff_t cols,
                    double* c, std::ptrdiff_t c_stride);
}  // namespace mercer::simd_avx2
namespace mercer::simd_avx512 {
void wide_product(const float* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, std::ptrdiff_t count, const float* b,
                  std::ptrdiff_t b_stride, std::ptrdiff_t cols, float* c, std::ptrdiff_t c_stride);
void wide_product(const double* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, std::ptrdiff_t count, const double* b,
                  std::ptrdiff_t b_stride, std::ptrdiff_t cols, double* c, std::ptrdiff_t c_stride);
void subtract_product(const float* a, std::ptrdiff_t a_down, std::ptrdiff_t a_right, std::ptrdiff_t rows,
                      std::ptrdiff_t count, const float* b, std::ptrdiff_t b_stride, std::ptrdiff_t cols, float* c,
                      std::ptrdiff_t c_stride);
void subtract_product(const double* a, std::ptrdiff_t a_down, std::ptrdiff_t a_right, std::ptrdiff_t rows,
                      std::ptrdiff_t count, const double* b, std::ptrdiff_t b_stride, std::ptrdiff_t cols, double* c,
                      std::ptrdiff_t c_stride);
void solve_triangle(const float* a, std::ptrdiff_t a_down, std::ptrdiff_t a_right, std::ptrdiff_t rows, std::ptrdiff_t cols,
                    float* c, std::ptrdiff_t c_stride);
void solve_triangle(const double* a, std::ptrdiff_t a_down, std::ptrdiff_t a_right, std::ptrdiff_t rows, std::ptrdiff_t cols,
                    double* c, std::ptrdiff_t c_stride);
}  // namespace mercer::simd_avx512
