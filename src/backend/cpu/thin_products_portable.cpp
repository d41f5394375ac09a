#include "backend/cpu/thin_products.hpp"

namespace mercer::simd_portable {
namespace {
constexpr std::ptrdiff_t vector_bytes = 16;
constexpr int dot_rows = 4;  // times dot_cols sums, and one vector of each column and one of a row
constexpr int dot_cols = 3;
constexpr int combination_sums = 12;
constexpr int combination_cols = 4;
constexpr std::ptrdiff_t stretch_of_columns = 24;  // in vectors
}  // namespace
#include "backend/cpu/thin_products.inc"
}  // namespace mercer::simd_portable
