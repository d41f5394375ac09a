#include "model/plan_sketch.hpp"

#include <algorithm>
#include <cmath>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "kernel/evaluate.hpp"
#include "map/anchor_build.hpp"
#include "map/nystrom.hpp"
#include "model/plan_cost.hpp"
#include "model/sketch_quality.hpp"

namespace mercer {
namespace {

constexpr Index most_rows = 2000;  // sketched, with their eigenvalues
constexpr Index most_held = 500;   // further ones, at which the error is measured

/// What every measurement shares.
struct Bench {
  const Recipe& recipe;
  const FitOptions& options;
  Kernel kernel;
  Index rows = 0;       ///< of positive weight
  Matrix<double> x;     ///< all of them, or a sample
  Matrix<double> held;  ///< rows outside of the sample; empty when x is all of them

  /// Where errors count. A sketch of half of a sample knows that half, but not half of all the other rows.
  const Matrix<double>& tested() const { return held.empty() ? x : held; }
  /// Sizes beyond half of a sample say nothing about the sketch of all rows.
  Index most_size() const { return held.empty() ? most_rows : most_rows / 2; }
  GramSpectrum spectrum;
  CriticalRadius radius;
  double flops = 0;
};

bool sparsified(SketchLaw law) {
  return law == SketchLaw::p_sr || law == SketchLaw::p_sg;
}

/// Nothing when the draw touches no row.
std::optional<SketchPlanRow> measure(const Bench& bench, SketchRecipe sketch_recipe) {
  check_stop();
  cut_to_rows(sketch_recipe, bench.x.rows());
  const SketchLaw law = sketch_recipe.law;
  SketchPlanRow row;
  row.size = sketch_recipe.size;
  if (sparsified(law)) row.p = sketch_recipe.probability(bench.rows);
  row.anchors = expected_anchors(sketch_recipe, bench.rows);
  const Stopwatch drawing;
  const Sketch sketch = draw_sketch(sketch_recipe, bench.kernel, bench.x);
  const double draw_seconds = drawing.seconds();
  if (sketch.anchors.empty()) return {};
  Matrix<double> anchors = rows_of(bench.x, sketch.anchors);
  const Stopwatch sketching;
  const Matrix<double> sketched = sketched_gram(bench.kernel, anchors, sketch);
  const double sketch_seconds = sketching.seconds();
  row.satisfied = k_satisfiability(bench.spectrum, bench.radius.dimension, bench.radius.squared, sketch, sketched);

  const Stopwatch making;
  const AnchorMap map(bench.recipe.kernel, bench.x.cols(), bench.recipe.outputs(),
                      make_parts(bench.kernel, std::move(anchors), sketch, law));
  const double factor_seconds = std::max(0.0, making.seconds() - sketch_seconds);
  row.features = map.columns();
  Matrix<double> phi(bench.x.rows(), map.columns());
  const Stopwatch mapping;
  map.features(bench.x, phi);
  const double feature_seconds = mapping.seconds();
  const KernelError error = kernel_error(bench.kernel, map, bench.tested());
  row.mean_error = error.mean;
  row.largest_error = error.largest;

  const double more_rows = static_cast<double>(bench.rows) / static_cast<double>(bench.x.rows());
  const double more_anchors = std::max(1.0, row.anchors / static_cast<double>(sketch.touched()));
  row.seconds =
      draw_seconds * (needs_rows(law) ? more_rows : 1) + sketch_seconds * more_anchors * more_anchors + factor_seconds +
      feature_seconds * more_anchors * feature_rows(map, bench.rows, bench.options) / static_cast<double>(bench.x.rows()) +
      fit_flops(map, bench.rows, bench.options) / bench.flops + pass_seconds(map, bench.rows, bench.options);
  row.memory_bytes = sketch_bytes(sketch_recipe, bench.rows, bench.x.cols()) + fit_bytes(map, bench.rows, bench.options);
  return row;
}

SketchPlanRow measure_or_fail(const Bench& bench, const SketchRecipe& recipe) {
  auto row = measure(bench, recipe);
  if (!row) {
    fail_argument("the sketch drew none of the " + std::to_string(bench.x.rows()) + " rows; raise p (it is " +
                  shortest(recipe.probability(bench.x.rows())) + ") or the size");
  }
  return *row;
}

void judge(const Bench& bench, SketchPlan& plan) {
  const SketchRecipe& asked = bench.recipe.sketch;
  if (asked.size > bench.most_size()) {
    fail_argument("plan measures sketches on " + std::to_string(bench.x.rows()) + " rows, so none larger than " +
                  std::to_string(bench.most_size()) + ", got " + bench.recipe.map_text() +
                  "; fit it, and compare the leave-one-out error with that of a smaller one");
  }
  for (const Index size : {asked.size / 2, asked.size, 2 * asked.size}) {
    if (size < 1 || size > bench.most_size() || (size > asked.size && size > bench.x.rows())) continue;
    SketchRecipe recipe = asked;
    recipe.size = size;
    plan.table.push_back(measure_or_fail(bench, recipe));
    if (size == asked.size) plan.judged = plan.table.back();
  }
}

/// Sizes double from 25, at least to 400, until the error is reached and the sketch is K-satisfiable; then p shrinks at the
/// size that reached the error.
void advise(const Bench& bench, double error, SketchPlan& plan) {
  SketchRecipe recipe = bench.recipe.sketch;
  const Index last = std::min(bench.x.rows(), bench.most_size());
  const bool isometric = recipe.law != SketchLaw::rp_cholesky;
  for (Index size = std::min<Index>(25, last);
       size <= last && (size <= 400 || !plan.advised || (isometric && !plan.satisfiable)); size *= 2) {
    report(bench.options.progress, "measuring", std::min(1.0, static_cast<double>(plan.table.size()) / 7));
    recipe.size = size;
    plan.table.push_back(measure_or_fail(bench, recipe));
    const SketchPlanRow& row = plan.table.back();
    if (!plan.advised && row.mean_error <= error) plan.advised = row;
    if (isometric && !plan.satisfiable && row.satisfied.holds()) plan.satisfiable = row;
  }
  if (!plan.advised) return;
  Recipe named = bench.recipe;
  named.sketch.size = plan.advised->size;
  const bool free_density = bench.options.map.find("p=") == std::string::npos;
  if (sparsified(recipe.law) && free_density) {
    recipe.size = plan.advised->size;
    for (const double per_row : {1, 2, 5, 10}) {
      recipe.density = per_row;
      const auto row = measure(bench, recipe);
      if (!row || row->mean_error > error) continue;
      plan.advised = row;
      named.sketch.density = per_row;
      break;
    }
  }
  plan.advised_map = named.map_text();
}

/// All rows when they are few; else a sample, and rows outside of it. Both are spread over the file.
void set_rows(Bench& bench, ConstMatrix sample) {
  if (sample.rows <= most_rows) {
    bench.x = Matrix<double>(sample);
    return;
  }
  const Index held = sample.rows - most_rows;
  std::vector<Index> inside;
  std::vector<Index> outside;
  for (Index i = 0; i < sample.rows; ++i) {
    const bool next = (i + 1) * held / sample.rows > i * held / sample.rows;
    (next ? outside : inside).push_back(i);
  }
  bench.x = rows_of(sample, inside);
  bench.held = rows_of(sample, outside);
}

/// As --map writes it, without the size.
std::string law_name(SketchLaw law) {
  switch (law) {
    case SketchLaw::nystrom:
      return "nystrom";
    case SketchLaw::leverage:
    case SketchLaw::rp_cholesky:
      return std::string("nystrom,") + to_string(law);
    default:
      return to_string(law);
  }
}

void set_theorem(const Bench& bench, SketchPlan& plan) {
  const SketchRecipe& sketch = bench.recipe.sketch;
  if (sketch.law == SketchLaw::gaussian) {
    plan.theorem_p = 1;
  } else if (sparsified(sketch.law)) {
    plan.theorem_p = plan.judged ? sketch.probability(bench.rows) : theorem_density;
  } else {
    return;
  }
  plan.theorem_size = theorem_size(bench.radius.dimension, bench.radius.squared, bench.rows, *plan.theorem_p);
  plan.theorem_constant = theorem_constant(*plan.theorem_p);
}

}  // namespace

bool names_sketch(const std::string& map) {
  Recipe recipe;
  parse_map(map, recipe);
  return recipe.map == MapKind::sketch;
}

SketchPlan make_sketch_plan(RowSource& raw, const FitOptions& options, double error, double confidence) {
  check_wishes(error, confidence);
  const Recipe recipe = prepare(raw, options);
  const TargetCoding coding = recipe.coding();
  ScaledRows scaled(raw, recipe.scaling, coding);
  Bench bench{recipe, options, one_scalar_kernel(recipe.kernel), 0, {}, {}, {}, {}, gram_speed(recipe.precision)};
  const RowSample sample = sample_rows(scaled, most_rows + most_held, Stream(recipe.seed(), "plan"), options.progress);
  bench.rows = sample.present;
  set_rows(bench, sample.rows);
  report(options.progress, "eigenvalues", 0);
  bench.spectrum = spectrum_to_radius(bench.kernel, bench.x, bench.rows, recipe.seed());
  if (!(bench.spectrum.trace > 0)) fail_argument("the kernel is 0 on these rows");
  bench.radius = critical_radius(bench.spectrum, bench.rows);

  SketchPlan plan;
  plan.rows = bench.rows;
  plan.kernel = to_string(recipe.kernel);
  plan.loss = recipe.loss;
  plan.law = law_name(recipe.sketch.law);
  plan.radius = bench.radius;
  if (options.map.find(':') != std::string::npos) {
    judge(bench, plan);
  } else {
    advise(bench, error, plan);
  }
  set_theorem(bench, plan);
  if (const auto& row = plan.judged ? plan.judged : plan.satisfiable) {
    const double penalty = options.penalty.value_or(1 / std::sqrt(static_cast<double>(bench.rows)));
    plan.bound =
        bound_risk(recipe, {bench.x, bench.spectrum, bench.radius, row->satisfied, bench.rows}, penalty, confidence);
  }
  plan.spectrum = std::move(bench.spectrum);
  plan.spectrum.vectors = {};
  return plan;
}

}  // namespace mercer
