#include "map/anchor_build.hpp"

#include <algorithm>
#include <cmath>

#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "map/nystrom.hpp"

namespace mercer {
namespace {

constexpr Index block_rows = 4096;

/// Calls use(row, number) for each row of positive weight, numbered from 0; returns how many there are.
template <class Use>
Index for_present_rows(RowSource& rows, const char* stage, Progress* progress, const Use& use) {
  Index present = 0;
  RowBlock block;
  rows.rewind();
  while (rows.next(block_rows, block)) {
    const Index total = rows.row_count();
    report(progress, stage, total > 0 ? static_cast<double>(block.first_row) / static_cast<double>(total) : 0);
    for (Index i = 0; i < block.rows(); ++i) {
      if (!block.weights.empty() && !(block.weights[static_cast<std::size_t>(i)] > 0)) continue;
      use(block.inputs.row(i), present++);
    }
  }
  return present;
}

Matrix<double> as_matrix(const std::vector<double>& values, Index cols) {
  return Matrix<double>(ConstMatrix(values.data(), static_cast<Index>(values.size()) / cols, cols));
}

Matrix<double> all_rows(RowSource& rows, Progress* progress) {
  std::vector<double> values;
  for_present_rows(rows, "reading rows", progress,
                   [&](Point row, Index) { values.insert(values.end(), row.begin(), row.end()); });
  return as_matrix(values, rows.input_count());
}

/// The rows with these ascending numbers.
Matrix<double> numbered_rows(RowSource& rows, const std::vector<Index>& numbers, Progress* progress) {
  Matrix<double> result(static_cast<Index>(numbers.size()), rows.input_count());
  std::size_t next = 0;
  for_present_rows(rows, "collecting anchors", progress, [&](Point row, Index number) {
    if (next == numbers.size() || numbers[next] != number) return;
    std::ranges::copy(row, result.row(static_cast<Index>(next)).begin());
    ++next;
  });
  return result;
}

void check_size(const SketchRecipe& recipe, Index n, Index inputs, Index memory_bytes) {
  const double bytes = sketch_bytes(recipe, n, inputs);
  if (bytes <= static_cast<double>(memory_bytes)) return;
  fail_argument("this sketch of " + human_count(static_cast<double>(n)) + " rows needs about " + human_bytes(bytes) +
                ", more than the budget of " + human_bytes(static_cast<double>(memory_bytes)) +
                "; take a smaller or sparser one (p-sr or nystrom), or raise --memory");
}

}  // namespace

RowSample sample_rows(RowSource& rows, Index most, const Stream& stream, Progress* progress) {
  RowSample sample;
  sample.present = for_present_rows(rows, "counting rows", progress, [](Point, Index) {});
  if (sample.present < 1) fail_argument("a sketch needs at least one row of positive weight");
  if (sample.present <= most) {
    sample.rows = all_rows(rows, progress);
    return sample;
  }
  std::vector<Index> numbers = draw_without_replacement(sample.present, most, stream);
  std::ranges::sort(numbers);
  sample.rows = numbered_rows(rows, numbers, progress);
  return sample;
}

bool cut_to_rows(SketchRecipe& recipe, Index n) {
  const bool selects = recipe.law == SketchLaw::nystrom || needs_rows(recipe.law);
  Index most = n;
  if (recipe.law == SketchLaw::hadamard) {
    for (most = 1; most < n;) most *= 2;
  }
  if ((!selects && recipe.law != SketchLaw::hadamard) || recipe.size <= most) return false;
  recipe.size = most;
  return true;
}

double sketch_bytes(const SketchRecipe& recipe, Index n, Index inputs) {
  const auto s = static_cast<double>(recipe.size);
  const auto rows = static_cast<double>(n);
  double anchors = rows;
  double entries = 0;
  switch (recipe.law) {
    case SketchLaw::p_sr:
    case SketchLaw::p_sg:
      entries = s * rows * recipe.probability(n);
      anchors = std::min(rows, entries);
      break;
    case SketchLaw::accumulation:
      entries = s * static_cast<double>(recipe.terms);
      anchors = std::min(rows, entries);
      break;
    case SketchLaw::count:
      entries = rows;
      break;
    case SketchLaw::nystrom:
      anchors = std::min(rows, s);
      break;
    case SketchLaw::leverage:  // the rows and the pilot
    case SketchLaw::rp_cholesky:
    case SketchLaw::gaussian:
    case SketchLaw::hadamard:
      break;
  }
  return 8 * (anchors * static_cast<double>(inputs) + 5 * entries + 2 * anchors * s + 4 * s * s);
}

AnchorMap build_anchor_map(const OperatorKernel& resolved, RowSource& rows, Index outputs, const SketchRecipe& wanted,
                           Index memory_bytes, std::vector<std::string>& notes, Progress* progress) {
  const Kernel kernel = one_scalar_kernel(resolved);
  SketchRecipe recipe = wanted;
  const Index n = for_present_rows(rows, "counting rows", progress, [](Point, Index) {});
  if (n < 1) fail_argument("a sketch needs at least one row of positive weight");
  if (cut_to_rows(recipe, n)) {
    notes.push_back("the sketch was cut from " + std::to_string(wanted.size) + " to " + std::to_string(recipe.size) +
                    (n == 1 ? ": there is only " : ": there are only ") + counted(n, "row"));
  }
  check_size(recipe, n, rows.input_count(), memory_bytes);
  Sketch sketch;
  Matrix<double> anchors;
  if (needs_rows(recipe.law)) {
    const Matrix<double> all = all_rows(rows, progress);
    sketch = draw_sketch(recipe, kernel, all);
    anchors = Matrix<double>(sketch.touched(), all.cols());
    for (Index i = 0; i < anchors.rows(); ++i) {
      std::ranges::copy(all.row(sketch.anchors[static_cast<std::size_t>(i)]), anchors.row(i).begin());
    }
  } else {
    sketch = draw_sketch(recipe, n);
    if (sketch.anchors.empty()) {
      fail_argument("the sketch drew none of the " + counted(n, "row") + "; raise p (it is " +
                    shortest(recipe.probability(n)) + ") or the size");
    }
    anchors = touches_all_rows(recipe.law) ? all_rows(rows, progress) : numbered_rows(rows, sketch.anchors, progress);
  }
  report(progress, "sketching", 0);
  return {resolved, rows.input_count(), outputs, make_parts(kernel, std::move(anchors), sketch, recipe.law)};
}

}  // namespace mercer
