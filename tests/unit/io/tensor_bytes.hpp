#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "io/checksum.hpp"

/// Hand-made safetensors files, right or wrong, as strings of bytes.
namespace mercer::tensor_bytes {

inline std::string little_endian(std::uint64_t value) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i));
  return bytes;
}

inline std::size_t length_of(const std::string& file) {
  std::uint64_t value = 0;
  for (std::size_t i = 8; i-- > 0;) value = value << 8 | static_cast<unsigned char>(file[i]);
  return static_cast<std::size_t>(value);
}

inline std::span<const std::byte> span_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// The file with the right checksum in the place of the 32 digits after its first "mercer.checksum":" (if it has any).
inline std::string with_checksum(std::string file) {
  const std::string start = "\"mercer.checksum\":\"";
  const std::size_t found = file.find(start);
  if (found == std::string::npos || found + start.size() + 32 > file.size()) return file;
  file.replace(found + start.size(), 32, 32, '0');
  Checksum checksum;
  checksum.update(span_of(file));
  return file.replace(found + start.size(), 32, checksum.hex());
}

/// Length, header, data, and the right checksum.
inline std::string file_of(const std::string& header, const std::string& data) {
  return with_checksum(little_endian(header.size()) + header + data);
}

}  // namespace mercer::tensor_bytes
