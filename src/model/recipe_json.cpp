#include "model/recipe_json.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "kernel/resolve.hpp"
#include "loss/make_loss.hpp"

namespace mercer {

using nlohmann::json;

namespace {

json to_json(const Timeline& t) {
  return {{"format", to_string(t.format)},
          {"first", t.first},
          {"last", t.last},
          {"step", t.step},
          {"months", t.months},
          {"day", t.day},
          {"ordered", t.ordered},
          {"repeats", t.repeats}};
}

DateFormat date_format(const std::string& text) {
  DateFormat format = DateFormat::none;
  if (!parse_date_format(text, format)) fail_file("it has dates of an unknown kind, " + mercer::quoted(text));
  return format;
}

Timeline read_timeline(const json& j) {
  Timeline t;
  t.format = date_format(j.at("format").get<std::string>());
  t.first = j.at("first").get<double>();
  t.last = j.at("last").get<double>();
  t.step = j.at("step").get<double>();
  t.months = j.at("months").get<int>();
  t.day = j.at("day").get<int>();
  t.ordered = j.at("ordered").get<bool>();
  t.repeats = j.at("repeats").get<Index>();
  constexpr int most_months = 12 * static_cast<int>(last_year);
  const bool calendar = t.months >= 0 && t.months <= most_months && t.day >= (t.months > 0 ? 1 : 0) && t.day <= 31;
  if (!(t.first <= t.last) || !(t.step >= 0) || !calendar || t.repeats < 0) fail_file("its timeline is malformed");
  if (counts_days(t.format)) {  // days that have a date
    format_days(t.first, t.format);
    format_days(t.last, t.format);
  }
  return t;
}

json to_json(const GramSpectrum& s) {
  return {{"eigenvalues", s.values}, {"trace", s.trace}, {"largest_kernel", s.largest_kernel}, {"rows", s.rows}};
}

GramSpectrum read_spectrum(const json& j) {
  constexpr Index most_rows = Index{1} << 20;  // many times what a recipe samples: bounds the search for the dimension
  GramSpectrum s;
  s.values = j.at("eigenvalues").get<std::vector<double>>();
  s.trace = j.at("trace").get<double>();
  s.largest_kernel = j.at("largest_kernel").get<double>();
  s.rows = j.at("rows").get<Index>();
  const double known = std::accumulate(s.values.begin(), s.values.end(), 0.0);
  s.missed = std::max(0.0, s.trace - known);
  const bool positive = std::ranges::all_of(s.values, [](double v) { return v > 0; });
  if (!std::ranges::is_sorted(s.values, std::greater()) || !positive || !(s.trace >= 0) || !std::isfinite(s.trace) ||
      !(known <= 1.001 * s.trace) || !(s.largest_kernel >= 0) || s.rows < s.rank() || s.rows > most_rows)
    fail_file("its spectrum is malformed");
  return s;
}

}  // namespace

void write_recipe(const Recipe& recipe, json& j, TensorFile& file) {
  j["kernel"] = to_string(recipe.kernel);
  j["map"] = recipe.map_text();
  j["seed"] = std::to_string(recipe.seed());  // 64 bits do not fit a JSON number everywhere
  j["intercept"] = recipe.intercept;
  j["precision"] = recipe.precision == Precision::single_ ? "float32" : "float64";
  j["classes"] = recipe.classes;
  j["loss"] = recipe.loss;
  j["levels"] = recipe.levels;
  j["non_crossing"] = recipe.non_crossing;
  json inputs = json::array();
  for (const InputColumn& column : recipe.schema.inputs) {
    inputs.push_back({{"name", column.name}, {"categories", column.categories}, {"fill", column.fill}});
    if (column.dates != DateFormat::none) inputs.back()["dates"] = to_string(column.dates);
  }
  j["inputs"] = inputs;
  j["targets"] = recipe.schema.targets;
  j["weights"] = recipe.schema.weights;
  if (recipe.timeline) j["timeline"] = to_json(*recipe.timeline);
  if (recipe.spectrum) j["spectrum"] = to_json(*recipe.spectrum);
  file.add("scaling.input_shift", recipe.scaling.input_shift);
  file.add("scaling.input_scale", recipe.scaling.input_scale);
  file.add("scaling.target_shift", recipe.scaling.target_shift);
  file.add("scaling.target_scale", recipe.scaling.target_scale);
  file.add("target_mean", recipe.target_mean);
}

Recipe read_recipe(const json& j, const TensorFile& file, const std::string& path) {
  try {
    Recipe recipe;
    recipe.kernel = parse_kernel(j.at("kernel").get<std::string>());
    parse_map(j.at("map").get<std::string>(), recipe);
    recipe.set_seed(std::stoull(j.at("seed").get<std::string>()));
    recipe.intercept = j.at("intercept").get<bool>();
    recipe.precision = parse_precision(j.at("precision").get<std::string>());
    recipe.classes = j.at("classes").get<std::vector<std::string>>();
    recipe.loss = j.value("loss", "square");
    recipe.levels = j.value("levels", std::vector<double>());
    recipe.non_crossing = j.value("non_crossing", false);
    for (const json& column : j.at("inputs")) {
      recipe.schema.inputs.push_back({column.at("name").get<std::string>(),
                                      column.at("categories").get<std::vector<std::string>>(),
                                      column.at("fill").get<double>(), date_format(column.value("dates", "none"))});
    }
    recipe.schema.targets = j.at("targets").get<std::vector<std::string>>();
    recipe.schema.weights = j.at("weights").get<std::string>();
    recipe.schema.classes = recipe.classes;
    if (j.contains("timeline")) recipe.timeline = read_timeline(j.at("timeline"));
    if (j.contains("spectrum")) recipe.spectrum = read_spectrum(j.at("spectrum"));  // older files lack it
    recipe.scaling.input_shift = file.vector("scaling.input_shift");
    recipe.scaling.input_scale = file.vector("scaling.input_scale", recipe.inputs());
    recipe.scaling.target_shift = file.vector("scaling.target_shift");
    recipe.scaling.target_scale =
        file.vector("scaling.target_scale", static_cast<Index>(recipe.scaling.target_shift.size()));
    recipe.target_mean = file.vector("target_mean", static_cast<Index>(recipe.scaling.target_shift.size()));
    for (const auto* scales : {&recipe.scaling.input_scale, &recipe.scaling.target_scale}) {
      for (const double s : *scales) {
        if (!(s > 0)) fail_file("a scale is not positive");
      }
    }
    if (recipe.inputs() < 1 || recipe.outputs() < 1) fail_file("it has no inputs or no outputs");
    make_loss(recipe.loss, recipe.outputs());
    if (!recipe.levels.empty() && recipe.scaling.target_shift.size() != 1) fail_file("its quantiles are not of one target");
    complete_schema(recipe);
    if (recipe.schema.input_count() != recipe.inputs()) {
      fail_file("its columns and its scaling disagree about the number of inputs");
    }
    if (recipe.timeline && recipe.inputs() != 1) fail_file("it has a timeline, and yet several inputs");
    DataFacts facts;
    facts.inputs = recipe.inputs();
    facts.outputs = recipe.outputs();
    if (needs_median(recipe.kernel) || needs_covariance(recipe.kernel)) fail_file("its kernel is not resolved");
    for (const OperatorTerm& term : recipe.kernel.terms) {
      const auto* form = std::get_if<Decomposable>(&term.form);
      if (form != nullptr && std::holds_alternative<GraphOutputs>(form->outputs))
        fail_file("its kernel refers to another file");
    }
    recipe.kernel = resolve(recipe.kernel, facts);
    return recipe;
  } catch (const Error& e) {
    fail_file(path + ": " + e.what());
  } catch (const std::exception& e) {
    fail_file(path + ": the recipe inside is malformed (" + mercer::quoted(e.what()) + ")");
  }
}

json to_json(const FitSummary& s) {
  json j = {{"n", s.rows},
            {"weight", s.weight},
            {"inputs", s.inputs},
            {"outputs", s.outputs},
            {"features", s.features},
            {"parameters", s.parameters},
            {"kernel", s.kernel},
            {"map", s.map},
            {"sampling", s.sampling},
            {"anchors", s.anchors},
            {"loss", s.loss},
            {"solver", s.solver},
            {"precision", s.precision},
            {"gram", s.gram},
            {"spread_error", s.spread_error},
            {"plan", s.plan},
            {"penalty", s.penalty},
            {"penalty_chosen", s.penalty_chosen},
            {"leave_one_out_rows", s.leave_one_out_rows},
            {"degrees_of_freedom", s.degrees_of_freedom},
            {"iterations", s.iterations},
            {"residual", s.residual},
            {"status", s.status},
            {"notes", s.notes},
            {"seconds", s.seconds},
            {"peak_memory_bytes", s.peak_memory_bytes}};
  j["objective"] = s.objective ? json(*s.objective) : json(nullptr);
  j["interval_level"] = s.interval_level ? json(*s.interval_level) : json(nullptr);
  j["calibration_rows"] = s.calibration_rows;
  j["process"] = s.process;
  j["nlml"] = s.nlml ? json(*s.nlml) : json(nullptr);
  j["gap"] = s.gap ? json(*s.gap) : json(nullptr);
  j["leave_one_out_rmse"] = s.leave_one_out_rmse ? json(*s.leave_one_out_rmse) : json(nullptr);
  j["penalty_path"] = json::array();
  for (const auto& [penalty, score] : s.penalty_path) j["penalty_path"].push_back({penalty, score});
  return j;
}

FitSummary summary_from_json(const json& j) {
  FitSummary s;
  s.rows = j.at("n").get<Index>();
  s.weight = j.at("weight").get<double>();
  s.inputs = j.at("inputs").get<Index>();
  s.outputs = j.at("outputs").get<Index>();
  s.features = j.at("features").get<Index>();
  s.parameters = j.at("parameters").get<Index>();
  s.kernel = j.at("kernel").get<std::string>();
  s.map = j.at("map").get<std::string>();
  s.sampling = j.at("sampling").get<std::string>();
  s.anchors = j.value("anchors", Index{0});  // files from before sketches lack it
  s.solver = j.at("solver").get<std::string>();
  s.precision = j.at("precision").get<std::string>();
  s.gram = j.value("gram", "");  // files from before low precision lack it and what goes with it
  s.spread_error = j.value("spread_error", 0.0);
  s.plan = j.value("plan", "");
  s.loss = j.value("loss", "square");
  if (j.contains("objective") && !j.at("objective").is_null()) s.objective = j.at("objective").get<double>();
  if (j.contains("gap") && !j.at("gap").is_null()) s.gap = j.at("gap").get<double>();
  // files from before intervals lack them
  if (j.contains("interval_level") && !j.at("interval_level").is_null())
    s.interval_level = j.at("interval_level").get<double>();
  s.process = j.value("process", "");
  if (j.contains("nlml") && !j.at("nlml").is_null()) s.nlml = j.at("nlml").get<double>();
  s.calibration_rows = j.value("calibration_rows", Index{0});
  s.penalty = j.at("penalty").get<double>();
  s.penalty_chosen = j.at("penalty_chosen").get<bool>();
  if (!j.at("leave_one_out_rmse").is_null()) s.leave_one_out_rmse = j.at("leave_one_out_rmse").get<double>();
  s.leave_one_out_rows = j.at("leave_one_out_rows").get<Index>();
  s.degrees_of_freedom = j.at("degrees_of_freedom").get<double>();
  s.iterations = j.at("iterations").get<int>();
  s.residual = j.at("residual").get<double>();
  s.status = j.at("status").get<std::string>();
  s.notes = j.at("notes").get<std::vector<std::string>>();
  s.seconds = j.at("seconds").get<std::map<std::string, double>>();
  s.peak_memory_bytes = j.at("peak_memory_bytes").get<Index>();
  for (const json& pair : j.at("penalty_path"))
    s.penalty_path.emplace_back(pair.at(0).get<double>(), pair.at(1).get<double>());
  return s;
}

json metadata_json(const TensorFile& file, const std::string& key, const std::string& path) {
  const auto entry = file.metadata.find(key);
  if (entry == file.metadata.end()) fail_file(path + ": it lacks the entry '" + key + "'");
  json parsed = json::parse(entry->second, nullptr, false);
  if (!parsed.is_object()) fail_file(path + ": the entry '" + key + "' is malformed");
  return parsed;
}

void check_kind(const TensorFile& file, const std::string& kind, const std::string& path) {
  const auto found = file.metadata.find("mercer.kind");
  const auto format = file.metadata.find("mercer.format");
  if (found == file.metadata.end() || format == file.metadata.end())
    fail_file(path + ": this is a safetensors file, but not one of Mercer's");
  if (found->second != kind)
    fail_file(path + ": this file holds " + mercer::quoted(found->second) + ", and what is needed here is a " + kind +
              (kind == "statistics" ? " file" : ""));
  if (format->second != std::to_string(format_version)) {
    fail_file(path + ": written in format " + mercer::quoted(format->second) + ", and this program reads format " +
              std::to_string(format_version) + "; use the Mercer that wrote it, or a newer one");
  }
}

}  // namespace mercer
