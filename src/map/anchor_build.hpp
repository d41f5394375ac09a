#pragma once
#include <mercer/progress.hpp>
#include <mercer/rows.hpp>

#include <string>
#include <vector>

#include "base/random.hpp"
#include "map/anchor_map.hpp"

namespace mercer {

/// How many rows have a positive weight, and up to `most` of them: all, or a uniform sample without replacement. Two passes.
struct RowSample {
  Index present = 0;
  Matrix<double> rows;
};
RowSample sample_rows(RowSource& rows, Index most, const Stream& stream, Progress* progress);

/// Cuts a sketch that selects more rows (or lines of a Hadamard matrix) than there are; whether it did.
bool cut_to_rows(SketchRecipe& recipe, Index n);

/// Bytes held while the map of a sketch of n rows is made: anchors, S or its non-zeros, H Sᵀ twice, four s × s matrices.
double sketch_bytes(const SketchRecipe& recipe, Index n, Index inputs);

/// Draws a sketch of the rows and makes its map. Rows of weight 0 are as if absent; other weights do not enter: S sketches
/// the Gram matrix of the rows that are there, each once, and the loss of the fit carries the weights. So a row of weight w
/// is not likelier to be an anchor than any other; giving it w times would make it so.
/// Two passes over the rows, of which only the anchors are kept; one that keeps all rows for laws that need or touch them
/// all. Refuses sketches beyond `memory_bytes`. Sentences for people are added to `notes`.
AnchorMap build_anchor_map(const OperatorKernel& resolved, RowSource& rows, Index outputs, const SketchRecipe& wanted,
                           Index memory_bytes, std::vector<std::string>& notes, Progress* progress);

}  // namespace mercer
