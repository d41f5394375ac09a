#include "backend/cpu/cos_sin.hpp"

namespace mercer::simd_portable {
#include "backend/cpu/cos_sin_kernel.inc"
}  // namespace mercer::simd_portable
