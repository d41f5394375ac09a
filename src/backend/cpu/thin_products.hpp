#pragma once
#include <cstddef>

/// One algorithm compiled three times with different instruction sets (thin_products.inc).
namespace mercer::simd_portable {
void thin_forward(const float* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, const float* v, std::ptrdiff_t v_stride,
                  std::ptrdiff_t cols, std::ptrdiff_t m, float* f, std::ptrdiff_t f_stride);
void thin_forward(const double* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, const double* v, std::ptrdiff_t v_stride,
                  std::ptrdiff_t cols, std::ptrdiff_t m, double* f, std::ptrdiff_t f_stride);
void thin_adjoint(const float* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, const float* f, std::ptrdiff_t f_stride,
                  std::ptrdiff_t cols, std::ptrdiff_t m, bool add, float* s, std::ptrdiff_t s_stride);
void thin_adjoint(const double* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, const double* f, std::ptrdiff_t f_stride,
                  std::ptrdiff_t cols, std::ptrdiff_t m, bool add, double* s, std::ptrdiff_t s_stride);
}  // namespace mercer::simd_portable
namespace mercer::simd_avx2 {
void thin_forward(const float* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, const float* v, std::ptrdiff_t v_stride,
                  std::ptrdiff_t cols, std::ptrdiff_t m, float* f, std::ptrdiff_t f_stride);
void thin_forward(const double* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, const double* v, std::ptrdiff_t v_stride,
                  std::ptrdiff_t cols, std::ptrdiff_t m, double* f, std::ptrdiff_t f_stride);
void thin_adjoint(const float* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, const float* f, std::ptrdiff_t f_stride,
                  std::ptrdiff_t cols, std::ptrdiff_t m, bool add, float* s, std::ptrdiff_t s_stride);
void thin_adjoint(const double* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, const double* f, std::ptrdiff_t f_stride,
                  std::ptrdiff_t cols, std::ptrdiff_t m, bool add, double* s, std::ptrdiff_t s_stride);
}  // namespace mercer::simd_avx2
namespace mercer::simd_avx512 {
void thin_forward(const float* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, const float* v, std::ptrdiff_t v_stride,
                  std::ptrdiff_t cols, std::ptrdiff_t m, float* f, std::ptrdiff_t f_stride);
void thin_forward(const double* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, const double* v, std::ptrdiff_t v_stride,
                  std::ptrdiff_t cols, std::ptrdiff_t m, double* f, std::ptrdiff_t f_stride);
void thin_adjoint(const float* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, const float* f, std::ptrdiff_t f_stride,
                  std::ptrdiff_t cols, std::ptrdiff_t m, bool add, float* s, std::ptrdiff_t s_stride);
void thin_adjoint(const double* a, std::ptrdiff_t a_stride, std::ptrdiff_t rows, const double* f, std::ptrdiff_t f_stride,
                  std::ptrdiff_t cols, std::ptrdiff_t m, bool add, double* s, std::ptrdiff_t s_stride);
}  // namespace mercer::simd_avx512
