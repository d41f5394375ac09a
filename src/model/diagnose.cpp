#include "model/diagnose.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "kernel/evaluate.hpp"
#include "map/anchor_build.hpp"
#include "map/nystrom.hpp"
#include "model/recipe.hpp"
#include "model/state.hpp"

namespace mercer {
namespace {

constexpr Index most_rows = 2000;  // whose eigenvalues, or errors, are computed where not all are needed

/// Whether the anchors stand for all rows: each row was as likely to be one as any other.
bool draws_uniformly(const Recipe& recipe) {
  return recipe.map == MapKind::sketch && !needs_rows(recipe.sketch.law);
}

/// The map of a sketch that was drawn; none for inducing inputs, which were learned.
const AnchorMap* drawn_map(const Model::State& s) {
  return s.summary.process.empty() ? dynamic_cast<const AnchorMap*>(s.map.get()) : nullptr;
}

/// Up to `most` rows of x, evenly spread.
Matrix<double> spread_rows(ConstMatrix x, Index most) {
  std::vector<Index> numbers;
  const Index count = std::min(x.rows, most);
  for (Index i = 0; i < count; ++i) numbers.push_back(i * x.rows / count);
  return rows_of(x, numbers);
}

Diagnosis diagnosis_of(Diagnosis::Source source, GramSpectrum spectrum, Index n) {
  Diagnosis result;
  result.source = source;
  result.rows = n;
  result.radius = critical_radius(spectrum, n);
  result.spectrum = std::move(spectrum);
  return result;
}

[[noreturn]] void refuse_rows(const std::string& how) {
  fail_argument("these are not the rows that the model's sketch was drawn from: " + how +
                "; give the training files in their order, and --missing, --holdout and --split as fit had them");
}

/// The model's own sketch, from its recipe and its rows.
Sketch draw_again(const Model::State& s, const AnchorMap& map, const Kernel& kernel, ConstMatrix x) {
  SketchRecipe recipe = s.recipe.sketch;
  cut_to_rows(recipe, x.rows);
  Sketch sketch = draw_sketch(recipe, kernel, x);
  const Matrix<double>& anchors = map.parts().anchors;
  if (anchors.rows() != sketch.touched())
    refuse_rows("it has " + counted(anchors.rows(), "anchor") + ", and of these " + counted(x.rows, "row") +
                " it would have " + std::to_string(sketch.touched()));
  for (Index i = 0; i < anchors.rows(); ++i) {
    const Index row = sketch.anchors[static_cast<std::size_t>(i)];
    if (!std::ranges::equal(anchors.row(i), x.row(row)))
      refuse_rows("row " + std::to_string(row) + " is not the anchor that was taken there");
  }
  return sketch;
}

/// As many pivots as the memory has room for.
Index affordable_rank(Index n, Index memory_bytes) {
  constexpr Index fewest = 128;
  constexpr Index most = 1024;
  const Index per_pivot = 24 * n;
  const Index rank = std::min(most, memory_bytes / per_pivot);
  if (rank < std::min(fewest, n)) {
    fail_argument("the eigenvectors of " + counted(n, "row") + " need " +
                  human_bytes(static_cast<double>(fewest) * static_cast<double>(per_pivot)) + ", more than the budget of " +
                  human_bytes(static_cast<double>(memory_bytes)) +
                  "; raise --memory, or leave the data out to see what the model alone tells");
  }
  return rank;
}

Diagnosis diagnose_sketch(const Model::State& s, const AnchorMap& map, RowSource& scaled, double confidence,
                          Index memory_bytes, Progress* progress) {
  const Kernel kernel = one_scalar_kernel(s.recipe.kernel);
  const Matrix<double> x =
      sample_rows(scaled, std::numeric_limits<Index>::max(), Stream(s.recipe.seed(), "info"), progress).rows;
  const Index n = x.rows();
  const Sketch sketch = draw_again(s, map, kernel, x);
  const Index rank = affordable_rank(n, memory_bytes);
  report(progress, "eigenvalues", 0);
  Diagnosis result = diagnosis_of(Diagnosis::Source::data, spectrum_to_radius(kernel, x, n, s.recipe.seed(), rank), n);
  report(progress, "judging the sketch", 0);
  SketchDiagnosis judged;
  judged.satisfied = k_satisfiability(result.spectrum, result.radius.dimension, result.radius.squared, sketch,
                                      sketched_gram(kernel, map.parts().anchors, sketch));
  judged.error = kernel_error(kernel, map, spread_rows(x, most_rows));
  judged.bound =
      bound_risk(s.recipe, {x, result.spectrum, result.radius, judged.satisfied, n}, s.summary.penalty, confidence);
  result.sketch = judged;
  result.spectrum.vectors = {};
  return result;
}

}  // namespace

std::optional<Diagnosis> diagnose(const Model& model) {
  constexpr Index most_kept = 1000;
  constexpr Index most_rank = 512;
  const Model::State& s = model.state();
  const Index n = s.summary.rows;
  if (!s.spectral.empty() || !has_one_scalar_kernel(s.recipe.kernel)) return {};
  const AnchorMap* map = drawn_map(s);
  ConstMatrix kept;
  if (s.problem) kept = s.problem->inputs;
  if (s.kernel_processes.size() == 1 && !s.kernel_processes.front().variational())
    kept = s.kernel_processes.front().parts().anchors;
  if (map != nullptr && draws_uniformly(s.recipe)) kept = map->parts().anchors;
  if (kept.rows > 0) {
    GramSpectrum spectrum =
        spectrum_to_radius(one_scalar_kernel(s.recipe.kernel), spread_rows(kept, most_kept), n, s.recipe.seed(), most_rank);
    spectrum.vectors = {};
    return diagnosis_of(Diagnosis::Source::kept_rows, std::move(spectrum), n);
  }
  if (!s.recipe.spectrum) return {};
  return diagnosis_of(Diagnosis::Source::sample_at_fit, *s.recipe.spectrum, n);
}

Diagnosis diagnose(const Model& model, RowSource& raw, double confidence, Index memory_bytes, Progress* progress) {
  const Model::State& s = model.state();
  if (!s.spectral.empty() || !has_one_scalar_kernel(s.recipe.kernel)) {
    fail_argument(
        "the spectrum of K/n is that of a scalar kernel, and this model has none: leave the data out, or see mercer plot "
        "--what spectrum for a learned one");
  }
  ScaledRows scaled(raw, s.recipe.scaling, s.coding);
  if (const AnchorMap* map = drawn_map(s)) return diagnose_sketch(s, *map, scaled, confidence, memory_bytes, progress);
  const RowSample sample = sample_rows(scaled, most_rows, Stream(s.recipe.seed(), "info"), progress);
  report(progress, "eigenvalues", 0);
  GramSpectrum spectrum =
      spectrum_to_radius(one_scalar_kernel(s.recipe.kernel), sample.rows, sample.present, s.recipe.seed());
  spectrum.vectors = {};
  return diagnosis_of(Diagnosis::Source::data, std::move(spectrum), sample.present);
}

std::optional<GramSpectrum> sampled_spectrum(const Recipe& recipe, const RowSummary& summary) {
  constexpr Index most_sampled = 500;
  constexpr Index rank = 128;
  if (recipe.exact() || draws_uniformly(recipe) || !has_one_scalar_kernel(recipe.kernel)) return {};
  std::vector<Index> present;
  for (Index i = 0; i < summary.sample.rows(); ++i) {
    if (summary.sample_weight[static_cast<std::size_t>(i)] > 0) present.push_back(i);
  }
  if (present.empty()) return {};
  Matrix<double> x = spread_rows(rows_of(summary.sample, present), most_sampled);
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index k = 0; k < x.cols(); ++k) {
      const auto j = static_cast<std::size_t>(k);
      x(i, k) = (x(i, k) - recipe.scaling.input_shift[j]) / recipe.scaling.input_scale[j];
    }
  }
  const Kernel kernel = one_scalar_kernel(recipe.kernel);
  for (Index i = 0; i < x.rows(); ++i) {
    if (!std::isfinite(value(kernel, x.row(i), x.row(i)))) return {};  // what the fit makes of that is not for here to say
  }
  GramSpectrum spectrum = gram_spectrum(kernel, x, rank, recipe.seed());
  spectrum.vectors = {};
  return spectrum;
}

}  // namespace mercer
