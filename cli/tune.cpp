#include "model/tune.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "common.hpp"
#include "tuning.hpp"

namespace mercer::cli {
namespace {

const std::vector<std::string> tuning = {"folds",           "metric", "length-factors", "penalties",
                                         "loss-parameters", "sizes",  "trials",         "results"};

TuneOptions tune_options(const Arguments& a, const FitOptions& options) {
  TuneOptions search;
  search.length_factors = number_list(a, "length-factors");
  if (a.text("penalties") != "auto") search.penalties = number_list(a, "penalties");
  if (a.has("loss-parameters")) search.loss_parameters = number_list(a, "loss-parameters");
  if (a.has("sizes")) {
    for (const double size : number_list(a, "sizes")) {
      constexpr double most = 1 << 22;
      if (!(size >= 1 && size <= most) || size != std::floor(size))
        fail_argument("--sizes: " + shortest(size) + " is not a whole number from 1 to " + shortest(most));
      search.sizes.push_back(static_cast<Index>(size));
    }
  }
  if (a.has("trials")) search.trials = static_cast<Index>(a.integer("trials", 1));
  search.folds.folds = static_cast<Index>(a.integer("folds", 2));
  search.folds.in_order = in_time_order(a);
  search.folds.seed = options.seed;
  search.metric = a.text("metric");
  search.results = a.text("results");
  return search;
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// What the user gave, with the best configuration in place of what was searched.
std::string command_line(const Arguments& a, const TuneRow& best) {
  std::vector<std::string> skipped = tuning;
  for (const char* name : {"kernel", "map", "loss", "penalty", "tune", "json", "quiet", "output"})
    skipped.emplace_back(name);
  // To mercer tune these say what to validate on; to fit, what to keep out for good.
  const bool keeps_out = a.flag("tune") && (a.has("holdout") || a.has("conformal"));
  for (const char* name : {"holdout", "split"}) {
    if (!keeps_out) skipped.emplace_back(name);
  }
  std::string line = "mercer fit";
  for (const std::string& file : a.files) line += " " + shell_word(file);
  const auto fit = std::ranges::find(verbs(), std::string("fit"), &Verb::name);
  for (const std::string& name : fit->options) {
    if (!a.has(name) || std::ranges::find(skipped, name) != skipped.end()) continue;
    const auto option = std::ranges::find(option_table(), "--" + name, &OptionSpec::name);
    line += " --" + name + (option->value.empty() ? "" : " " + shell_word(a.text(name)));
  }
  line += " --kernel " + shell_word(best.kernel) + " --map " + shell_word(best.map);
  if (best.loss != "square") line += " --loss " + shell_word(best.loss);
  return line + " --penalty " + shortest(best.penalty) + " -o " +
         (a.has("output") ? shell_word(a.text("output")) : "model.mercer");
}

nlohmann::json row_json(const TuneRow& row) {
  return {{"kernel", row.kernel}, {"map", row.map},
          {"loss", row.loss},     {"penalty", row.penalty},
          {"score", row.score},   {"spread", std::isnan(row.spread) ? nlohmann::json(nullptr) : nlohmann::json(row.spread)}};
}

/// One line per kernel, map and loss, at its best penalty.
std::string summary_table(const TuneResult& result) {
  std::vector<const TuneRow*> kept;
  const bool larger = result.metric == "accuracy";
  for (const TuneRow& row : result.rows) {
    const auto same = std::ranges::find_if(
        kept, [&](const TuneRow* k) { return k->kernel == row.kernel && k->map == row.map && k->loss == row.loss; });
    if (same == kept.end()) {
      kept.push_back(&row);
    } else if (larger ? row.score > (*same)->score : row.score < (*same)->score) {
      *same = &row;
    }
  }
  std::vector<std::vector<std::string>> rows;
  for (const TuneRow* row : kept) {
    rows.push_back({row->kernel, row->map, row->loss, brief(row->penalty), brief(row->score),
                    std::isnan(row->spread) ? "-" : brief(row->spread)});
  }
  return table({"kernel", "map", "loss", "best penalty", result.metric, "std. error"}, rows);
}

/// A search that is stopped leaves what it found in the file of results.
TuneResult tune_or_say(RowSource& rows, const FitOptions& options, const TuneOptions& search) {
  try {
    return tune(rows, options, search);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::interrupted || search.results.empty()) throw;
    throw Error(ErrorKind::interrupted, "stopped at your request; " + search.results +
                                            " has what was found so far, and the same command goes on from there");
  }
}

TuneResult search_and_tell(RowSource& rows, const Arguments& a, const Console& console, const FitOptions& options,
                           const TuneOptions& search, nlohmann::json& json) {
  TuneResult result = tune_or_say(rows, options, search);
  const TuneRow& best = result.rows[result.best];
  const std::string command = command_line(a, best);
  console.say(summary_table(result));
  if (result.reused > 0 && a.has("results"))
    console.say(counted(result.reused, "configuration") + " taken from " + a.text("results"));
  for (const std::string& note : result.notes) console.say("note: " + note);
  console.say("best: " + result.metric + " " + brief(best.score) + " with\n  " + command);
  json = {{"metric", result.metric},     {"best", row_json(best)},  {"command", command},
          {"computed", result.computed}, {"reused", result.reused}, {"notes", result.notes}};
  json["table"] = nlohmann::json::array();
  for (const TuneRow& row : result.rows) json["table"].push_back(row_json(row));
  return result;
}

}  // namespace

void check_tuning(const Arguments& a) {
  if (a.flag("tune")) {
    if (a.has("like")) fail_argument("--tune cannot be given with --like, which already says kernel and map");
    return;
  }
  for (const std::string& name : tuning) {
    if (a.has(name)) fail_argument("--" + name + " belongs to a search; give --tune too");
  }
}

FitOptions tune_rows(RowSource& rows, const Arguments& a, const Console& console, const FitOptions& options,
                     nlohmann::json& json) {
  const TuneResult result = search_and_tell(rows, a, console, options, tune_options(a, options), json);
  return tuned(options, result.rows[result.best]);
}

int run_tune(const Arguments& a) {
  const Console console(a);
  TerminalProgress progress(a.flag("quiet"));
  warn_about_backend(console);
  FitOptions options = fit_options(a);
  options.progress = &progress;
  TuneOptions search = tune_options(a, options);
  if (a.has("holdout")) search.folds.holdout = a.number("holdout");
  if (a.has("holdout") && a.has("folds"))
    fail_argument("--holdout validates on one part, --folds on each of several; give one");
  const auto data = open_dataset(a.files, dataset_options(a));
  require_targets(*data, a);
  describe(*data, options);
  nlohmann::json json;
  search_and_tell(*data, a, console, options, search, json);
  console.emit(json);
  return 0;
}

}  // namespace mercer::cli
