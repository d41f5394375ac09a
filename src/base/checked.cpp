#include "base/checked.hpp"

#include <mercer/error.hpp>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/text.hpp"

namespace mercer {

Index checked_product(Index a, Index b) {
  Index product = 0;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) {
    throw Error(ErrorKind::invalid_argument,
                "sizes " + std::to_string(a) + " x " + std::to_string(b) + " are too large to handle");
  }
  return product;
}

Index checked_product(Index a, Index b, Index c) {
  return checked_product(checked_product(a, b), c);
}

std::size_t checked_bytes(Index rows, Index cols, std::size_t element_size) {
  return static_cast<std::size_t>(checked_product(rows, cols, static_cast<Index>(element_size)));
}

int checked_int(Index value, const char* what) {
  if (value < 0 || value > std::numeric_limits<int>::max()) {
    throw Error(ErrorKind::invalid_argument,
                std::string(what) + " is " + std::to_string(value) + ", more than the linear algebra can index");
  }
  return static_cast<int>(value);
}

void* zeroed_aligned(std::size_t bytes) {
  // A page fault costs about 2 µs, more than clearing the 4 kB it brings: ask for pages of 2 MB where they are worth it.
  constexpr std::size_t huge_page = std::size_t{1} << 21;
  const bool huge = bytes >= 2 * huge_page;
  const std::size_t alignment = huge ? huge_page : 64;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* p = rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded);
  if (p == nullptr) {
    throw Error(ErrorKind::invalid_argument, "not enough memory: " + human_bytes(static_cast<double>(bytes)) +
                                                 " asked for at once; use fewer features, fewer rows or --memory");
  }
#if defined(__linux__)
  if (huge) madvise(p, rounded, MADV_HUGEPAGE);  // a wish: where it is refused, small pages do
#endif
  std::memset(p, 0, bytes);
  return p;
}

}  // namespace mercer
