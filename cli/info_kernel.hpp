#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "arguments.hpp"
#include "console.hpp"
#include "model/diagnose.hpp"

namespace mercer::cli {

/// The diagnosis of a model: with the data where files follow it on the command line, else from the model alone.
std::optional<Diagnosis> diagnose(const Model& model, const Arguments& arguments);
void tell(const Console& console, const Diagnosis& diagnosis, const Model& model, double confidence);
nlohmann::json to_json(const Diagnosis& diagnosis, double confidence);

}  // namespace mercer::cli
