#pragma once
#include <mercer/view.hpp>

#include <cstddef>
#include <span>

namespace mercer {

/// How one number lies in a binary file.
struct Element {
  enum class Kind { floating, integer, natural, boolean };
  Kind kind = Kind::floating;
  std::size_t size = 8;  ///< bytes: 4, 8 for floating; 1, 2, 4, 8 for integer and natural; 1 for boolean
  bool big_endian = false;
};

/// values[k] = the element number places[k] of those that begin at `bytes`; 64-bit integers are rounded to double.
void decode_elements(const Element& element, const char* bytes, std::span<const Index> places, std::span<double> values);

}  // namespace mercer
