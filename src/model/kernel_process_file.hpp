#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "gp/kernel_posterior.hpp"
#include "io/tensor_file.hpp"

namespace mercer {

/// An exact or variational posterior in a model file: kernel and noise in `json`, its matrices under `prefix`.
nlohmann::json write_kernel_process(const KernelPosterior& posterior, const std::string& prefix, TensorFile& file);
/// Reads it back and checks every size.
KernelPosterior read_kernel_process(const nlohmann::json& json, const TensorFile& file, const std::string& prefix,
                                    const std::string& path, Index inputs);

}  // namespace mercer
