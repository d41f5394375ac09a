#pragma once
#include <mercer/model.hpp>

#include <memory>
#include <string>
#include <vector>

#include "map/feature_map.hpp"
#include "model/recipe.hpp"

namespace mercer {

/// The map of a recipe that has one (not exact). A Fourier map is drawn from the recipe alone; a sketch needs the rows, in
/// scaled units. What people should know is added to `notes`.
std::shared_ptr<const FeatureMap> build_map(const Recipe& recipe, RowSource& scaled_rows, const FitOptions& options,
                                            std::vector<std::string>& notes);

}  // namespace mercer
