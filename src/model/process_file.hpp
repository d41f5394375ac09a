#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "io/tensor_file.hpp"
#include "model/state.hpp"

namespace mercer {

/// What a Gaussian process adds to a model file: its learned spectra with the points of every draw and their posterior
/// (spectrum.<part>.…) or its exact or variational posteriors (process.<part>.…), and the steps of its training. Nothing for
/// other models.
void write_process(const Model::State& state, nlohmann::json& json, TensorFile& file);
/// Reads it back and checks every size.
void read_process(const nlohmann::json& json, const TensorFile& file, const std::string& path, Model::State& state);

}  // namespace mercer
