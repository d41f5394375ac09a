#include "base/checked.hpp"

#include <mercer/error.hpp>

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
  constexpr std::size_t alignment = 64;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* p = rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded);
  if (p == nullptr) {
    throw Error(ErrorKind::invalid_argument, "not enough memory: " + human_bytes(static_cast<double>(bytes)) +
                                                 " asked for at once; use fewer features, fewer rows or --memory");
  }
  std::memset(p, 0, rounded);
  return p;
}

}  // namespace mercer
