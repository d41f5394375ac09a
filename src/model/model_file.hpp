#pragma once
#include <mercer/model.hpp>

#include <string>

#include "io/tensor_file.hpp"

namespace mercer {

/// The model inside a container that has been read already; `path` is for messages. Everything is checked against
/// everything.
Model read_model(const TensorFile& file, const std::string& path);

}  // namespace mercer
