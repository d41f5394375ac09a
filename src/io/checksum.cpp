#include "io/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mercer {

struct Checksum::State {
  XXH3_state_t xxh{};
};

Checksum::Checksum() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->xxh);
}

Checksum::~Checksum() = default;

void Checksum::update(std::span<const std::byte> bytes) {
  if (!bytes.empty()) XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
}

std::string Checksum::hex() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_->xxh));
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    constexpr char digits[] = "0123456789abcdef";
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace mercer
