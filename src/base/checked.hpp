#pragma once
#include <mercer/view.hpp>

#include <cstddef>

namespace mercer {

/// a·b as a size; throws Error when an operand is negative or the product does not fit. All size arithmetic goes through
/// here.
Index checked_product(Index a, Index b);
Index checked_product(Index a, Index b, Index c);

/// rows·cols·element_size in bytes, refused beyond 2⁶² or when negative.
std::size_t checked_bytes(Index rows, Index cols, std::size_t element_size);

/// A 32-bit BLAS/LAPACK dimension; throws Error when the size does not fit.
int checked_int(Index value, const char* what);

/// 64-byte aligned zeroed memory to be given back with free(); throws Error(invalid_argument) naming the size when there is
/// none.
void* zeroed_aligned(std::size_t bytes);

}  // namespace mercer
