#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "io/checksum.hpp"

namespace mercer {

/// Gives a mutated tensor file a right header length and checksum, which no mutation would find by itself.
inline void repair(std::string& bytes) {
  const std::size_t header_end = bytes.rfind('}');
  if (bytes.size() < 8 || header_end == std::string::npos || header_end < 8) return;
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>((header_end - 7) >> (8 * i) & 0xff);
  const std::string start = "\"mercer.checksum\":\"";
  const std::size_t digits = bytes.find(start) + start.size();
  if (digits < start.size() || digits + 32 > bytes.size()) return;
  bytes.replace(digits, 32, 32, '0');
  mercer::Checksum checksum;
  checksum.update(std::as_bytes(std::span(bytes)));
  bytes.replace(digits, 32, checksum.hex());
}

}  // namespace mercer
