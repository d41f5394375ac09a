#include <mercer/error.hpp>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "io/tensor_file.hpp"
#include "repair.hpp"

// Any bytes at all are read as a tensor file: refused with Error(file) or read whole, nothing else. The bytes are tried as
// they are, and once more with a right length and checksum, since no mutation would find those and get past them.

namespace {

constexpr const char* names[] = {"a", "w", "m", "theta", ""};

template <class Work>
void file_error_or_fine(const Work& work) {
  try {
    work();
  } catch (const mercer::Error& error) {
    if (error.kind() != mercer::ErrorKind::file) std::abort();
  }
}

void read(const std::string& bytes) {
  file_error_or_fine([&] {
    const mercer::TensorFile file = mercer::TensorFile::parse(std::as_bytes(std::span(bytes)), "fuzz");
    for (const char* name : names) {
      file_error_or_fine([&] { file.matrix(name); });
      file_error_or_fine([&] { file.vector(name); });
      file_error_or_fine([&] { file.bytes(name); });
    }
    file.save("/dev/null");  // what can be read can be written
  });
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(data, data + size);
  read(bytes);
  mercer::repair(bytes);
  read(bytes);
  return 0;
}
