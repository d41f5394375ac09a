#include "model/recipe.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "kernel/resolve.hpp"
#include "model/simplex.hpp"

namespace mercer {
namespace {

/// The weighted covariance of the targets as scaled (or coded), from deviations from the first row: no cancellation at an
/// offset.
Matrix<double> covariance(RowSource& scaled) {
  const Index p = scaled.target_count();
  Matrix<double> second(p, p);
  std::vector<double> mean(static_cast<std::size_t>(p), 0.0);
  std::vector<double> origin;
  std::vector<double> y(static_cast<std::size_t>(p));
  double weight = 0;
  RowBlock block;
  scaled.rewind();
  while (scaled.next(4096, block)) {
    for (Index i = 0; i < block.rows(); ++i) {
      const double w = block.weights.empty() ? 1.0 : block.weights[static_cast<std::size_t>(i)];
      if (origin.empty()) origin.assign(block.targets.row(i).begin(), block.targets.row(i).end());
      weight += w;
      std::ranges::transform(block.targets.row(i), origin, y.begin(), std::minus<>());
      for (Index a = 0; a < p; ++a) {
        mean[static_cast<std::size_t>(a)] += w * y[static_cast<std::size_t>(a)];
        for (Index b = 0; b < p; ++b) second(a, b) += w * y[static_cast<std::size_t>(a)] * y[static_cast<std::size_t>(b)];
      }
    }
  }
  for (Index a = 0; a < p; ++a) {
    for (Index b = 0; b < p; ++b) {
      second(a, b) =
          second(a, b) / weight - mean[static_cast<std::size_t>(a)] * mean[static_cast<std::size_t>(b)] / (weight * weight);
    }
  }
  return second;
}

}  // namespace

Precision parse_precision(const std::string& text) {
  if (text == "float32") return Precision::single_;
  if (text == "float64") return Precision::double_;
  fail_argument("precision " + mercer::quoted(text) + " is not float32 or float64" +
                did_you_mean(text, {"float32", "float64"}));
}

Uncertainty parse_uncertainty(const std::string& text) {
  if (text == "auto") return Uncertainty::automatic;
  if (text == "full") return Uncertainty::full;
  if (text == "samples") return Uncertainty::samples;
  if (text == "none") return Uncertainty::none;
  fail_argument("uncertainty " + mercer::quoted(text) + " is not auto, full, samples or none" +
                did_you_mean(text, {"auto", "full", "samples", "none"}));
}

void complete_schema(Recipe& recipe) {
  Schema& schema = recipe.schema;
  if (schema.inputs.empty()) {
    for (Index k = 0; k < recipe.inputs(); ++k) schema.inputs.push_back({"x" + std::to_string(k), {}, 0});
  }
  const Index targets = recipe.classes.empty() ? recipe.outputs() : 1;
  for (auto k = static_cast<Index>(schema.targets.size()); k < targets; ++k)
    schema.targets.push_back("y" + std::to_string(k));
  schema.classes = recipe.classes;
}

Recipe prepare(RowSource& rows, const FitOptions& options) {
  Recipe recipe;
  parse_map(options.map, recipe);
  recipe.set_seed(options.seed);
  recipe.precision = parse_precision(options.precision);
  recipe.classes = options.classes;
  recipe.intercept = options.intercept;
  if (rows.target_count() == 0) fail_argument("there is no target to learn; name one");
  const OperatorKernel kernel = parse_kernel(options.kernel);

  const RowSummary summary = summarize(rows, options.progress);
  const bool classify = !options.classes.empty();
  Matrix<double> codes;
  if (classify) codes = simplex_codes(static_cast<Index>(options.classes.size()));
  recipe.scaling = options.standardize ? standardizing(summary, is_vector_field(kernel), !classify)
                                       : Scaling::identity(rows.input_count(), classify ? 0 : rows.target_count());
  if (!classify) recipe.target_mean = summary.target_mean;
  DataFacts facts;
  facts.inputs = rows.input_count();
  facts.outputs = recipe.outputs();
  facts.output_names = options.target_names;
  if (needs_median(kernel)) facts.median_distance = median_distance(summary, recipe.scaling);
  if (needs_covariance(kernel)) {
    ScaledRows scaled(rows, recipe.scaling, codes);
    facts.output_covariance = covariance(scaled);
  }
  recipe.kernel = resolve(kernel, facts);
  recipe.schema.targets = options.target_names;
  complete_schema(recipe);
  return recipe;
}

}  // namespace mercer
