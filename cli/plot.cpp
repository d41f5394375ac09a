// mercer plot: pictures of a model, and the one of its training.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/fail.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "common.hpp"
#include "io/atomic_file.hpp"
#include "model/state.hpp"
#include "pictures.hpp"
#include "plot/chart.hpp"

namespace mercer::cli {
namespace {

/// A curve by iteration; NaN where it was not computed.
plot::Series curve(const std::vector<TrainingStep>& training, const std::string& name, double TrainingStep::*value) {
  plot::Series series{.name = name, .x = {}, .y = {}, .low = {}, .high = {}};
  series.stroke = 1.5;
  for (const TrainingStep& step : training) {
    if (!std::isfinite(step.*value)) continue;
    series.x.push_back(step.iteration);
    series.y.push_back(step.*value);
  }
  return series;
}

plot::LineChart training_chart(const std::string& title, const std::string& y_label) {
  plot::LineChart chart;
  chart.title = title;
  chart.x_label = "iteration";
  chart.y_label = y_label;
  chart.height = 360;
  return chart;
}

/// The panels of one training: what was minimised, and scores of validation rows where there are any.
void add_training(const std::vector<TrainingStep>& training, const std::string& whose,
                  std::vector<plot::LineChart>& charts) {
  plot::LineChart chart = training_chart("Training" + whose, "scaled units");
  chart.series = {curve(training, "negative log marginal likelihood", &TrainingStep::nlml),
                  curve(training, "objective", &TrainingStep::objective)};
  if (chart.series[0].y == chart.series[1].y) chart.series.pop_back();
  charts.push_back(std::move(chart));
  plot::LineChart scores = training_chart("Validation rows" + whose, "scaled units");
  scores.series = {curve(training, "RMSE", &TrainingStep::rmse),
                   curve(training, "mean negative log predictive density", &TrainingStep::mnll)};
  if (!scores.series.front().x.empty()) charts.push_back(std::move(scores));
}

/// What --what asks for, or the forecast.
std::string wanted_picture(const Arguments& a, const Model& model) {
  if (!a.has("what")) {
    if (model.inputs() == 1 || model.training().empty()) return "forecast";
    fail_argument(a.files.front() + " has " + std::to_string(model.inputs()) +
                  " inputs, and a forecast is drawn over one; take --what spectrum or --what training");
  }
  std::string what = a.text("what");
  if (what != "forecast" && what != "spectrum" && what != "training")
    fail_argument("--what " + mercer::quoted(what) + " is not forecast, spectrum or training" +
                  did_you_mean(what, {"forecast", "spectrum", "training"}));
  return what;
}

}  // namespace

Picture training_picture(const Model& model, const std::string& name) {
  if (model.training().empty()) fail_argument(name + " was not trained step by step; models of fit --gp are");
  const std::vector<std::string> names = model.state().recipe.output_names();
  const auto trainings = static_cast<Index>(model.state().training.size());
  std::vector<plot::LineChart> charts;
  for (Index a = 0; a < trainings; ++a) {
    const std::string whose = trainings > 1 ? " of " + names[static_cast<std::size_t>(a)] : std::string();
    add_training(model.training(a), whose, charts);
  }
  Picture picture;
  picture.panels = std::min<Index>(std::ssize(charts), most_panels);
  if (std::ssize(charts) > most_panels) {
    picture.notes.push_back("the first 6 of " + std::to_string(charts.size()) + " panels are drawn");
    charts.resize(static_cast<std::size_t>(most_panels));
  }
  picture.svg = plot::render(charts);
  return picture;
}

void check_picture(const std::string& path, const std::string& option) {
  if (path == "-") fail_argument(option + " - is for tables on standard output; give the picture a file");
  if (!path.ends_with(".svg"))
    fail_argument(option + " " + mercer::quoted(path) + ": pictures are SVG; give a name that ends in .svg");
  Arguments probe;
  probe.set("output", path);
  check_output(probe);
}

void write_picture(const Picture& picture, const std::string& path) {
  AtomicFile file(path);
  file.write(picture.svg);
  file.commit();
}

int run_plot(const Arguments& a) {
  const Stopwatch total;
  const Console console(a);
  if (!a.has("output")) fail_argument("plot needs a file for the picture: give -o FIGURE.svg");
  const std::string output = a.text("output");
  check_picture(output, "-o");
  const std::string& name = a.files.front();
  const Model model = Model::load(name);
  if (!model.classes().empty()) fail_argument(name + " tells classes apart; pictures are of models that predict numbers");
  const std::string what = wanted_picture(a, model);
  if (a.has("horizon") && what != "forecast") fail_argument("--horizon goes with --what forecast");
  if (a.files.size() > 1 && what == "training") fail_argument("--what training needs no data; leave out " + a.files[1]);
  Picture picture;
  if (what == "training") {
    picture = training_picture(model, name);
  } else {
    std::optional<double> until;
    if (a.has("horizon")) until = horizon_times(model, a).back();
    std::unique_ptr<Dataset> data;
    if (a.files.size() > 1) data = open_to_draw({a.files.begin() + 1, a.files.end()}, model.state().recipe.schema, a, false);
    picture = what == "forecast" ? forecast_picture(model, name, data.get(), until)
                                 : spectrum_picture(model, name, data.get(), a.bytes("memory"));
  }
  write_picture(picture, output);
  for (const std::string& note : picture.notes) console.say("note: " + note);
  console.say("wrote " + output);
  console.emit({{"what", what},
                {"panels", picture.panels},
                {"points", picture.points},
                {"notes", picture.notes},
                {"figure", output},
                {"seconds", {{"total", total.seconds()}}}});
  return 0;
}

}  // namespace mercer::cli
