#include <mercer/error.hpp>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "model/model_file.hpp"
#include "repair.hpp"

// Any bytes are read as a model, with length and checksum mended: refused with mercer::Error, or a model that predicts.

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(data, data + size);
  mercer::repair(bytes);
  try {
    const mercer::TensorFile file = mercer::TensorFile::parse(std::as_bytes(std::span(bytes)), "fuzz");
    const mercer::Model model = mercer::read_model(file, "fuzz");
    std::vector<double> x(static_cast<std::size_t>(model.inputs()), 0.5);
    std::vector<double> mean(static_cast<std::size_t>(model.outputs()));
    model.predict({x.data(), 1, model.inputs()}, {mean.data(), 1, model.outputs()});
  } catch (const mercer::Error& error) {
    if (error.kind() == mercer::ErrorKind::internal) std::abort();
  }
  return 0;
}
