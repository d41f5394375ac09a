// Tiles of 16 × 16 sums, fed by 16 × 32 bfloat16 or 16 × 64 bytes: compiled with AMX enabled, entered only where the CPU has
// it and the kernel has let this process use it.
#if defined(__x86_64__)
#include <immintrin.h>

#include <type_traits>

#include "backend/cpu/packed_kernel.hpp"

namespace mercer {
namespace {

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

TileConfig full_tiles() {
  TileConfig config;
  for (int t = 0; t < 8; ++t) {
    config.row_bytes[t] = 64;
    config.rows[t] = 16;
  }
  return config;
}

#include "backend/cpu/split_pairs.inc"

/// 16 × 16 words, by four rounds of exchanges between 1, 2, 4 and 8 neighbours.
void transpose(const std::uint32_t* from, std::uint32_t* to) {
  __m512i a[16];
  __m512i b[16];
  for (std::ptrdiff_t r = 0; r < 16; ++r) a[r] = _mm512_loadu_si512(from + r * 16);
  for (std::ptrdiff_t r = 0; r < 16; r += 2) {
    b[r] = _mm512_unpacklo_epi32(a[r], a[r + 1]);
    b[r + 1] = _mm512_unpackhi_epi32(a[r], a[r + 1]);
  }
  for (std::ptrdiff_t r = 0; r < 16; r += 4) {  // a[r + s]: words s, 4 + s, 8 + s, 12 + s of lines r … r + 3
    a[r] = _mm512_unpacklo_epi64(b[r], b[r + 2]);
    a[r + 1] = _mm512_unpackhi_epi64(b[r], b[r + 2]);
    a[r + 2] = _mm512_unpacklo_epi64(b[r + 1], b[r + 3]);
    a[r + 3] = _mm512_unpackhi_epi64(b[r + 1], b[r + 3]);
  }
  for (std::ptrdiff_t s = 0; s < 4; ++s) {
    b[s] = _mm512_shuffle_i32x4(a[s], a[4 + s], 0x88);           // words s, 8 + s of lines 0 … 7
    b[4 + s] = _mm512_shuffle_i32x4(a[s], a[4 + s], 0xdd);       // words 4 + s, 12 + s
    b[8 + s] = _mm512_shuffle_i32x4(a[8 + s], a[12 + s], 0x88);  // of lines 8 … 15
    b[12 + s] = _mm512_shuffle_i32x4(a[8 + s], a[12 + s], 0xdd);
  }
  for (std::ptrdiff_t s = 0; s < 4; ++s) {
    _mm512_storeu_si512(to + s * 16, _mm512_shuffle_i32x4(b[s], b[8 + s], 0x88));
    _mm512_storeu_si512(to + (4 + s) * 16, _mm512_shuffle_i32x4(b[4 + s], b[12 + s], 0x88));
    _mm512_storeu_si512(to + (8 + s) * 16, _mm512_shuffle_i32x4(b[s], b[8 + s], 0xdd));
    _mm512_storeu_si512(to + (12 + s) * 16, _mm512_shuffle_i32x4(b[4 + s], b[12 + s], 0xdd));
  }
}

/// A tile wants one row per column of A with 16 words along k: every 16 lines are transposed.
void prepare(std::ptrdiff_t lines, const std::uint32_t* panel, std::uint32_t* prepared) {
  for (std::ptrdiff_t k = 0; k < lines; k += 16) transpose(panel + k * 16, prepared + k * 16);
}

/// The panel after this one is asked for: tiles come from memory, a page for every row or two, and took longer to split than
/// to multiply.
void split_rows(std::ptrdiff_t rows, std::ptrdiff_t steps, const float* l, std::ptrdiff_t stride, const std::uint32_t* keep,
                std::uint32_t sign, std::uint32_t* panel) {
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    const float* row = l + i * stride;
    std::uint32_t* high = panel + 16 * i;
    for (std::ptrdiff_t s = 0; s < steps; ++s, row += 32, high += 512) {
      _mm_prefetch(reinterpret_cast<const char*>(row + 16 * stride), _MM_HINT_T0);
      _mm_prefetch(reinterpret_cast<const char*>(row + 16 * stride + 16), _MM_HINT_T0);
      split_pairs(row, row + 16, keep + 32 * s, sign, high, high + 256);
    }
  }
}

void split_left(std::ptrdiff_t rows, std::ptrdiff_t steps, const float* l, std::ptrdiff_t stride, const std::uint32_t* keep,
                std::uint32_t* panel) {
  split_rows(rows, steps, l, stride, keep, minus, panel);
}

void split_right(std::ptrdiff_t rows, std::ptrdiff_t steps, const float* l, std::ptrdiff_t stride, const std::uint32_t* keep,
                 std::uint32_t* panel) {
  alignas(64) std::uint32_t across[2 * 256] = {};
  for (std::ptrdiff_t s = 0; s < steps; ++s, l += 32, keep += 32, panel += 512) {
    split_rows(rows, 1, l, stride, keep, plus, across);
    transpose(across, panel);
    transpose(across + 256, panel + 256);
  }
}

/// Tiles 0 to 3: two by two blocks of sums.
template <class Sum>
void load_four(const Sum* c, std::ptrdiff_t stride) {
  const auto row = static_cast<std::size_t>(stride) * sizeof(Sum);
  _tile_loadd(0, c, row);
  _tile_loadd(1, c + 16, row);
  _tile_loadd(2, c + 16 * stride, row);
  _tile_loadd(3, c + 16 * stride + 16, row);
}
template <class Sum>
void store_four(Sum* c, std::ptrdiff_t stride) {
  const auto row = static_cast<std::size_t>(stride) * sizeof(Sum);
  _tile_stored(0, c, row);
  _tile_stored(1, c + 16, row);
  _tile_stored(2, c + 16 * stride, row);
  _tile_stored(3, c + 16 * stride + 16, row);
}

/// Nine tiles are loaded for twelve products. All eight registers are in use, which was not compared with six as below.
void split_two_by_two(std::ptrdiff_t steps, const Panels& left, const Panels& right, float* c, std::ptrdiff_t stride) {
  const std::uint32_t* a = left.data;
  const std::uint32_t* b = right.data;
  const std::uint32_t* next_a = a + left.stride * 16;
  const std::uint32_t* next_b = b + right.stride * 16;
  load_four(c, stride);
  for (std::ptrdiff_t k = 0; k < steps * 512; k += 512) {
    const std::ptrdiff_t rest = k + 256;
    _tile_loadd(4, a + k, 64);
    _tile_loadd(5, b + k, 64);
    _tile_dpbf16ps(0, 4, 5);
    _tile_loadd(6, next_b + k, 64);
    _tile_dpbf16ps(1, 4, 6);
    _tile_loadd(7, next_a + k, 64);
    _tile_dpbf16ps(2, 7, 5);
    _tile_dpbf16ps(3, 7, 6);
    _tile_loadd(4, a + rest, 64);
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 6);
    _tile_loadd(4, next_a + rest, 64);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 6);
    _tile_loadd(5, b + rest, 64);
    _tile_dpbf16ps(2, 7, 5);
    _tile_loadd(6, next_b + rest, 64);
    _tile_dpbf16ps(3, 7, 6);
    _tile_loadd(4, a + k, 64);
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 6);
  }
  store_four(c, stride);
}

void split_one_by_one(std::ptrdiff_t steps, const std::uint32_t* a, const std::uint32_t* b, float* c,
                      std::ptrdiff_t stride) {
  const auto row = static_cast<std::size_t>(stride) * sizeof(float);
  _tile_loadd(0, c, row);
  for (std::ptrdiff_t k = 0; k < steps * 512; k += 512) {
    _tile_loadd(4, a + k, 64);
    _tile_loadd(5, b + k, 64);
    _tile_dpbf16ps(0, 4, 5);
    _tile_loadd(6, a + k + 256, 64);
    _tile_dpbf16ps(0, 6, 5);
    _tile_loadd(7, b + k + 256, 64);
    _tile_dpbf16ps(0, 4, 7);
  }
  _tile_stored(0, c, row);
}

void split_multiply(std::ptrdiff_t steps, const Panels& left, const Panels& right, float* c, std::ptrdiff_t stride) {
  if (left.count == 2 && right.count == 2) return split_two_by_two(steps, left, right, c, stride);
  for (std::ptrdiff_t i = 0; i < left.count; ++i) {
    for (std::ptrdiff_t j = 0; j < right.count; ++j)
      split_one_by_one(steps, left.data + i * left.stride * 16, right.data + j * right.stride * 16,
                       c + i * 16 * stride + j * 16, stride);
  }
}

void begin() {
  static const TileConfig config = full_tiles();
  _tile_loadconfig(&config);
}
void end() {
  _tile_release();
}

/// C tile `sum` += Aᵀ B. Tile numbers are part of the instruction.
#define MERCER_TILE_PRODUCT(sum, a, b)        \
  do {                                        \
    if constexpr (std::is_same_v<Sum, float>) \
      _tile_dpbf16ps(sum, a, b);              \
    else                                      \
      _tile_dpbssd(sum, a, b);                \
  } while (false)

/// Two panels by two: four sums stay in tiles while four tiles pass by. Six tiles are used of eight, although one of B is
/// loaded twice for it: with all eight, such loops ran at either of two speeds on a lent Xeon, a factor of four apart and
/// however little memory they read; with six, at 1.3 in place of 1.0 Top/s of int8 on each of sixteen threads. Why is not
/// known: perhaps loads ahead need a tile that is free.
template <class Sum>
void two_by_two(std::ptrdiff_t lines, const Panels& left, const Panels& right, Sum* c, std::ptrdiff_t stride) {
  const std::uint32_t* a = left.data;
  const std::uint32_t* b = right.data;
  const std::uint32_t* next_a = a + left.stride * 16;
  const std::uint32_t* next_b = b + right.stride * 16;
  load_four(c, stride);
  for (std::ptrdiff_t k = 0; k < lines * 16; k += 256) {
    _tile_loadd(4, a + k, 64);
    _tile_loadd(5, b + k, 64);
    MERCER_TILE_PRODUCT(0, 4, 5);
    _tile_loadd(5, next_b + k, 64);
    MERCER_TILE_PRODUCT(1, 4, 5);
    _tile_loadd(4, next_a + k, 64);
    MERCER_TILE_PRODUCT(3, 4, 5);
    _tile_loadd(5, b + k, 64);
    MERCER_TILE_PRODUCT(2, 4, 5);
  }
  store_four(c, stride);
}

template <class Sum>
void one_by_one(std::ptrdiff_t lines, const std::uint32_t* a, const std::uint32_t* b, Sum* c, std::ptrdiff_t stride) {
  const auto row = static_cast<std::size_t>(stride) * sizeof(Sum);
  _tile_loadd(0, c, row);
  for (std::ptrdiff_t k = 0; k < lines * 16; k += 256) {
    _tile_loadd(4, a + k, 64);
    _tile_loadd(5, b + k, 64);
    MERCER_TILE_PRODUCT(0, 4, 5);
  }
  _tile_stored(0, c, row);
}

template <class Sum>
void multiply(std::ptrdiff_t lines, const Panels& left, const Panels& right, const Sum* /*start*/, Sum* c,
              std::ptrdiff_t stride) {
  if (left.count == 2 && right.count == 2) return two_by_two<Sum>(lines, left, right, c, stride);
  for (std::ptrdiff_t i = 0; i < left.count; ++i) {
    for (std::ptrdiff_t j = 0; j < right.count; ++j) {
      one_by_one<Sum>(lines, left.data + i * left.stride * 16, right.data + j * right.stride * 16,
                      c + i * 16 * stride + j * 16, stride);
    }
  }
}

/// Every CPU with AMX packs by AVX-512.
template <class Sum>
PackedKernel<Sum> with_tiles(PackedKernel<Sum> kernel) {
  kernel.begin = begin;
  kernel.end = end;
  kernel.prepare = prepare;
  kernel.offsets = nullptr;
  kernel.multiply = multiply<Sum>;
  static constexpr SplitKernel split{split_left, split_right, split_multiply};
  if constexpr (std::is_same_v<Sum, float>) kernel.split = &split;
  kernel.most_left = kernel.most_right = 2;
  kernel.depth = 256;
  kernel.tile_panels = 18;
  return kernel;
}

}  // namespace

PackedKernel<float> bfloat_amx() {
  return with_tiles(bfloat_avx512());
}
PackedKernel<std::int32_t> byte_amx() {
  return with_tiles(byte_avx512());
}

}  // namespace mercer
#endif
