#pragma once
#include <cstddef>

/// One algorithm, compiled three times with different instruction sets (cos_sin_kernel.inc). `count` phases, all within the
/// range of the reduction.
namespace mercer::simd_portable {
bool within(const float* phase, std::ptrdiff_t count, float limit);
bool within(const double* phase, std::ptrdiff_t count, double limit);
void cos_sin(const float* phase, std::ptrdiff_t count, float scale, float* cosine, float* sine);
void cos_sin(const double* phase, std::ptrdiff_t count, double scale, double* cosine, double* sine);
}  // namespace mercer::simd_portable
namespace mercer::simd_avx2 {
bool within(const float* phase, std::ptrdiff_t count, float limit);
bool within(const double* phase, std::ptrdiff_t count, double limit);
void cos_sin(const float* phase, std::ptrdiff_t count, float scale, float* cosine, float* sine);
void cos_sin(const double* phase, std::ptrdiff_t count, double scale, double* cosine, double* sine);
}  // namespace mercer::simd_avx2
namespace mercer::simd_avx512 {
bool within(const float* phase, std::ptrdiff_t count, float limit);
bool within(const double* phase, std::ptrdiff_t count, double limit);
void cos_sin(const float* phase, std::ptrdiff_t count, float scale, float* cosine, float* sine);
void cos_sin(const double* phase, std::ptrdiff_t count, double scale, double* cosine, double* sine);
}  // namespace mercer::simd_avx512
