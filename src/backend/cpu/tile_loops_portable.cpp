#include "backend/cpu/tile_loops.hpp"

namespace mercer::simd_portable {
#include "backend/cpu/tile_loops.inc"
}  // namespace mercer::simd_portable
