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
struct ZeroedBlock {
  void* data = nullptr;
  std::size_t mapped = 0;  ///< bytes that came from the system directly; 0: from the heap
};
/// Which pages are cleared, and so take memory, only when they are first touched, by whoever does that.
enum class Pages {
  of_large,  ///< those of large blocks
  of_any,    ///< those of all blocks that have a few
  small,     ///< those of large ones, of 4 kB each: for matrices of which a triangle is never touched
};
ZeroedBlock zeroed_aligned(std::size_t bytes, Pages cleared_when_touched = Pages::of_large);
void release(ZeroedBlock block);

}  // namespace mercer
