#pragma once
#include <string>

#include "model/recipe.hpp"
#include "solve/statistics.hpp"

namespace mercer {

struct StatisticsFile {
  Recipe recipe;
  RidgeStatistics statistics;
};

/// Statistics of a shard with the recipe they were made by, as a .stats file (the same container as models).
void save_statistics(const std::string& path, const Recipe& recipe, const RidgeStatistics& statistics);
StatisticsFile load_statistics(const std::string& path);

/// True when statistics made by both may be merged.
bool same_recipe(const Recipe& a, const Recipe& b);

}  // namespace mercer
