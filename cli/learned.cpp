// What a Gaussian process has learned, for people and as JSON.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "base/timeline.hpp"
#include "common.hpp"
#include "model/learned.hpp"

namespace mercer::cli {
namespace {

constexpr double days_per_year = 365.2425;
constexpr Index most_shown = 8;  ///< outputs of a matrix that is printed

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

std::vector<std::string> inputs_of(const Model& model) {
  std::vector<std::string> names = model.state().recipe.schema.input_names();
  for (Index k = std::ssize(names); k < model.inputs(); ++k) names.push_back("x" + std::to_string(k));
  return names;
}

/// "level: " where there are several outputs.
std::string prefix(const Model& model, Index output) {
  return model.outputs() > 1 ? model.state().recipe.output_names()[at(output)] + ": " : "";
}

/// "0.0036 per day", in years where the rows stretch over some.
std::string slope_words(const Timeline& timeline, double slope) {
  if (timeline.unit() == Timeline::Unit::years) return brief(slope) + " per year";
  if (timeline.unit() == Timeline::Unit::none) return brief(slope) + " per unit";
  if (timeline.last - timeline.first >= 2 * days_per_year) return brief(slope * days_per_year) + " per year";
  return brief(slope) + " per day";
}

/// "338.2 at 1973.458, slope 1.31 per year"
std::string mean_words(const Model& model, Index output) {
  const Model::State& s = model.state();
  const std::vector<double> mean = learned_mean(s, output);
  if (mean.size() == 1) return brief(mean.front()) + " everywhere";
  const std::vector<std::string> inputs = inputs_of(model);
  const auto& timeline = s.recipe.timeline;
  if (timeline) {
    const double centre = s.recipe.scaling.input_shift.front();
    const bool days = timeline->unit() == Timeline::Unit::days;
    return brief(mean.front()) + " at " +
           (days ? format_time(*timeline, centre) : shortest(std::round(100 * centre) / 100)) + ", slope " +
           slope_words(*timeline, mean[1]);
  }
  std::vector<std::string> slopes;
  for (std::size_t k = 1; k < mean.size(); ++k) slopes.push_back(brief(mean[k]) + " in " + inputs[k - 1]);
  return brief(mean.front()) + " at the mean of the inputs, slopes " + join(slopes, ", ");
}

/// The texts of every output, one under the other.
template <class Words>
void tell_each(const Console& console, const Model& model, const std::string& title, const Words& words) {
  std::string left = title;
  for (Index a = 0; a < model.outputs(); ++a) {
    for (const std::string& text : words(a)) {
      console.say(left + prefix(model, a) + text);
      left = "           ";
    }
  }
}

void tell_coupling(const Console& console, const Model& model) {
  const Matrix<double> b = output_covariance(model.state());
  if (b.empty()) return;
  const std::vector<std::string> names = model.state().recipe.output_names();
  console.say("outputs    share the spectrum; the matrix B between them, in units of the targets:");
  const Index shown = std::min(b.rows(), most_shown);
  for (Index i = 0; i < shown; ++i) {
    std::vector<std::string> row;
    for (Index j = 0; j < shown; ++j) row.push_back(brief(b(i, j)));
    console.say("           " + names[at(i)] + ": " + join(row, ", ") + (shown < b.rows() ? ", …" : ""));
  }
}

nlohmann::json spectrum_json(const Model& model) {
  nlohmann::json outputs = nlohmann::json::array();
  for (Index a = 0; a < model.outputs(); ++a) {
    nlohmann::json components = nlohmann::json::array();
    for (const SpectralComponent& c : model.spectrum(a)) {
      components.push_back(
          {{"weight", c.weight}, {"weight_error", c.weight_error}, {"frequency", c.frequency}, {"spread", c.spread}});
    }
    outputs.push_back(components);
  }
  return outputs;
}

}  // namespace

void tell_learned(const Console& console, const Model& model) {
  const Model::State& s = model.state();
  const FitSummary& f = model.summary();
  if (f.process == "vfe") console.say("process    variational, " + counted(f.anchors, "inducing input"));
  if (f.process == "exact") console.say("process    exact");
  if (learned_mixture(s, 0)) {
    tell_each(console, model, "spectrum   ", [&](Index a) { return spectrum_words(model, a); });
  } else if (s.kernel_processes.size() == 1) {
    console.say("kernel     " + to_string(s.kernel_processes.front().parts().kernel));
  } else {
    tell_each(console, model, "kernel     ",
              [&](Index a) { return std::vector{to_string(s.kernel_processes[at(a)].parts().kernel)}; });
  }
  tell_coupling(console, model);
  tell_each(console, model, "mean       ", [&](Index a) { return std::vector{mean_words(model, a)}; });
}

void add_learned(const Model& model, nlohmann::json& json) {
  const Model::State& s = model.state();
  if (learned_mixture(s, 0)) json["spectrum"] = spectrum_json(model);
  nlohmann::json noise = nlohmann::json::array();
  nlohmann::json means = nlohmann::json::array();
  for (Index a = 0; a < model.outputs(); ++a) {
    noise.push_back(std::sqrt(s.noise[at(a)]) * s.recipe.scaling.target_scale[at(a)]);
    const std::vector<double> mean = learned_mean(s, a);
    means.push_back({{"value", mean.front()}, {"slope", std::vector<double>(mean.begin() + 1, mean.end())}});
  }
  json["noise"] = noise;
  json["mean"] = means;
  json["mean_at"] = s.recipe.scaling.input_shift;
  const Matrix<double> b = output_covariance(s);
  nlohmann::json rows = nlohmann::json::array();
  for (Index i = 0; i < b.rows(); ++i) rows.push_back(std::vector<double>(b.row(i).begin(), b.row(i).end()));
  if (!b.empty()) json["coregionalisation"] = rows;
}

}  // namespace mercer::cli
