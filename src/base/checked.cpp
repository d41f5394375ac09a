#include "base/checked.hpp"

#include <mercer/error.hpp>

#include <sys/mman.h>

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

namespace {

/// A page fault costs about 2 µs, more than clearing the 4 kB it brings: pages of 2 MB are asked for where they are worth
/// it. On virtual machines memory that was never touched may cost 1 to 2 ms a MB, whatever the pages: where half of a matrix
/// is not, small ones are cheaper.
constexpr std::size_t huge_page = std::size_t{1} << 21;
constexpr std::size_t least_mapped = 2 * huge_page;
/// What is smaller is asked for again and again: the heap keeps its pages, and one thread clears them. Of blocks of 30 MB
/// that took up to 0.15 s of a fit.
constexpr std::size_t large = std::size_t{1} << 24;

void wish_pages([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes, [[maybe_unused]] bool huge) {
#if defined(__linux__)
  madvise(p, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);  // where it is refused, others do
#endif
}

/// Pages that the system clears when they are first touched: by the threads that fill them, not by the one that asks.
ZeroedBlock mapped_block(std::size_t bytes, bool huge) {
  const std::size_t rounded = (bytes + huge_page - 1) / huge_page * huge_page;
  if (rounded < bytes || rounded + huge_page < rounded) return {};
  void* all = mmap(nullptr, rounded + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return {};
  auto* first = static_cast<char*>(all);
  const std::size_t head = (huge_page - reinterpret_cast<std::uintptr_t>(first) % huge_page) % huge_page;
  if (head > 0) munmap(first, head);
  if (head < huge_page) munmap(first + head + rounded, huge_page - head);
  wish_pages(first + head, rounded, huge);
  return {first + head, rounded};
}

ZeroedBlock heap_block(std::size_t bytes) {
  const std::size_t alignment = bytes >= least_mapped ? huge_page : 64;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* p = std::aligned_alloc(alignment, rounded);
  if (p == nullptr) return {};
  if (alignment == huge_page) wish_pages(p, rounded, true);
  std::memset(p, 0, bytes);
  return {p, 0};
}

}  // namespace

ZeroedBlock zeroed_aligned(std::size_t bytes, Pages cleared_when_touched) {
  const std::size_t least = cleared_when_touched == Pages::of_any ? least_mapped : large;
  const ZeroedBlock block = bytes >= least ? mapped_block(bytes, cleared_when_touched != Pages::small) : heap_block(bytes);
  if (block.data == nullptr) {
    throw Error(ErrorKind::invalid_argument, "not enough memory: " + human_bytes(static_cast<double>(bytes)) +
                                                 " asked for at once; use fewer features, fewer rows or --memory");
  }
  return block;
}

void release(ZeroedBlock block) {
  if (block.mapped > 0) {
    munmap(block.data, block.mapped);
  } else {
    std::free(block.data);  // NOLINT(cppcoreguidelines-no-malloc)
  }
}

}  // namespace mercer
