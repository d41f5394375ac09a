// What info tells of the kernel of a model and of its sketch.
#include "info_kernel.hpp"

#include <nlohmann/json.hpp>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "common.hpp"
#include "model/conformal.hpp"
#include "model/plan_cost.hpp"
#include "model/state.hpp"
#include "theory_words.hpp"

namespace mercer::cli {
namespace {

/// "300 rows that it keeps"
std::string source_words(const Diagnosis& d) {
  const std::string count = counted(d.spectrum.rows, "row");
  switch (d.source) {
    case Diagnosis::Source::kept_rows:
      return count + " that it keeps";
    case Diagnosis::Source::sample_at_fit:
      return count + " sampled at the fit";
    case Diagnosis::Source::data:
      break;
  }
  return d.spectrum.rows < d.rows ? count + " sampled from the data" : "all " + count;
}

const char* source_name(Diagnosis::Source source) {
  switch (source) {
    case Diagnosis::Source::kept_rows:
      return "kept rows";
    case Diagnosis::Source::sample_at_fit:
      return "sample at the fit";
    case Diagnosis::Source::data:
      break;
  }
  return "data";
}

}  // namespace

std::optional<Diagnosis> diagnose(const Model& model, const Arguments& a) {
  if (a.files.size() == 1) {
    if (a.has("holdout") || a.has("split"))
      fail_argument("--holdout and --split say which rows of the data were fitted; name the training data after the model");
    return mercer::diagnose(model);
  }
  check_wishes(0.5, a.number("confidence"));
  const Recipe& recipe = model.state().recipe;
  TerminalProgress progress(a.flag("quiet"));
  const auto data = open_like({a.files.begin() + 1, a.files.end()}, recipe.schema, a, false);
  std::optional<SplitRows> train;
  RowSource* rows = data.get();
  if (a.has("holdout")) rows = &train.emplace(*rows, holdout_split(a, recipe.seed()), SplitRows::Part::train);
  std::optional<ConformalRows> parts;
  if (model.has_intervals()) {
    FitOptions options;
    options.conformal = model.summary().interval_level;
    options.time_order = in_time_order(a);
    options.seed = recipe.seed();
    rows = &parts.emplace(*rows, options).train;
  }
  return mercer::diagnose(model, *rows, a.number("confidence"), a.bytes("memory"), &progress);
}

void tell(const Console& console, const Diagnosis& d, const Model& model, double confidence) {
  console.say("spectrum   of K/n from " + source_words(d) + ": " + eigenvalue_words(d.spectrum));
  console.say("           " + radius_words(d.radius));
  if (!d.sketch) return;
  console.say("sketch     mean error " + brief(d.sketch->error.mean) + ", largest error " + brief(d.sketch->error.largest) +
              " relative to k(x, x) at the training rows");
  const bool pivoted = model.state().recipe.sketch.law == SketchLaw::rp_cholesky;
  console.say("           " + (pivoted ? pivots_words : satisfied_words(d.sketch->satisfied)));
  if (d.sketch->bound) console.say("risk       in excess at most " + bound_words(*d.sketch->bound, confidence));
}

nlohmann::json to_json(const Diagnosis& d, double confidence) {
  nlohmann::json json = {{"n", d.rows}, {"source", source_name(d.source)}, {"sketch", nullptr}};
  add_spectrum(d.spectrum, json);
  add_radius(d.radius, json);
  if (!d.sketch) return json;
  nlohmann::json sketch = {{"mean_error", d.sketch->error.mean}, {"largest_error", d.sketch->error.largest}};
  add_satisfied(d.sketch->satisfied, sketch);
  sketch["confidence"] = confidence;
  sketch["risk_bound"] = bound_json(d.sketch->bound);
  json["sketch"] = sketch;
  return json;
}

}  // namespace mercer::cli
