#pragma once
#include <memory>
#include <string>

#include "io/tensor_file.hpp"
#include "map/anchor_map.hpp"
#include "model/recipe.hpp"

namespace mercer {

/// The tensors of a sketched map: sketch.anchors (s' × d), sketch.projection, and where it has one the mixing as
/// sketch.entries (non-zeros × 3: sketch row, anchor, value, by anchor).
void write_sketch(const AnchorMap& map, TensorFile& file);

/// Reads them back and checks every number that is used as an index.
std::shared_ptr<const FeatureMap> read_sketch(const Recipe& recipe, const TensorFile& file, const std::string& path);

}  // namespace mercer
