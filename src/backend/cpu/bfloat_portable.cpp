#include <bit>

#include "backend/cpu/bfloat_kernel.hpp"

namespace mercer {
namespace {

float low(std::uint32_t pair) {
  return std::bit_cast<float>(pair << 16);
}
float high(std::uint32_t pair) {
  return std::bit_cast<float>(pair & 0xffff0000U);
}

void multiply(std::ptrdiff_t pairs, const BfloatPanels& left_panel, const BfloatPanels& right_panels, float* c,
              std::ptrdiff_t stride) {
  for (int j = 0; j < right_panels.count; ++j) {
    float sum[16][16] = {};
    for (std::ptrdiff_t k = 0; k < pairs; ++k) {
      const std::uint32_t* left = left_panel.data + k * 16;
      const std::uint32_t* right = right_panels.data + (j * right_panels.stride + k) * 16;
      for (int r = 0; r < 16; ++r) {
        for (int s = 0; s < 16; ++s) sum[r][s] += low(left[r]) * low(right[s]) + high(left[r]) * high(right[s]);
      }
    }
    for (int r = 0; r < 16; ++r) {
      for (int s = 0; s < 16; ++s) c[r * stride + 16 * j + s] += sum[r][s];
    }
  }
}

/// The upper half of a float, rounded to nearest even; features are finite.
std::uint32_t rounded(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  return word + 0x7fffU + ((word >> 16U) & 1U);
}

template <class Real>
void pack(std::ptrdiff_t panels, const Real* even, const Real* odd, std::uint32_t* out, std::ptrdiff_t panel_stride) {
  for (std::ptrdiff_t q = 0; q < panels; ++q) {
    for (std::ptrdiff_t k = 0; k < 16; ++k) {
      out[q * panel_stride * 16 + k] = (rounded(static_cast<float>(even[q * 16 + k])) >> 16U) |
                                       (rounded(static_cast<float>(odd[q * 16 + k])) & 0xffff0000U);
    }
  }
}

}  // namespace

BfloatKernel bfloat_portable() {
  return {pack<float>, pack<double>, nullptr, nullptr, nullptr, multiply, 1, 3, 256, 30};
}

}  // namespace mercer
