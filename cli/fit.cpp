#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/fail.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "common.hpp"
#include "io/split.hpp"
#include "io/tensor_file.hpp"
#include "model/conformal.hpp"
#include "model/fit.hpp"
#include "model/learned.hpp"
#include "model/recipe_json.hpp"
#include "model/state.hpp"
#include "model/statistics_file.hpp"
#include "tuning.hpp"

namespace mercer::cli {
namespace {

/// The recipe of --like FILE, a model or a statistics file.
Recipe recipe_like(const std::string& path) {
  const TensorFile file = TensorFile::load(path);
  const auto kind = file.metadata.find("mercer.kind");
  if (kind != file.metadata.end() && kind->second == "statistics") return load_statistics(path).recipe;
  const Model model = Model::load(path);
  if (!model.summary().process.empty())
    fail_argument(
        path +
        " is a Gaussian process, whose noise and mean a recipe does not hold; fit with --gp again, or see score --rolling");
  return model.state().recipe;
}

void refuse_with_like(const Arguments& a) {
  for (const char* name : {"target", "inputs", "kernel", "map", "weights", "precision", "no-standardize", "no-intercept",
                           "seed", "one-hot", "classify", "dates", "loss", "quantiles", "non-crossing"}) {
    if (a.has(name)) fail_argument(std::string("--") + name + " cannot be given with --like, which already says it");
  }
}

struct Opened {
  std::unique_ptr<Dataset> data;
  Recipe recipe;
  bool prepared = false;
};

/// The inputs of --grid FILE, row after row.
std::vector<double> read_grid(const Arguments& a, const Schema& schema) {
  if (!a.flag("non-crossing")) fail_argument("--grid goes with --non-crossing: it says where quantiles must be in order");
  const std::unique_ptr<Dataset> data = open_like({a.text("grid")}, schema, a, true);
  std::vector<double> grid;
  RowBlock block;
  data->rewind();
  while (data->next(4096, block)) {
    for (Index i = 0; i < block.rows(); ++i) grid.insert(grid.end(), block.inputs.row(i).begin(), block.inputs.row(i).end());
  }
  return grid;
}

Opened open_training(const Arguments& a, FitOptions& options) {
  Opened opened;
  if (a.has("like")) {
    refuse_with_like(a);
    opened.recipe = recipe_like(a.text("like"));
    opened.prepared = true;
    opened.data = open_like(a.files, opened.recipe.schema, a, false);
  } else {
    opened.data = open_dataset(a.files, dataset_options(a));
  }
  require_targets(*opened.data, a);
  describe(*opened.data, options);
  if (a.has("grid")) options.grid = read_grid(a, opened.data->schema());
  return opened;
}

std::string solver_words(const FitSummary& s) {
  if (!s.gram.empty()) {
    const std::string spread = spread_words(s);
    return "Gram " + s.gram + ", refined to " + brief(s.residual) + " in " + counted(s.iterations, "pass") +
           (spread.empty() ? "" : ", " + spread);
  }
  if (s.gap) {
    return "loss " + s.loss + (s.status == "ok" ? " solved to" : " stopped at") + " a duality gap of " + brief(*s.gap) +
           " in " + counted(s.iterations, "pass");
  }
  return (s.loss == "square" ? "" : "loss " + s.loss + ", ") + "solved by " + s.solver +
         (s.iterations > 0 ? " in " + counted(s.iterations, "iteration") : "");
}

std::string penalty_words(const FitSummary& s) {
  std::string words = "penalty " + brief(s.penalty);
  if (!s.penalty_chosen) return words;
  if (s.objective) return words + " (least loss on held-out rows)";
  words += " (least leave-one-out error";
  if (s.leave_one_out_rmse) words += ", RMSE " + brief(*s.leave_one_out_rmse) + " in scaled units";
  return words + ")";
}

void tell_ridge(const Console& console, const FitSummary& s) {
  if (!s.plan.empty() && !TerminalProgress::watched()) console.say("plan: " + s.plan);
  console.say("kernel " + s.kernel);
  console.say("map " + s.map + (s.sampling.empty() ? "" : " (" + s.sampling + ")") + ": " +
              counted(s.features, s.sampling.empty() ? "anchor" : "feature") + ", " +
              (s.anchors > 0 ? counted(s.anchors, "anchor") + ", " : "") + counted(s.parameters, "unknown") + ", " +
              solver_words(s));
  console.say(penalty_words(s) + (s.degrees_of_freedom > 0 ? ", " + freedom_words(s) : ""));
}

void tell_process(const Console& console, const Model& model) {
  const FitSummary& s = model.summary();
  console.say("Gaussian process (" + s.process + ") learned in " + std::to_string(s.iterations) + " steps of " + s.solver +
              ", negative log marginal likelihood " + brief(s.nlml.value_or(0)) + " (scaled units)");
  if (!learned_mixture(model.state(), 0)) console.say("kernel " + s.kernel);
  const std::vector<std::string> names = model.state().recipe.output_names();
  for (Index a = 0; a < model.outputs(); ++a) {
    for (const std::string& words : spectrum_words(model, a))
      console.say("  " + (model.outputs() > 1 ? names[static_cast<std::size_t>(a)] + ": " : "") + words);
  }
}

/// What a fit took at the most, and why that may be more than it was to take.
std::string memory_words(const FitSummary& s, Index budget) {
  std::string words = "at most " + human_bytes(static_cast<double>(s.peak_memory_bytes)) + " resident";
  if (s.peak_memory_bytes <= budget) return words;
  words += " (more than --memory " + human_bytes(static_cast<double>(budget));
  const bool small = static_cast<double>(s.peak_memory_bytes - budget) <= 2.5 * blocks_bytes;
  return words +
         (small ? ": the program, blocks of rows and matrices of up to " + human_bytes(blocks_bytes) + " are not counted)"
                : ")");
}

void tell(const Console& console, const Model& model, const FitSummary& s, const Dataset& data, const std::string& output,
          Index budget) {
  const std::vector<std::string>& classes = data.schema().classes;
  if (data.rows_dropped() > 0) console.say(counted(data.rows_dropped(), "row") + " with missing cells left out");
  if (data.cells_filled() > 0) console.say(counted(data.cells_filled(), "missing cell") + " filled with column means");
  for (const InputColumn& column : data.schema().inputs) {
    if (counts_days(column.dates))
      console.say("column " + mercer::quoted(column.name) + " read as " + date_words(column.dates));
  }
  console.say("fitted " + counted(s.rows, "row") + ", " + counted(s.inputs, "input") + ", " + counted(s.outputs, "output"));
  if (!classes.empty()) {
    constexpr std::size_t shown = 10;
    std::vector<std::string> names(classes.begin(),
                                   classes.begin() + static_cast<std::ptrdiff_t>(std::min(shown, classes.size())));
    if (classes.size() > shown) names.emplace_back("…");
    console.say("classifying into " + std::to_string(classes.size()) + " classes: " + join(names, ", "));
  }
  if (s.process.empty()) {
    tell_ridge(console, s);
  } else {
    tell_process(console, model);
  }
  if (s.interval_level) console.say("intervals " + interval_promise(s));
  for (const auto& note : s.notes) console.say("note: " + note);
  console.say("took " + human_seconds(s.seconds.at("total")) + ", " + memory_words(s, budget));
  if (!output.empty()) {
    console.say("wrote " + output);
  } else {
    console.say("nothing written: give -o model.mercer to keep the model");
  }
}

/// {"date": "yyyymmdd"}: the input columns that hold times, and how.
nlohmann::json date_columns(const Schema& schema) {
  nlohmann::json json = nlohmann::json::object();
  for (const InputColumn& column : schema.inputs) {
    if (column.dates != DateFormat::none) json[column.name] = to_string(column.dates);
  }
  return json;
}

/// What --holdout makes of the rows.
struct Parts {
  Parts(Dataset& data, const Split& split)
      : train(data, split, SplitRows::Part::train), test(data, split, SplitRows::Part::test) {}
  SplitRows train;
  SplitRows test;
};

/// Rows → recipe → model; with intervals, recipe and configuration too come from the training part alone.
Model fit_rows(RowSource& rows, Opened& opened, const Arguments& a, const Console& console, FitOptions options,
               nlohmann::json& json) {
  std::unique_ptr<ConformalRows> parts;
  if (options.conformal) parts = std::make_unique<ConformalRows>(rows, options);
  RowSource& train = parts ? static_cast<RowSource&>(parts->train) : rows;
  if (a.flag("tune")) options = tune_rows(train, a, console, options, json);
  if (!opened.prepared) {
    opened.recipe = prepare(train, options);
    opened.recipe.schema = opened.data->schema();
  }
  set_timeline(rows, opened.recipe);
  return parts ? fit_calibrated(*parts, opened.recipe, options) : fit_recipe(train, opened.recipe, options);
}

}  // namespace

int run_fit(const Arguments& a) {
  const Stopwatch total;
  const Console console(a);
  TerminalProgress progress(a.flag("quiet"));
  warn_about_backend(console);
  FitOptions options = fit_options(a);
  const bool in_order = in_time_order(a);
  if (a.has("split") && !a.has("holdout") && !options.conformal && !a.flag("tune"))
    fail_argument("--split says what --holdout, --conformal and --tune keep out; give one of them, e.g. --holdout 0.2");
  check_tuning(a);
  if (a.has("like") && options.conformal) {
    fail_argument(
        "--conformal cannot be given with --like: its promise holds when nothing of the model came from the calibration "
        "rows, the recipe included");
  }
  options.time_order = in_order;
  check_output(a);
  options.progress = &progress;
  const Stopwatch reading;
  Opened opened = open_training(a, options);
  const double read_seconds = reading.seconds();

  Dataset& data = *opened.data;
  std::unique_ptr<Parts> parts;
  if (a.has("holdout")) parts = std::make_unique<Parts>(data, holdout_split(a, options.seed));
  RowSource& rows = parts ? static_cast<RowSource&>(parts->train) : data;
  nlohmann::json tuning;
  const Model model = fit_rows(rows, opened, a, console, options, tuning);
  if (a.has("output")) model.save(a.text("output"));

  FitSummary summary = model.summary();
  if (options.map == "auto" && !a.has("like") && summary.loss != "square" && summary.anchors > 0)
    summary.notes.push_back("the map " + summary.map + " was chosen for few rows and this loss; --map names another");
  summary.seconds["read"] = read_seconds;
  summary.seconds["total"] = total.seconds();
  if (a.has("trace")) write_trace(model, a.text("trace"));
  tell(console, model, summary, data, a.text("output"), a.bytes("memory"));
  nlohmann::json json = to_json(summary);
  if (a.flag("tune")) json["tuning"] = tuning;
  json["rows_dropped"] = data.rows_dropped();
  json["cells_filled"] = data.cells_filled();
  json["dates"] = date_columns(data.schema());
  json["model"] = a.text("output");
  if (parts) {
    const Scores scores = score_rows(model, parts->test, &progress);
    console.say("\nheld-out rows:\n" + to_text(scores, model.classes()));
    json["holdout"] = to_json(scores, model.classes());
  }
  console.emit(json);
  return 0;
}

int run_accumulate(const Arguments& a) {
  const Console console(a);
  TerminalProgress progress(a.flag("quiet"));
  if (!a.has("output")) fail_argument("mercer accumulate needs -o FILE.stats");
  check_output(a);
  FitOptions options = fit_options(a);
  options.progress = &progress;
  Opened opened = open_training(a, options);
  if (!opened.prepared) {
    if (options.map == "auto") options.map = chosen_features(options, opened.data->row_count());
    opened.recipe = prepare(*opened.data, options);
    opened.recipe.schema = opened.data->schema();
  }
  opened.recipe.timeline.reset();  // a shard knows of its own rows only
  const RidgeStatistics statistics = accumulate_recipe(*opened.data, opened.recipe, &progress);
  save_statistics(a.text("output"), opened.recipe, statistics);
  console.say("accumulated " + counted(statistics.rows, "row") + ", " + counted(statistics.columns, "feature") + "; wrote " +
              a.text("output"));
  console.emit({{"n", statistics.rows}, {"features", statistics.columns}, {"statistics", a.text("output")}});
  return 0;
}

int run_merge(const Arguments& a) {
  const Console console(a);
  if (!a.has("output")) fail_argument("mercer merge needs -o FILE.stats");
  check_output(a);
  StatisticsFile all = load_statistics(a.files.front());
  for (std::size_t k = 1; k < a.files.size(); ++k) {
    const StatisticsFile next = load_statistics(a.files[k]);
    if (!same_recipe(all.recipe, next.recipe)) {
      fail_argument(a.files[k] + " was made by another recipe than " + a.files.front() +
                    "; accumulate every shard but the first with --like " + a.files.front());
    }
    merge(all.statistics, next.statistics);
  }
  save_statistics(a.text("output"), all.recipe, all.statistics);
  console.say("merged " + counted(static_cast<Index>(a.files.size()), "file") + ", " + counted(all.statistics.rows, "row") +
              "; wrote " + a.text("output"));
  console.emit({{"n", all.statistics.rows}, {"files", a.files.size()}, {"statistics", a.text("output")}});
  return 0;
}

int run_solve(const Arguments& a) {
  const Console console(a);
  if (!a.has("output")) fail_argument("mercer solve needs -o FILE.mercer");
  check_output(a);
  const StatisticsFile file = load_statistics(a.files.front());
  FitOptions options = fit_options(a);
  if (options.solver == "cg" || options.solver == "sgd")
    fail_argument("--solver " + options.solver + " needs rows; statistics are solved by cholesky or eigen");
  const Model model = solve_statistics(file.recipe, file.statistics, options);
  model.save(a.text("output"));
  const FitSummary& s = model.summary();
  console.say("solved " + counted(s.rows, "row") + " by " + s.solver + ", penalty " + brief(s.penalty));
  for (const auto& note : s.notes) console.say("note: " + note);
  console.say("wrote " + a.text("output"));
  console.emit(to_json(s));
  return 0;
}

}  // namespace mercer::cli
