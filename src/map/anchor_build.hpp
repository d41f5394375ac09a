#pragma once
#include <mercer/progress.hpp>
#include <mercer/rows.hpp>

#include <string>
#include <vector>

#include "map/anchor_map.hpp"

namespace mercer {

/// Draws a sketch of the rows and makes its map. Rows of weight 0 are as if absent; other weights do not enter: S sketches
/// the Gram matrix of the rows that are there, each once, and the loss of the fit carries the weights. So a row of weight w
/// is not likelier to be an anchor than any other; giving it w times would make it so.
/// Two passes over the rows, of which only the anchors are kept; one that keeps all rows for laws that need or touch them
/// all. Refuses sketches beyond `memory_bytes`. Sentences for people are added to `notes`.
AnchorMap build_anchor_map(const OperatorKernel& resolved, RowSource& rows, Index outputs, const SketchRecipe& recipe,
                           Index memory_bytes, std::vector<std::string>& notes, Progress* progress);

}  // namespace mercer
