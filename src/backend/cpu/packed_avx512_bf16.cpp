#if defined(__x86_64__)
#include <immintrin.h>

#include "backend/cpu/packed_kernel.hpp"

namespace mercer {
namespace {

__m512bh bits(__m512i v) {
  return reinterpret_cast<__m512bh>(v);
}

/// 8 rows × `count` panels: 8·count accumulators, one broadcast and `count` fused dot products of pairs per row and line.
template <std::size_t count>
void eight_rows(std::ptrdiff_t lines, const std::uint32_t* a, const std::uint32_t* b, std::ptrdiff_t panel_stride, float* c,
                std::ptrdiff_t stride) {
  __m512 sum[8][count];
  for (int i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      sum[i][j] = _mm512_setzero_ps();
      _mm_prefetch(reinterpret_cast<const char*>(c + i * stride + static_cast<std::ptrdiff_t>(16 * j)), _MM_HINT_T0);
    }
  }
  for (std::ptrdiff_t k = 0; k < lines; ++k) {
    __m512i line[count];
    for (std::size_t j = 0; j < count; ++j)
      line[j] = _mm512_loadu_si512(b + (static_cast<std::ptrdiff_t>(j) * panel_stride + k) * 16);
    const std::uint32_t* column = a + k * 16;
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      const __m512i pair = _mm512_set1_epi32(static_cast<int>(column[i]));
#pragma GCC unroll 3
      for (std::size_t j = 0; j < count; ++j) sum[i][j] = _mm512_dpbf16_ps(sum[i][j], bits(pair), bits(line[j]));
    }
  }
  for (int i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      float* target = c + i * stride + static_cast<std::ptrdiff_t>(16 * j);
      _mm512_storeu_ps(target, _mm512_add_ps(_mm512_loadu_ps(target), sum[i][j]));
    }
  }
}

template <std::size_t count>
void sixteen_rows(std::ptrdiff_t lines, const std::uint32_t* a, const std::uint32_t* b, std::ptrdiff_t panel_stride,
                  float* c, std::ptrdiff_t stride) {
  eight_rows<count>(lines, a, b, panel_stride, c, stride);
  eight_rows<count>(lines, a + 8, b, panel_stride, c + 8 * stride, stride);
}

void multiply(std::ptrdiff_t lines, const Panels& left, const Panels& right, const float* /*start*/, float* c,
              std::ptrdiff_t stride) {
  if (right.count == 3) {
    sixteen_rows<3>(lines, left.data, right.data, right.stride, c, stride);
  } else if (right.count == 2) {
    sixteen_rows<2>(lines, left.data, right.data, right.stride, c, stride);
  } else {
    sixteen_rows<1>(lines, left.data, right.data, right.stride, c, stride);
  }
}

__m512i rounded(__m512 value) {
  const __m512i word = _mm512_castps_si512(value);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(word, 16), _mm512_set1_epi32(1));
  return _mm512_add_epi32(_mm512_add_epi32(word, _mm512_set1_epi32(0x7fff)), odd);
}

__m512 sixteen(const float* from) {
  return _mm512_loadu_ps(from);
}
__m512 sixteen(const double* from) {
  const __m256 low = _mm512_cvtpd_ps(_mm512_loadu_pd(from));
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), _mm512_cvtpd_ps(_mm512_loadu_pd(from + 8)), 1);
}

template <class Real>
void pack(std::ptrdiff_t panels, const Real* const* rows, const float* /*scales*/, std::uint32_t* out,
          std::ptrdiff_t panel_stride) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000U));
  for (std::ptrdiff_t q = 0; q < panels; ++q) {
    const __m512i low = _mm512_srli_epi32(rounded(sixteen(rows[0] + 16 * q)), 16);
    const __m512i high = _mm512_and_si512(rounded(sixteen(rows[1] + 16 * q)), upper);
    _mm512_storeu_si512(out + q * panel_stride * 16, _mm512_or_si512(low, high));
  }
}

}  // namespace

PackedKernel<float> bfloat_avx512() {
  // Three panels of B, 256 lines of them, stay in the first cache while the panels of A pass by; a tile of G in the second.
  return {pack<float>, pack<double>, nullptr, nullptr, nullptr, nullptr, multiply, 1, 3, 256, 30};
}

}  // namespace mercer
#endif
