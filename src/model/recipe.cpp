#include "model/recipe.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "kernel/resolve.hpp"
#include "loss/make_loss.hpp"
#include "map/anchor_map.hpp"
#include "model/diagnose.hpp"
#include "model/process_text.hpp"

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

/// p for a loss that is not yet settled.
Index loss_outputs(const Recipe& recipe, Index targets) {
  const TargetCoding coding = target_coding(recipe.loss, static_cast<Index>(recipe.classes.size()), 0);
  return coding.classifies() ? coding.codes.cols() : targets;
}

/// Loss and levels from the options, in agreement with each other and with the targets.
void settle_loss(const FitOptions& options, Index targets, Recipe& recipe) {
  recipe.loss = options.loss;
  recipe.non_crossing = options.non_crossing;
  if (!options.quantiles.empty()) {
    if (options.loss != "square" && options.loss != "pinball")
      fail_argument("quantiles are fitted with the loss pinball, not " + mercer::quoted(options.loss));
    recipe.levels = options.quantiles;
    recipe.loss = "pinball:";
    for (std::size_t k = 0; k < recipe.levels.size(); ++k) recipe.loss += (k > 0 ? "," : "") + shortest(recipe.levels[k]);
  } else if (targets == 1 && (options.loss.starts_with("pinball:") || options.loss.starts_with("expectile:"))) {
    for (const std::string& level : split(options.loss.substr(options.loss.find(':') + 1), ',')) {
      double value = 0;
      if (parse_number(level, value)) recipe.levels.push_back(value);
    }
  }
  constexpr std::size_t most_levels = 200;
  if (recipe.levels.size() > most_levels)
    fail_argument(std::to_string(recipe.levels.size()) + " levels at once are too many; at most 200");
  if (!recipe.levels.empty() && targets != 1) {
    fail_argument("several quantiles at once are of one target, and there are " + std::to_string(targets) +
                  "; fit each target by itself");
  }
  const Index outputs = recipe.levels.empty() ? loss_outputs(recipe, targets) : static_cast<Index>(recipe.levels.size());
  recipe.loss = make_loss(recipe.loss, outputs)->text();
  if (recipe.non_crossing && recipe.levels.size() < 2)
    fail_argument("--non-crossing needs several quantiles, e.g. --quantiles 0.1,0.5,0.9");
  if (recipe.non_crossing && !recipe.intercept) fail_argument("--non-crossing needs the intercept");
}

/// Losses that grow no faster than the residual: outliers should not set the unit it is measured in.
bool is_robust(const std::string& loss, Index outputs) {
  return std::isfinite(make_loss(loss, outputs)->lipschitz());
}

/// A quantile(...) matrix must be about the levels that are fitted: others would tie them by wrong distances.
void check_levels(const std::vector<double>& levels, const QuantileOutputs& named) {
  if (named.levels == levels) return;
  const auto list = [](const std::vector<double>& values) {
    std::vector<std::string> texts;
    for (const double v : values) texts.push_back(shortest(v));
    return join(texts, ",");
  };
  fail_argument("the kernel couples the levels " + list(named.levels) + ", but the quantiles that are fitted are " +
                list(levels) + "; name the same in both, or leave the output matrix out");
}

/// Levels that share a plain kernel are tied to each other as in paper 2: A_ij = exp(-(τ_i - τ_j)²).
void couple_levels(const std::vector<double>& levels, OperatorKernel& kernel) {
  for (OperatorTerm& term : kernel.terms) {
    auto* form = std::get_if<Decomposable>(&term.form);
    if (form == nullptr) continue;
    if (const auto* named = std::get_if<QuantileOutputs>(&form->outputs)) check_levels(levels, *named);
    if (levels.size() > 1 && std::holds_alternative<IdentityOutputs>(form->outputs))
      form->outputs = QuantileOutputs{levels, 1.0};
  }
}

}  // namespace

std::string chosen_map(const FitOptions& options, Index rows, Index outputs) {
  constexpr Index exact_rows = 1000;
  // 0.7 s with the choice of a penalty; 2000 features of fields take 1 to 28 s (2-D and 3-D, 300 to 1000 rows).
  constexpr Index exact_field_unknowns = 1500;
  const bool square = options.loss == "square" && options.quantiles.empty();
  const bool few = is_vector_field(parse_kernel(options.kernel)) ? rows <= exact_field_unknowns / std::max<Index>(1, outputs)
                                                                 : rows <= exact_rows;
  if (square && options.solver == "auto" && few) return "exact";
  return chosen_features(options, rows);
}

std::string chosen_features(const FitOptions& options, Index rows) {
  constexpr Index few_rows = 3000;
  constexpr Index landmarks = 300;
  const bool square = options.loss == "square" && options.quantiles.empty();
  if (square || rows > few_rows || !has_one_scalar_kernel(parse_kernel(options.kernel))) return "fourier:1000";
  return "nystrom:" + std::to_string(std::clamp<Index>(rows, 1, landmarks));
}

Precision parse_precision(const std::string& text) {
  if (text == "float32") return Precision::single_;
  if (text == "float64" || text == "auto") return Precision::double_;
  fail_argument("precision " + mercer::quoted(text) + " is not auto, float32 or float64" +
                did_you_mean(text, {"auto", "float32", "float64"}));
}

Uncertainty parse_uncertainty(const std::string& text) {
  if (text == "auto") return Uncertainty::automatic;
  if (text == "full") return Uncertainty::full;
  if (text == "samples") return Uncertainty::samples;
  if (text == "none") return Uncertainty::none;
  fail_argument("uncertainty " + mercer::quoted(text) + " is not auto, full, samples or none" +
                did_you_mean(text, {"auto", "full", "samples", "none"}));
}

std::vector<std::string> Recipe::output_names() const {
  std::vector<std::string> names;
  for (const double level : levels)
    names.push_back(schema.targets.front() + (loss.starts_with("expectile") ? "_e" : "_q") + shortest(level));
  if (!names.empty()) return names;
  names = schema.targets;
  for (auto k = static_cast<Index>(names.size()); k < outputs(); ++k) names.push_back("y" + std::to_string(k));
  return names;
}

void complete_schema(Recipe& recipe) {
  Schema& schema = recipe.schema;
  if (schema.inputs.empty()) {
    for (Index k = 0; k < recipe.inputs(); ++k) schema.inputs.push_back({"x" + std::to_string(k), {}, 0});
  }
  const Index targets = recipe.classes.empty() ? static_cast<Index>(recipe.scaling.target_shift.size()) : 1;
  for (auto k = static_cast<Index>(schema.targets.size()); k < targets; ++k)
    schema.targets.push_back("y" + std::to_string(k));
  schema.classes = recipe.classes;
}

void set_timeline(RowSource& rows, Recipe& recipe) {
  recipe.timeline.reset();
  const std::vector<InputColumn>& inputs = recipe.schema.inputs;
  if (inputs.size() == 1 && inputs.front().categories.empty()) recipe.timeline = find_timeline(rows, inputs.front().dates);
}

Recipe prepare(RowSource& rows, const FitOptions& asked) {
  const FitOptions options = process_options(asked);
  Recipe recipe;
  const bool open_map = options.map == "auto";
  if (!open_map) parse_map(options.map, recipe);
  recipe.set_seed(options.seed);
  recipe.precision = parse_precision(options.precision);
  recipe.classes = options.classes;
  recipe.intercept = options.intercept;
  if (rows.target_count() == 0) fail_argument("there is no target to learn; name one");
  settle_loss(options, rows.target_count(), recipe);
  OperatorKernel kernel = parse_kernel(options.kernel);
  if (!recipe.levels.empty()) couple_levels(recipe.levels, kernel);

  const RowSummary summary = summarize(rows, options.progress);
  if (open_map) parse_map(chosen_map(options, summary.rows, rows.target_count()), recipe);
  const bool classify = !options.classes.empty();
  recipe.scaling = options.standardize ? standardizing(summary, is_vector_field(kernel), !classify)
                                       : Scaling::identity(rows.input_count(), classify ? 0 : rows.target_count());
  if (options.standardize && !classify && is_robust(recipe.loss, recipe.outputs()))
    scale_targets_robustly(summary, is_vector_field(kernel), recipe.scaling);
  if (!classify) recipe.target_mean = summary.target_mean;
  DataFacts facts;
  facts.inputs = rows.input_count();
  facts.outputs = recipe.outputs();
  facts.output_names = options.target_names;
  if (needs_median(kernel)) facts.median_distance = median_distance(summary, recipe.scaling);
  if (needs_covariance(kernel)) {
    const TargetCoding coding = recipe.coding();
    ScaledRows scaled(rows, recipe.scaling, coding);
    facts.output_covariance = covariance(scaled);
  }
  recipe.kernel = resolve(kernel, facts);
  const bool certified = recipe.loss != "square" || options.solver == "admm" || options.solver == "adam";
  if (recipe.exact() && certified) {
    // Every row an anchor: features that span the exact solution.
    recipe.map = MapKind::sketch;
    recipe.sketch.law = SketchLaw::nystrom;
    recipe.sketch.size = summary.rows;
    const double bytes = 32.0 * static_cast<double>(summary.rows) * static_cast<double>(summary.rows);
    if (bytes > static_cast<double>(options.memory_bytes)) {
      fail_argument("an exact model of " + human_count(static_cast<double>(summary.rows)) + " rows needs " +
                    human_bytes(bytes) + ", more than the budget; use --map p-sr:200, or raise --memory");
    }
  }
  if (options.gp.kind.empty()) recipe.spectrum = sampled_spectrum(recipe, summary);  // a process learns its kernel first
  recipe.schema.targets = options.target_names;
  complete_schema(recipe);
  return recipe;
}

}  // namespace mercer
