#if defined(__x86_64__)
#include <immintrin.h>

#include "backend/cpu/packed_kernel.hpp"

namespace mercer {
namespace {

struct Instruction {
  using Sum = float;
  using Register = __m512;
  static Register start(const Sum* /*from*/) { return _mm512_setzero_ps(); }
  static Register plus_products(Register sum, __m512i left, __m512i right) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(left), reinterpret_cast<__m512bh>(right));
  }
  static void add_to(Sum* target, Register sum) { _mm512_storeu_ps(target, _mm512_add_ps(_mm512_loadu_ps(target), sum)); }
};

#include "backend/cpu/packed_avx512.inc"

__m512i rounded(__m512 value) {
  const __m512i word = _mm512_castps_si512(value);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(word, 16), _mm512_set1_epi32(1));
  return _mm512_add_epi32(_mm512_add_epi32(word, _mm512_set1_epi32(0x7fff)), odd);
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
  return {pack<float>, pack<double>, nullptr, nullptr, nullptr, nullptr, multiply, nullptr, 1, 3, 256, 30};
}

}  // namespace mercer
#endif
