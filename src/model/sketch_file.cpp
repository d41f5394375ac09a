#include "model/sketch_file.hpp"

#include <cmath>

#include "base/fail.hpp"

namespace mercer {
namespace {

Matrix<double> entries_of(const SparseSketch& mixing) {
  Matrix<double> entries(static_cast<Index>(mixing.row.size()), 3);
  for (Index j = 0; j < mixing.columns(); ++j) {
    for (Index k = mixing.start[static_cast<std::size_t>(j)]; k < mixing.start[static_cast<std::size_t>(j + 1)]; ++k) {
      entries(k, 0) = static_cast<double>(mixing.row[static_cast<std::size_t>(k)]);
      entries(k, 1) = static_cast<double>(j);
      entries(k, 2) = mixing.value[static_cast<std::size_t>(k)];
    }
  }
  return entries;
}

/// A number that serves as an index below `end`.
Index whole_below(double value, Index end, const std::string& path) {
  if (!(value >= 0 && value < static_cast<double>(end)) || value != std::floor(value))
    fail_file(path + ": an entry of its sketch is out of place");
  return static_cast<Index>(value);
}

SparseSketch read_mixing(const Matrix<double>& entries, Index size, Index anchors, const std::string& path) {
  SparseSketch mixing;
  mixing.size = size;
  Index column = -1;
  for (Index k = 0; k < entries.rows(); ++k) {
    const Index row = whole_below(entries(k, 0), size, path);
    const Index at = whole_below(entries(k, 1), anchors, path);
    if (at < column || at > column + 1) fail_file(path + ": the entries of its sketch are not in order");
    if (at == column + 1) mixing.start.push_back(k);
    column = at;
    mixing.row.push_back(row);
    mixing.value.push_back(entries(k, 2));
  }
  if (column + 1 != anchors) fail_file(path + ": its sketch leaves an anchor out");
  mixing.start.push_back(entries.rows());
  return mixing;
}

}  // namespace

void write_sketch(const AnchorMap& map, TensorFile& file) {
  const AnchorParts& parts = map.parts();
  file.add("sketch.anchors", parts.anchors.view());
  file.add("sketch.projection", parts.projection.view());
  if (parts.mixed()) file.add("sketch.entries", entries_of(parts.mixing).view());
}

std::shared_ptr<const FeatureMap> read_sketch(const Recipe& recipe, const TensorFile& file, const std::string& path) {
  AnchorParts parts;
  parts.law = recipe.sketch.law;
  parts.anchors = file.matrix("sketch.anchors", -1, recipe.inputs());
  if (parts.anchors.rows() < 1) fail_file(path + ": its sketch has no anchors");
  if (file.has("sketch.entries")) {
    parts.projection = file.matrix("sketch.projection");
    parts.mixing = read_mixing(file.matrix("sketch.entries", -1, 3), parts.projection.rows(), parts.anchors.rows(), path);
  } else {
    parts.projection = file.matrix("sketch.projection", parts.anchors.rows());
  }
  if (parts.projection.cols() < 1) fail_file(path + ": its sketch has no features");
  return std::make_shared<AnchorMap>(recipe.kernel, recipe.inputs(), recipe.outputs(), std::move(parts));
}

}  // namespace mercer
