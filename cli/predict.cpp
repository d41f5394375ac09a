#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/fail.hpp"
#include "base/matrix.hpp"
#include "base/progress.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "common.hpp"
#include "model/state.hpp"
#include "pictures.hpp"
#include "table_writer.hpp"

namespace mercer::cli {
namespace {

/// The columns of the predictions alone.
std::vector<std::string> predicted_columns(const Model& model, bool with_std) {
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

/// What to predict, and how to write it: with the time in front of each row when the times come from a horizon.
struct Task {
  const Model& model;
  bool with_std = false;
  bool latent = false;
  const Timeline* timeline = nullptr;
  Index samples = 0;  ///< functions drawn from the posterior
  std::uint64_t seed = 0;

  std::vector<std::string> columns() const {
    std::vector<std::string> all = predicted_columns(model, with_std);
    for (Index s = 0; s < samples; ++s) {
      for (const std::string& name : model.state().recipe.output_names())
        all.push_back(name + "_sample" + std::to_string(s + 1));
    }
    if (timeline != nullptr) all.insert(all.begin(), model.state().recipe.schema.inputs.front().name);
    return all;
  }
};

void write_row(const Task& task, double time, std::vector<std::string> cells, TableWriter& out) {
  if (task.timeline != nullptr) cells.insert(cells.begin(), format_time(*task.timeline, time));
  out.append(cells);
}

void write_block(const Task& task, ConstMatrix inputs, TableWriter& out) {
  const Model& model = task.model;
  const bool with_std = task.with_std;
  Matrix<double> mean(inputs.rows, model.outputs());
  Matrix<double> deviation(with_std ? inputs.rows : 0, model.outputs());
  if (with_std) {
    model.predict(inputs, mean, deviation, task.latent);
  } else {
    model.predict(inputs, mean);
  }
  const Index intervals = model.has_intervals() ? model.interval_outputs() : 0;
  Matrix<double> lower(inputs.rows, intervals);
  Matrix<double> upper(inputs.rows, intervals);
  if (intervals > 0) model.predict_interval(inputs, lower, upper);
  Matrix<double> functions(inputs.rows, task.samples * model.outputs());
  if (task.samples > 0) model.sample(inputs, task.samples, task.seed, functions);
  for (Index i = 0; i < inputs.rows; ++i) {
    const std::vector<double> row(mean.row(i).begin(), mean.row(i).end());
    if (!model.classes().empty()) {
      const bool known = !std::isnan(row.front());
      const auto best = static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
      std::vector<std::string> cells = {known ? model.classes()[best] : ""};
      for (const double v : row) cells.push_back(known ? shortest(v) : "");
      write_row(task, inputs(i, 0), std::move(cells), out);
      continue;
    }
    std::vector<double> values = row;
    if (with_std) values.insert(values.end(), deviation.row(i).begin(), deviation.row(i).end());
    for (const Matrix<double>* bound : {&lower, &upper}) {
      if (intervals > 0) values.insert(values.end(), bound->row(i).begin(), bound->row(i).end());
    }
    values.insert(values.end(), functions.row(i).begin(), functions.row(i).end());
    if (task.timeline == nullptr) {
      out.append(ConstMatrix(values.data(), 1, static_cast<Index>(values.size())));
      continue;
    }
    std::vector<std::string> cells;
    for (const double v : values) cells.push_back(std::isnan(v) ? "" : shortest(v));
    write_row(task, inputs(i, 0), std::move(cells), out);
  }
}

Index predict_horizon(const Task& task, const std::vector<double>& times, TableWriter& out) {
  constexpr Index block_rows = 4096;
  const auto rows = static_cast<Index>(times.size());
  for (Index first = 0; first < rows; first += block_rows) {
    check_stop();
    write_block(task, ConstMatrix(times.data() + first, std::min(block_rows, rows - first), 1), out);
  }
  return rows;
}

Index predict_data(const Task& task, Dataset& data, Progress& progress, TableWriter& out) {
  constexpr Index block_rows = 4096;
  RowBlock block;
  Index rows = 0;
  data.rewind();
  while (data.next(block_rows, block)) {
    write_block(task, block.inputs, out);
    rows += block.rows();
    report(&progress, "predicting", static_cast<double>(rows) / static_cast<double>(std::max<Index>(1, data.row_count())));
  }
  return rows;
}

void check_plot(const Arguments& a) {
  if (a.has("output") && a.text("output") == a.text("plot"))
    fail_argument("-o and --plot name the same file, and cannot both be written to it");
  if (std::ranges::find(a.files, "-") != a.files.end())
    fail_argument("--plot reads the rows once more, and standard input can be read once; give a file");
  check_picture(a.text("plot"), "--plot");
}

/// The picture beside the table: over the training rows and the horizon, or the data.
void draw(const Arguments& a, const Model& model, const std::vector<double>& times, const Console& console) {
  std::unique_ptr<Dataset> data;
  if (times.empty()) data = open_to_draw({a.files.begin() + 1, a.files.end()}, model.state().recipe.schema, a, true);
  std::optional<double> until;
  if (!times.empty()) until = times.back();
  const Picture picture = forecast_picture(model, a.files.front(), data.get(), until);
  write_picture(picture, a.text("plot"));
  for (const std::string& note : picture.notes) console.say("note: " + note);
}

}  // namespace

std::vector<double> horizon_times(const Model& model, const Arguments& a) {
  constexpr std::int64_t most = 10'000'000;
  const std::int64_t steps = a.integer("horizon", 1);
  if (steps > most) fail_argument("--horizon " + a.text("horizon") + " is more than ten million steps");
  if (model.inputs() != 1) {
    fail_argument("--horizon needs a series, and " + a.files.front() + " has " + std::to_string(model.inputs()) +
                  " inputs, whose future it cannot know; give a file of them");
  }
  const auto& timeline = model.state().recipe.timeline;
  if (!timeline) {
    fail_argument(
        a.files.front() +
        " does not say when its training rows stand (it was made from shards, from categories or by an older Mercer); "
        "give a file of times");
  }
  return horizon(*timeline, steps);
}

int run_predict(const Arguments& a) {
  const Stopwatch total;
  const Console console(a);
  TerminalProgress progress(a.flag("quiet"));
  const bool ahead = a.has("horizon");
  if (ahead && a.files.size() > 1)
    fail_argument("--horizon goes on after the training rows by itself; leave out " + a.files[1]);
  if (!ahead && a.files.size() < 2)
    fail_argument("predict takes MODEL DATA..., and 1 file was given; for a series --horizon N needs no data");
  const bool with_std = a.flag("std");
  if (a.flag("latent") && !with_std) fail_argument("--latent goes with --std");
  if (a.has("plot")) check_plot(a);
  if (a.flag("json") && !a.has("output") && !a.has("plot"))
    fail_argument("with --json the predictions need a file of their own: give -o");
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
  const std::string output = a.has("output") ? a.text("output") : "-";
  const bool npy = output.ends_with(".npy");
  if (npy && (ahead || !model.classes().empty())) {
    fail_argument("NPY holds numbers alone, and these predictions have a column of " +
                  std::string(ahead ? "times" : "class names") + ": end -o " + mercer::quoted(output) + " in .csv");
  }
  Task task{model, with_std, a.flag("latent")};
  if (a.has("samples")) task.samples = static_cast<Index>(std::min<std::int64_t>(a.integer("samples", 1), 100000));
  task.seed = static_cast<std::uint64_t>(a.integer("seed", 0));
  std::vector<double> times;
  std::unique_ptr<Dataset> data;
  if (ahead) {
    times = horizon_times(model, a);
    task.timeline = &*model.state().recipe.timeline;
  } else {
    data = open_like({a.files.begin() + 1, a.files.end()}, model.state().recipe.schema, a, true);
  }
  if (a.has("plot")) draw(a, model, times, console);
  if (a.has("plot") && !a.has("output")) {
    console.say("wrote " + a.text("plot"));
    console.emit({{"outputs", model.outputs()}, {"figure", a.text("plot")}, {"seconds", {{"total", total.seconds()}}}});
    return 0;
  }
  TableWriter out(output, npy ? TableWriter::Form::npy : TableWriter::Form::csv, task.columns(),
                  ahead ? static_cast<Index>(times.size()) : data->row_count());
  const Index rows = ahead ? predict_horizon(task, times, out) : predict_data(task, *data, progress, out);
  out.commit();
  if (output != "-")
    console.say("predicted " + counted(rows, "row") + " in " + human_seconds(total.seconds()) + "; wrote " + output +
                (a.has("plot") ? " and " + a.text("plot") : ""));
  nlohmann::json json = {{"n", rows},
                         {"outputs", model.outputs()},
                         {"columns", task.columns()},
                         {"predictions", output},
                         {"seconds", {{"total", total.seconds()}}},
                         {"peak_memory_bytes", peak_memory_bytes()}};
  if (a.has("plot")) json["figure"] = a.text("plot");
  console.emit(json);
  return 0;
}

int run_score(const Arguments& a) {
  const Stopwatch total;
  const Console console(a);
  TerminalProgress progress(a.flag("quiet"));
  const Model model = Model::load(a.files.front());
  const auto data = open_like({a.files.begin() + 1, a.files.end()}, model.state().recipe.schema, a, false);
  if (a.has("rolling")) return score_in_time(a, model, *data);
  const Scores scores = score_rows(model, *data, &progress);
  console.say(to_text(scores, model.classes()));
  nlohmann::json json = to_json(scores, model.classes());
  json["seconds"] = {{"total", total.seconds()}};
  console.emit(json);
  return 0;
}

}  // namespace mercer::cli
