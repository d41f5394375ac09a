#if defined(__x86_64__)
#include <immintrin.h>

#include "backend/cpu/packed_kernel.hpp"

// The instruction multiplies unsigned by signed bytes: panels on the left are prepared as q + 128, and every sum starts from
// -128·Σ of the column on the right.
namespace mercer {
namespace {

struct Instruction {
  using Sum = std::int32_t;
  using Register = __m512i;
  static Register start(const Sum* from) { return _mm512_loadu_si512(from); }
  /// sum + Σ of four products u·s in every lane. As an instruction by name, since GCC 12 surrounds the intrinsic by copies
  /// that cost half of the speed.
  static Register plus_products(Register sum, __m512i unsigned_bytes, __m512i signed_bytes) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(unsigned_bytes), "v"(signed_bytes));
    return sum;
  }
  static void add_to(Sum* target, Register sum) {
    _mm512_storeu_si512(target, _mm512_add_epi32(_mm512_loadu_si512(target), sum));
  }
};

#include "backend/cpu/packed_avx512.inc"

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
  return {pack<float>, pack<double>, nullptr, nullptr, prepare, offsets, multiply, nullptr, 1, 3, 256, 30};
}

}  // namespace mercer
#endif
