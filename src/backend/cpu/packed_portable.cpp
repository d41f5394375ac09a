#include <bit>
#include <cmath>

#include "backend/cpu/packed_kernel.hpp"

namespace mercer {
namespace {

float low(std::uint32_t pair) {
  return std::bit_cast<float>(pair << 16);
}
float high(std::uint32_t pair) {
  return std::bit_cast<float>(pair & 0xffff0000U);
}
std::int32_t byte(std::uint32_t word, unsigned k) {
  return static_cast<std::int8_t>(static_cast<std::uint8_t>(word >> (8 * k)));
}

void add_product(std::uint32_t a, std::uint32_t b, float& sum) {
  sum += low(a) * low(b) + high(a) * high(b);
}
void add_product(std::uint32_t a, std::uint32_t b, std::int32_t& sum) {
  for (unsigned k = 0; k < 4; ++k) sum += byte(a, k) * byte(b, k);
}

template <class Sum>
void multiply(std::ptrdiff_t lines, const Panels& left_panel, const Panels& right_panels, const Sum* /*start*/, Sum* c,
              std::ptrdiff_t stride) {
  for (int j = 0; j < right_panels.count; ++j) {
    Sum sum[16][16] = {};
    for (std::ptrdiff_t k = 0; k < lines; ++k) {
      const std::uint32_t* left = left_panel.data + k * 16;
      const std::uint32_t* right = right_panels.data + (j * right_panels.stride + k) * 16;
      for (int r = 0; r < 16; ++r) {
        for (int s = 0; s < 16; ++s) add_product(left[r], right[s], sum[r][s]);
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
void pack_pairs(std::ptrdiff_t panels, const Real* const* rows, const float* /*scales*/, std::uint32_t* out,
                std::ptrdiff_t panel_stride) {
  for (std::ptrdiff_t q = 0; q < panels; ++q) {
    for (std::ptrdiff_t k = 0; k < 16; ++k) {
      out[q * panel_stride * 16 + k] = (rounded(static_cast<float>(rows[0][q * 16 + k])) >> 16U) |
                                       (rounded(static_cast<float>(rows[1][q * 16 + k])) & 0xffff0000U);
    }
  }
}

template <class Real>
void pack_bytes(std::ptrdiff_t panels, const Real* const* rows, const float* scales, std::uint32_t* out,
                std::ptrdiff_t panel_stride) {
  for (std::ptrdiff_t q = 0; q < panels; ++q) {
    for (std::ptrdiff_t k = 0; k < 16; ++k) {
      std::uint32_t word = 0;
      for (unsigned r = 0; r < 4; ++r) {
        // Not a number counts as 0: whoever looks at features finds it (RowOperator::single_unit).
        const float scaled = static_cast<float>(rows[r][q * 16 + k]) * scales[q * 16 + k];
        const auto value = std::isnan(scaled) ? 0 : static_cast<std::int32_t>(std::nearbyint(scaled));
        word |= (static_cast<std::uint32_t>(value) & 0xffU) << (8 * r);
      }
      out[q * panel_stride * 16 + k] = word;
    }
  }
}

}  // namespace

PackedKernel<float> bfloat_portable() {
  return {
      pack_pairs<float>, pack_pairs<double>, nullptr, nullptr, nullptr, nullptr, multiply<float>, nullptr, 1, 3, 256, 30};
}

PackedKernel<std::int32_t> byte_portable() {
  return {pack_bytes<float>,
          pack_bytes<double>,
          nullptr,
          nullptr,
          nullptr,
          nullptr,
          multiply<std::int32_t>,
          nullptr,
          1,
          3,
          256,
          30};
}

}  // namespace mercer
