#include "backend/cpu/side_by_side.hpp"
#include "backend/cpu/thin_products.hpp"

namespace mercer::simd_avx512 {
namespace {
#define MERCER_VECTOR_REGISTER "v"
constexpr std::ptrdiff_t vector_bytes = 64;
constexpr int dot_rows = 6;  // times dot_cols sums, and one vector of each column and one of a row
constexpr int dot_cols = 4;
constexpr int combination_sums = 24;
constexpr int combination_cols = 8;
constexpr std::ptrdiff_t sum_rows = 48;  // of A, summed before S is touched
constexpr std::ptrdiff_t forward_rows = 12;
constexpr std::ptrdiff_t forward_cols = 20;
constexpr std::ptrdiff_t first_cache = 32768;
constexpr std::ptrdiff_t longest_stretch = 64;
constexpr int side_by_side = 24;  // sums of columns that lie beside each other in vectors
constexpr int triangle_rows = 16;
}  // namespace
#include "backend/cpu/thin_products.inc"
}  // namespace mercer::simd_avx512
