#pragma once
#include <mercer/model.hpp>

#include <nlohmann/json_fwd.hpp>

#include "arguments.hpp"
#include "console.hpp"

namespace mercer::cli {

/// Refuses options of a search without --tune, and --tune where there is nothing to search.
void check_tuning(const Arguments& arguments);

/// Searches, says what was found, and gives the options of the best; `json` is what --json prints of it.
FitOptions tune_rows(RowSource& rows, const Arguments& arguments, const Console& console, const FitOptions& options,
                     nlohmann::json& json);

}  // namespace mercer::cli
