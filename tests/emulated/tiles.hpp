#pragma once
// AMX by loops, in place of its intrinsics: files that multiply tiles are compiled with this header before them, and run on
// CPUs without tiles (there they are right or wrong all the same). Vectors are those of the CPU.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mercer::emulated {

constexpr int side = 16;
constexpr std::size_t line = side * sizeof(std::uint32_t);

/// Sums, or words of two bfloat16 or four bytes.
struct Tile {
  alignas(64) std::uint32_t words[side][side];
};
inline thread_local Tile tiles[8];

inline float as_float(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline void load(int t, const void* from, std::size_t stride) {
  for (int r = 0; r < side; ++r) std::memcpy(tiles[t].words[r], static_cast<const char*>(from) + r * stride, line);
}
inline void store(int t, void* to, std::size_t stride) {
  for (int r = 0; r < side; ++r) std::memcpy(static_cast<char*>(to) + r * stride, tiles[t].words[r], line);
}
inline void zero(int t) {
  std::memset(&tiles[t], 0, sizeof(Tile));
}

/// C (m, n) += Σ_k, for every word of A (m, k) and B (k, n), the products of their numbers.
template <class Sum, class Products>
void multiply(int c, int a, int b, const Products& products) {
  for (int m = 0; m < side; ++m) {
    Sum sums[side];
    std::memcpy(sums, tiles[c].words[m], line);
    for (int k = 0; k < side; ++k) {
      for (int n = 0; n < side; ++n) sums[n] += products(tiles[a].words[m][k], tiles[b].words[k][n]);
    }
    std::memcpy(tiles[c].words[m], sums, line);
  }
}
inline void multiply_bfloats(int c, int a, int b) {
  multiply<float>(c, a, b, [](std::uint32_t x, std::uint32_t y) {
    return as_float(x << 16U) * as_float(y << 16U) + as_float(x & 0xffff0000U) * as_float(y & 0xffff0000U);
  });
}
inline void multiply_bytes(int c, int a, int b) {
  multiply<std::int32_t>(c, a, b, [](std::uint32_t x, std::uint32_t y) {
    std::int32_t sum = 0;
    for (unsigned byte = 0; byte < 32; byte += 8)
      sum += static_cast<std::int8_t>(x >> byte & 0xffU) * static_cast<std::int8_t>(y >> byte & 0xffU);
    return sum;
  });
}

}  // namespace mercer::emulated

#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbf16ps
#undef _tile_dpbssd
#define _tile_loadd(tile, from, stride) mercer::emulated::load(tile, from, stride)
#define _tile_stored(tile, to, stride) mercer::emulated::store(tile, to, stride)
#define _tile_zero(tile) mercer::emulated::zero(tile)
#define _tile_dpbf16ps(c, a, b) mercer::emulated::multiply_bfloats(c, a, b)
#define _tile_dpbssd(c, a, b) mercer::emulated::multiply_bytes(c, a, b)
#define _tile_loadconfig(config) static_cast<void>(config)
#define _tile_release() static_cast<void>(0)
