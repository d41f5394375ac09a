#include <mercer/error.hpp>
#include <mercer/kernel.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

/// A text either is refused with mercer::Error, or prints to a text that reads back as the same kernel and prints the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data),
                              size);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  mercer::OperatorKernel kernel;
  try {
    kernel = mercer::parse_kernel(text);
  } catch (const mercer::Error&) {
    return 0;
  }
  const std::string printed = mercer::to_string(kernel);
  if (mercer::parse_kernel(printed) != kernel || mercer::to_string(mercer::parse_kernel(printed)) != printed) std::abort();
  return 0;
}
