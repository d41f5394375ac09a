#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/fail.hpp"
#include "base/matrix.hpp"
#include "base/progress.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "common.hpp"
#include "io/write.hpp"
#include "model/state.hpp"

namespace mercer::cli {
namespace {

std::vector<std::string> header_of(const Model& model, bool with_std) {
  const Schema& schema = model.state().recipe.schema;
  if (!model.classes().empty()) {
    std::vector<std::string> header = {schema.targets.empty() ? "class" : schema.targets.front()};
    const std::string prefix = model.state().coding.gives_probabilities() ? "probability_" : "score_";
    for (const auto& name : model.classes()) header.push_back(prefix + name);
    return header;
  }
  const std::vector<std::string> targets = model.state().recipe.output_names();
  std::vector<std::string> header = targets;
  if (with_std) {
    for (const auto& name : targets) header.push_back(name + "_std");
  }
  for (const char* end : {"_lower", "_upper"}) {
    if (!model.has_intervals()) break;
    for (const auto& name : schema.targets) header.push_back(name + end);
  }
  return header;
}

void write_block(const Model& model, const RowBlock& block, bool with_std, bool latent, CsvWriter& out) {
  Matrix<double> mean(block.rows(), model.outputs());
  Matrix<double> deviation(with_std ? block.rows() : 0, model.outputs());
  if (with_std) {
    model.predict(block.inputs, mean, deviation, latent);
  } else {
    model.predict(block.inputs, mean);
  }
  const Index intervals = model.has_intervals() ? model.interval_outputs() : 0;
  Matrix<double> lower(block.rows(), intervals);
  Matrix<double> upper(block.rows(), intervals);
  if (intervals > 0) model.predict_interval(block.inputs, lower, upper);
  for (Index i = 0; i < block.rows(); ++i) {
    const std::vector<double> row(mean.row(i).begin(), mean.row(i).end());
    if (!model.classes().empty()) {
      const bool known = !std::isnan(row.front());
      const auto best = static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
      std::vector<std::string> cells = {known ? model.classes()[best] : ""};
      for (const double v : row) cells.push_back(known ? shortest(v) : "");
      out.row(cells);
      continue;
    }
    std::vector<double> values = row;
    if (with_std) values.insert(values.end(), deviation.row(i).begin(), deviation.row(i).end());
    for (const Matrix<double>* bound : {&lower, &upper}) {
      if (intervals > 0) values.insert(values.end(), bound->row(i).begin(), bound->row(i).end());
    }
    out.row(values);
  }
}

}  // namespace

int run_predict(const Arguments& a) {
  constexpr Index block_rows = 4096;
  const Stopwatch total;
  const Console console(a);
  TerminalProgress progress(a.flag("quiet"));
  const bool with_std = a.flag("std");
  if (a.flag("latent") && !with_std) fail_argument("--latent goes with --std");
  if (a.flag("json") && !a.has("output")) fail_argument("with --json the predictions need a file of their own: give -o");
  const Model model = Model::load(a.files.front());
  if (with_std && !model.classes().empty())
    fail_argument("--std is for regression, and " + a.files.front() +
                  " tells classes apart; its scores are in the table without --std");
  if (with_std && model.summary().loss != "square") {
    fail_argument("standard deviations come with the square loss, and " + a.files.front() + " was fitted with " +
                  model.summary().loss + "; fit quantiles (--quantiles 0.1,0.5,0.9) or --conformal 0.9 for a spread");
  }
  if (with_std && !model.has_uncertainty()) {
    fail_argument(a.files.front() +
                  " was fitted without what standard deviations need; fit again with --uncertainty full or samples");
  }
  const auto data = open_like({a.files.begin() + 1, a.files.end()}, model.state().recipe.schema, a, true);
  const std::string output = a.has("output") ? a.text("output") : "-";
  CsvWriter out(output, header_of(model, with_std));
  RowBlock block;
  Index rows = 0;
  data->rewind();
  while (data->next(block_rows, block)) {
    write_block(model, block, with_std, a.flag("latent"), out);
    rows += block.rows();
    report(&progress, "predicting", static_cast<double>(rows) / static_cast<double>(std::max<Index>(1, data->row_count())));
  }
  out.commit();
  if (output != "-")
    console.say("predicted " + counted(rows, "row") + " in " + human_seconds(total.seconds()) + "; wrote " + output);
  console.emit({{"n", rows},
                {"outputs", model.outputs()},
                {"columns", header_of(model, with_std)},
                {"predictions", output},
                {"seconds", {{"total", total.seconds()}}},
                {"peak_memory_bytes", peak_memory_bytes()}});
  return 0;
}

int run_score(const Arguments& a) {
  const Stopwatch total;
  const Console console(a);
  TerminalProgress progress(a.flag("quiet"));
  const Model model = Model::load(a.files.front());
  const auto data = open_like({a.files.begin() + 1, a.files.end()}, model.state().recipe.schema, a, false);
  const Scores scores = score_rows(model, *data, &progress);
  console.say(to_text(scores, model.classes()));
  nlohmann::json json = to_json(scores, model.classes());
  json["seconds"] = {{"total", total.seconds()}};
  console.emit(json);
  return 0;
}

}  // namespace mercer::cli
