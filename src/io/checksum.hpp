#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace mercer {

/// XXH3-128 of a stream of bytes. It finds damage, not malice: a checksum is not a signature.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void update(std::span<const std::byte> bytes);
  /// 32 lower-case hexadecimal digits, most significant first (what `xxhsum -H2` prints).
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mercer
