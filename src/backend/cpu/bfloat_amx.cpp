// Tiles of 16 × 16 floats, fed by 16 × 32 bfloat16: compiled with AMX alone enabled, entered only where the CPU has it and
// the kernel has let this process use it.
#if defined(__x86_64__)
#include <immintrin.h>

#include "backend/cpu/bfloat_kernel.hpp"

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

/// A tile wants one row per column of A with 16 pairs along k: every 16 lines are transposed.
void prepare(std::ptrdiff_t pairs, const std::uint32_t* panel, std::uint32_t* prepared) {
  for (std::ptrdiff_t k = 0; k < pairs; k += 16) {
    const std::uint32_t* from = panel + k * 16;
    std::uint32_t* to = prepared + k * 16;
    for (int r = 0; r < 16; ++r) {
      for (int s = 0; s < 16; ++s) to[r * 16 + s] = from[s * 16 + r];
    }
  }
}

void begin() {
  static const TileConfig config = full_tiles();
  _tile_loadconfig(&config);
}
void end() {
  _tile_release();
}

void multiply(std::ptrdiff_t pairs, const std::uint32_t* a, const std::uint32_t* b, std::ptrdiff_t panel_stride, int count,
              float* c, std::ptrdiff_t stride) {
  const std::ptrdiff_t row = stride * static_cast<std::ptrdiff_t>(sizeof(float));
  const std::ptrdiff_t next = panel_stride * 16;
  _tile_loadd(0, c, row);
  if (count > 1) _tile_loadd(1, c + 16, row);
  if (count > 2) _tile_loadd(2, c + 32, row);
  for (std::ptrdiff_t k = 0; k < pairs; k += 16) {
    _tile_loadd(3, a + k * 16, 64);
    _tile_loadd(4, b + k * 16, 64);
    _tile_dpbf16ps(0, 3, 4);
    if (count > 1) {
      _tile_loadd(5, b + next + k * 16, 64);
      _tile_dpbf16ps(1, 3, 5);
    }
    if (count > 2) {
      _tile_loadd(6, b + 2 * next + k * 16, 64);
      _tile_dpbf16ps(2, 3, 6);
    }
  }
  _tile_stored(0, c, row);
  if (count > 1) _tile_stored(1, c + 16, row);
  if (count > 2) _tile_stored(2, c + 32, row);
}

}  // namespace

BfloatKernel bfloat_amx() {
  BfloatKernel kernel = bfloat_avx512();  // every CPU with AMX has AVX-512
  kernel.begin = begin;
  kernel.end = end;
  kernel.prepare = prepare;
  kernel.multiply = multiply;
  return kernel;
}

}  // namespace mercer
#endif
