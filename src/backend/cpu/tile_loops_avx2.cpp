#include "backend/cpu/tile_loops.hpp"

namespace mercer::simd_avx2 {
#include "backend/cpu/tile_loops.inc"
}  // namespace mercer::simd_avx2
