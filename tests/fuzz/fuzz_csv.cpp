#include "dataset_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return mercer::read_as_dataset({bytes, size}, "csv");
}
