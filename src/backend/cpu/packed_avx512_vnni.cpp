#if defined(__x86_64__)
#include <immintrin.h>

#include "backend/cpu/packed_kernel.hpp"

// The instruction multiplies unsigned by signed bytes: panels on the left are prepared as q + 128, and every sum starts from
// -128·Σ of the column on the right.
namespace mercer {
namespace {

/// sum + Σ of four products u·s in every lane. As an instruction by name, since GCC 12 surrounds the intrinsic by copies
/// that cost half of the speed.
[[gnu::always_inline]] inline __m512i plus_products(__m512i sum, __m512i unsigned_bytes, __m512i signed_bytes) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(unsigned_bytes), "v"(signed_bytes));
  return sum;
}

/// 8 rows × `count` panels: 8·count accumulators, one broadcast and `count` dot products of four bytes per row and line.
template <std::size_t count>
void eight_rows(std::ptrdiff_t lines, const std::uint32_t* a, const std::uint32_t* b, std::ptrdiff_t panel_stride,
                const std::int32_t* start, std::int32_t* c, std::ptrdiff_t stride) {
  __m512i sum[8][count];
  for (int i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      sum[i][j] = _mm512_loadu_si512(start + 16 * j);
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
      const __m512i four = _mm512_set1_epi32(static_cast<int>(column[i]));
#pragma GCC unroll 3
      for (std::size_t j = 0; j < count; ++j) sum[i][j] = plus_products(sum[i][j], four, line[j]);
    }
  }
  for (int i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      std::int32_t* target = c + i * stride + static_cast<std::ptrdiff_t>(16 * j);
      _mm512_storeu_si512(target, _mm512_add_epi32(_mm512_loadu_si512(target), sum[i][j]));
    }
  }
}

template <std::size_t count>
void sixteen_rows(std::ptrdiff_t lines, const Panels& left, const Panels& right, const std::int32_t* start, std::int32_t* c,
                  std::ptrdiff_t stride) {
  eight_rows<count>(lines, left.data, right.data, right.stride, start, c, stride);
  eight_rows<count>(lines, left.data + 8, right.data, right.stride, start, c + 8 * stride, stride);
}

void multiply(std::ptrdiff_t lines, const Panels& left, const Panels& right, const std::int32_t* start, std::int32_t* c,
              std::ptrdiff_t stride) {
  if (right.count == 3) {
    sixteen_rows<3>(lines, left, right, start, c, stride);
  } else if (right.count == 2) {
    sixteen_rows<2>(lines, left, right, start, c, stride);
  } else {
    sixteen_rows<1>(lines, left, right, start, c, stride);
  }
}

void prepare(std::ptrdiff_t lines, const std::uint32_t* panel, std::uint32_t* prepared) {
  const __m512i shift = _mm512_set1_epi32(static_cast<int>(0x80808080U));
  for (std::ptrdiff_t k = 0; k < lines * 16; k += 16)
    _mm512_storeu_si512(prepared + k, _mm512_xor_si512(_mm512_loadu_si512(panel + k), shift));
}

void offsets(std::ptrdiff_t lines, const Panels& right, std::int32_t* start) {
  const __m512i shift = _mm512_set1_epi32(static_cast<int>(0x80808080U));
  for (int j = 0; j < right.count; ++j) {
    __m512i sum = _mm512_setzero_si512();
    for (std::ptrdiff_t k = 0; k < lines; ++k)
      sum = _mm512_dpbusd_epi32(sum, shift, _mm512_loadu_si512(right.data + (j * right.stride + k) * 16));
    _mm512_storeu_si512(start + std::ptrdiff_t{16} * j, _mm512_sub_epi32(_mm512_setzero_si512(), sum));
  }
}

__m512 sixteen(const float* from) {
  return _mm512_loadu_ps(from);
}
__m512 sixteen(const double* from) {
  const __m256 low = _mm512_cvtpd_ps(_mm512_loadu_pd(from));
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), _mm512_cvtpd_ps(_mm512_loadu_pd(from + 8)), 1);
}

template <class Real>
void pack(std::ptrdiff_t panels, const Real* const* rows, const float* scales, std::uint32_t* out,
          std::ptrdiff_t panel_stride) {
  const __m512i last_byte = _mm512_set1_epi32(0xff);
  for (std::ptrdiff_t q = 0; q < panels; ++q) {
    const __m512 scale = _mm512_loadu_ps(scales + 16 * q);
    __m512i word = _mm512_setzero_si512();
    for (int r = 3; r >= 0; --r) {
      const __m512i value = _mm512_cvtps_epi32(_mm512_mul_ps(sixteen(rows[r] + 16 * q), scale));
      word = _mm512_or_si512(_mm512_slli_epi32(word, 8), _mm512_and_si512(value, last_byte));
    }
    _mm512_storeu_si512(out + q * panel_stride * 16, word);
  }
}

}  // namespace

PackedKernel<std::int32_t> byte_avx512() {
  // Three panels of B, 256 lines of them, stay in the first cache while the panels of A pass by; a tile of G in the second.
  return {pack<float>, pack<double>, nullptr, nullptr, prepare, offsets, multiply, 1, 3, 256, 30};
}

}  // namespace mercer
#endif
