#include "backend/cpu/cos_sin.hpp"

namespace mercer::simd_avx512 {
#include "backend/cpu/cos_sin_kernel.inc"
}  // namespace mercer::simd_avx512
