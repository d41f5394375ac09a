#pragma once
#include <mercer/model.hpp>

#include <nlohmann/json.hpp>

#include "io/tensor_file.hpp"
#include "model/recipe.hpp"

namespace mercer {

/// The recipe and the summary as they stand in the metadata of model and statistics files; scalings go in as tensors.
void write_recipe(const Recipe& recipe, nlohmann::json& json, TensorFile& file);
Recipe read_recipe(const nlohmann::json& json, const TensorFile& file, const std::string& path);

nlohmann::json to_json(const FitSummary& summary);
FitSummary summary_from_json(const nlohmann::json& json);

/// Metadata value `key` as JSON; throws Error(file) when it is absent or malformed.
nlohmann::json metadata_json(const TensorFile& file, const std::string& key, const std::string& path);
/// Checks "mercer.kind" and "mercer.format"; refuses files of a later format by name.
void check_kind(const TensorFile& file, const std::string& kind, const std::string& path);

constexpr int format_version = 1;

}  // namespace mercer
