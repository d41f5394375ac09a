// Gaussian processes on the command line: their options, the training trace, the spectrum in words.
#include <cmath>
#include <limits>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "base/timeline.hpp"
#include "common.hpp"
#include "io/write.hpp"
#include "model/state.hpp"

namespace mercer::cli {
namespace {

/// --map fourier:D[,mc|antithetic|qmc] says how many spectral points there are and how they are drawn.
void read_points(const Arguments& a, GpOptions& gp) {
  const std::vector<std::string> parts = split(a.text("map"), ',');
  double points = 0;
  const bool fourier = parts.front().starts_with("fourier:") && parts.size() <= 2;
  if (!fourier || !parse_number(parts.front().substr(8), points) || points < 1 || points > 1e5 ||
      points != std::floor(points)) {
    fail_argument("--map " + mercer::quoted(a.text("map")) +
                  ": a spectral mixture takes fourier:D[,mc|antithetic|qmc], D spectral points from 1 to 100000");
  }
  gp.points = static_cast<Index>(points);
  if (parts.size() == 2) gp.sampling = parts[1];
}

/// A whole number that fits an int.
int small_integer(const Arguments& a, const std::string& name) {
  return static_cast<int>(std::min<std::int64_t>(a.integer(name, 1), 1000000));
}

/// "period 1.00 year", or what a component near frequency 0 means.
std::string component_words(const SpectralComponent& c, const Timeline& timeline) {
  const double range = timeline.last - timeline.first;
  const double frequency = c.frequency.front();
  if (frequency * range < 1.5) return "trend longer than " + format_span(timeline.unit(), range);
  std::string words = "period " + format_span(timeline.unit(), 1 / frequency);
  if (c.spread.front() > 0.5 * frequency) return words + ", broad";
  const double memory = 1 / (2 * std::acos(-1.0) * c.spread.front());  // how long it keeps its phase
  return words + (memory > range ? ", steady" : ", keeps its phase for about " + format_span(timeline.unit(), memory));
}

std::string vector_words(const SpectralComponent& c) {
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < c.frequency.size(); ++k) parts.push_back(brief(c.frequency[k]) + " ± " + brief(c.spread[k]));
  return "frequency " + join(parts, ", ") + " per unit";
}

/// Options that a process of this kind does not listen to.
void refuse_idle(const Arguments& a, bool spectral) {
  const std::vector<std::string> everywhere = {"precision", "no-intercept", "uncertainty", "passes", "tolerance"};
  const std::vector<std::string> exact = {"rate", "draws", "posterior-draws", "parametrization", "allocation", "validation"};
  for (const std::string& name : everywhere) {
    if (a.has(name))
      fail_argument("--" + name + " does not go with --gp" + (name == "no-intercept" ? "; use --mean none" : ""));
  }
  for (const std::string& name : exact) {
    if (!spectral && a.has(name)) fail_argument("--" + name + " goes with --gp spectral_mixture");
  }
  if (spectral && a.has("kernel"))
    fail_argument("--gp spectral_mixture learns its kernel; --kernel goes with --gp exact and vfe");
  if (!spectral && a.text("optimizer") == "adam")
    fail_argument("--gp exact and vfe are trained by lbfgs; adam goes with spectral_mixture");
}

}  // namespace

GpOptions gp_options(const Arguments& a) {
  GpOptions gp;
  gp.kind = a.text("gp");
  if (gp.kind.empty()) {
    for (const char* name : {"mean", "optimizer", "steps", "rate", "draws", "posterior-draws", "parametrization",
                             "allocation", "outputs", "restarts", "validation", "trace"}) {
      if (a.has(name)) fail_argument(std::string("--") + name + " goes with --gp");
    }
    return gp;
  }
  refuse_idle(a, gp.kind.starts_with("spectral_mixture"));
  if (a.flag("tune")) fail_argument("--gp learns what --tune searches for; leave --tune out");
  gp.mean = a.text("mean");
  gp.optimizer = a.text("optimizer");
  if (a.text("steps") != "auto") gp.steps = small_integer(a, "steps");
  gp.rate = a.number("rate");
  gp.draws = small_integer(a, "draws");
  gp.posterior_draws = small_integer(a, "posterior-draws");
  gp.parametrization = a.text("parametrization");
  gp.allocation = a.text("allocation");
  gp.outputs = a.text("outputs");
  gp.restarts = small_integer(a, "restarts");
  gp.validation = a.number("validation");
  if (a.has("map")) {
    if (!gp.kind.starts_with("spectral_mixture"))
      fail_argument("--map goes with given kernels and with --gp spectral_mixture");
    read_points(a, gp);
  }
  return gp;
}

void write_trace(const Model& model, const std::string& path) {
  const std::vector<std::string> names = model.state().recipe.output_names();
  const bool several = model.state().training.size() > 1;
  std::vector<std::string> header = {"iteration", "seconds", "nlml", "objective", "rmse", "mnll"};
  if (several) header.insert(header.begin(), "output");
  CsvWriter out(path, header);
  const auto cell = [](double value) { return std::isnan(value) ? std::string() : shortest(value); };
  for (Index a = 0; a < (several ? model.outputs() : 1); ++a) {
    for (const TrainingStep& step : model.training(a)) {
      std::vector<std::string> row = {std::to_string(step.iteration), cell(step.seconds), cell(step.nlml),
                                      cell(step.objective),           cell(step.rmse),    cell(step.mnll)};
      if (several) row.insert(row.begin(), names[static_cast<std::size_t>(a)]);
      out.row(row);
    }
  }
  out.commit();
}

std::vector<std::string> spectrum_words(const Model& model, Index output) {
  constexpr double least_share = 0.001;
  const std::vector<SpectralComponent> components = model.spectrum(output);
  double total = 0;
  for (const SpectralComponent& c : components) total += c.weight;
  std::vector<std::string> words;
  Index small = 0;
  for (const SpectralComponent& c : components) {
    if (c.weight < least_share * total) {
      ++small;
      continue;
    }
    const auto& timeline = model.state().recipe.timeline;
    words.push_back((timeline ? component_words(c, *timeline) : vector_words(c)) + " (weight " + brief(c.weight / total) +
                    " ± " + brief(c.weight_error / total) + ")");
  }
  if (small > 0) words.push_back(counted(small, "component") + " below a thousandth");
  const Model::State& s = model.state();
  const double unit = s.recipe.scaling.target_scale[static_cast<std::size_t>(output)];
  const double noise = s.noise[static_cast<std::size_t>(output)] * unit * unit;
  if (!components.empty())
    words.push_back("signal " + brief(100 * total / (total + noise)) + " %, noise " + brief(100 * noise / (total + noise)) +
                    " % of the variance");
  return words;
}

}  // namespace mercer::cli
