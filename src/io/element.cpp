#include "io/element.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/fail.hpp"

namespace mercer {
namespace {

template <std::size_t size>
struct Word;
template <>
struct Word<1> {
  using type = std::uint8_t;
};
template <>
struct Word<2> {
  using type = std::uint16_t;
};
template <>
struct Word<4> {
  using type = std::uint32_t;
};
template <>
struct Word<8> {
  using type = std::uint64_t;
};

template <class W>
W swapped(W word) {
  W result = 0;
  for (std::size_t i = 0; i < sizeof(W); ++i) {
    result = static_cast<W>(static_cast<W>(result << 8U) | static_cast<W>(word & 0xffU));
    word = static_cast<W>(word >> 4U >> 4U);
  }
  return result;
}

template <>
std::uint8_t swapped(std::uint8_t word) {
  return word;
}

template <class T>
void decode_as(bool swap, const char* bytes, std::span<const Index> places, std::span<double> values) {
  using W = typename Word<sizeof(T)>::type;
  for (std::size_t k = 0; k < places.size(); ++k) {
    W word = 0;
    std::memcpy(&word, bytes + places[k] * static_cast<Index>(sizeof(T)), sizeof(T));
    values[k] = static_cast<double>(std::bit_cast<T>(swap ? swapped(word) : word));
  }
}

template <class T8, class T16, class T32, class T64>
void decode_integer(const Element& e, bool swap, const char* bytes, std::span<const Index> places,
                    std::span<double> values) {
  switch (e.size) {
    case 1:
      return decode_as<T8>(swap, bytes, places, values);
    case 2:
      return decode_as<T16>(swap, bytes, places, values);
    case 4:
      return decode_as<T32>(swap, bytes, places, values);
    default:
      return decode_as<T64>(swap, bytes, places, values);
  }
}

}  // namespace

void decode_elements(const Element& e, const char* bytes, std::span<const Index> places, std::span<double> values) {
  const bool swap = e.big_endian != (std::endian::native == std::endian::big);
  switch (e.kind) {
    case Element::Kind::floating:
      return e.size == 4 ? decode_as<float>(swap, bytes, places, values) : decode_as<double>(swap, bytes, places, values);
    case Element::Kind::integer:
      return decode_integer<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(e, swap, bytes, places, values);
    case Element::Kind::natural:
      return decode_integer<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(e, swap, bytes, places, values);
    case Element::Kind::boolean:
      for (std::size_t k = 0; k < places.size(); ++k) values[k] = bytes[places[k]] != 0 ? 1 : 0;
      return;
  }
  fail_internal("an element kind that does not exist");
}

}  // namespace mercer
