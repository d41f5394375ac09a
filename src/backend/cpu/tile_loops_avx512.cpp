#include "backend/cpu/tile_loops.hpp"

namespace mercer::simd_avx512 {
#include "backend/cpu/tile_loops.inc"
}  // namespace mercer::simd_avx512
