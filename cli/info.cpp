#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "common.hpp"
#include "info_kernel.hpp"
#include "model/conformal.hpp"
#include "model/recipe_json.hpp"
#include "model/state.hpp"

namespace mercer::cli {
namespace {

int system_info(const Console& console) {
  const BackendInfo info = backend_info();
  console.say("mercer " MERCER_VERSION);
  console.say("CPU        " + info.cpu + ", " + std::to_string(threads()) + " threads in use");
  console.say("memory     " + human_bytes(static_cast<double>(physical_memory_bytes())) + ", " +
              human_bytes(static_cast<double>(available_memory_bytes())) + " free");
  console.say("BLAS       " + info.blas_library + ", kernels " + info.blas_kernels);
  if (!info.blas_note.empty()) console.say("           " + info.blas_note);
  console.say("           " + info.blas_config);
  console.say("cos/sin    " + info.simd);
  if (!info.warning.empty()) console.say("warning: " + info.warning);
  console.emit({{"version", MERCER_VERSION},
                {"cpu", info.cpu},
                {"threads", threads()},
                {"memory_bytes", physical_memory_bytes()},
                {"blas",
                 {{"library", info.blas_library},
                  {"kernels", info.blas_kernels},
                  {"note", info.blas_note},
                  {"config", info.blas_config}}},
                {"simd", info.simd},
                {"warning", info.warning}});
  return 0;
}

std::string posterior_words(const Model::State& s) {
  if (!s.spectral.empty())
    return "exact posterior, averaged over " +
           counted(static_cast<Index>(s.spectral.front().posterior.draws().size()), "draw") + " of the spectral points";
  if (!s.kernel_processes.empty()) return "exact posterior";
  if (s.problem) return s.exact.has_spread() ? "exact" : "not kept";
  switch (s.posterior.kind) {
    case Posterior::Kind::cholesky:
    case Posterior::Kind::eigen:
      return spread_words(s.summary).empty() ? "exact posterior" : "posterior, " + spread_words(s.summary);
    case Posterior::Kind::samples:
      return std::to_string(posterior_samples) + " draws of the posterior";
    case Posterior::Kind::none:
      break;
  }
  return "not kept";
}

std::string penalty_origin(const FitSummary& f) {
  if (f.leave_one_out_rmse) return ", chosen by leave-one-out";
  if (f.objective && !f.penalty_path.empty()) return ", chosen on held-out rows";
  return f.penalty_path.empty() ? ", given" : ", chosen by generalised cross-validation";
}

void tell_kernel(const Console& console, const FitSummary& f, const Recipe& r) {
  console.say("kernel     " + f.kernel);
  console.say("map        " + f.map +
              (f.sampling.empty() ? ", " + counted(f.features, "anchor row")
                                  : " (" + f.sampling + "), " + counted(f.features, "feature") +
                                        (f.anchors > 0 ? " from " + counted(f.anchors, "anchor row") : "") + ", seed " +
                                        std::to_string(r.seed())));
}

/// "1958-03-29 to 2001-12-29, usually 7 days apart, 3 rows at the time of another"
std::string timeline_words(const Timeline& t) {
  std::string words = format_time(t, t.first) + " to " + format_time(t, t.last);
  const auto months = [](int count) { return std::to_string(count) + (count == 1 ? " month" : " months"); };
  if (t.step > 0) words += ", usually " + (t.months > 0 ? months(t.months) : format_span(t.unit(), t.step)) + " apart";
  if (!t.ordered) words += ", not in order";
  if (t.repeats > 0) words += ", " + counted(t.repeats, "row") + " at the time of another";
  return words;
}

nlohmann::json timeline_json(const Timeline& t) {
  const char* unit = t.unit() == Timeline::Unit::days ? "days" : t.unit() == Timeline::Unit::years ? "years" : "";
  return {{"format", to_string(t.format)},  {"unit", unit},        {"first", format_time(t, t.first)},
          {"last", format_time(t, t.last)}, {"step", t.step},      {"months", t.months},
          {"ordered", t.ordered},           {"repeats", t.repeats}};
}

}  // namespace

int run_info(const Arguments& a) {
  const Console console(a);
  if (a.flag("system")) return system_info(console);
  if (a.files.empty()) fail_argument("mercer info takes a model file, or --system");
  const Model model = Model::load(a.files.front());
  const std::optional<Diagnosis> diagnosis = diagnose(model, a);
  const Model::State& s = model.state();
  const FitSummary& f = model.summary();
  const Recipe& r = s.recipe;
  const std::vector<std::string> names = r.schema.input_names();
  constexpr std::size_t most_names = 12;
  std::vector<std::string> shown(names.begin(),
                                 names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), most_names)));
  if (names.size() > most_names) shown.push_back("… (" + std::to_string(names.size()) + " in all)");
  console.say("a function of " + counted(model.inputs(), "input") + (shown.empty() ? "" : ": " + join(shown, ", ")));
  console.say(r.classes.empty() ? "to " + counted(model.outputs(), "output") + ": " + join(r.output_names(), ", ")
                                : "to one of " + std::to_string(r.classes.size()) + " classes: " + join(r.classes, ", "));
  if (s.is_process()) {
    tell_learned(console, model);
  } else {
    tell_kernel(console, f, r);
  }
  if (r.timeline) console.say("times      " + timeline_words(*r.timeline));
  const auto took = f.seconds.find("total");  // a file may lack it
  console.say("fitted     on " + counted(f.rows, "row") + " by " + f.solver + " in " + f.precision +
              (took == f.seconds.end() ? "" : ", took " + human_seconds(took->second)) + ", status " + f.status);
  if (f.loss != "square")
    console.say("loss       " + f.loss + (f.gap ? ", certified to a relative duality gap of " + brief(*f.gap) : ""));
  if (f.process.empty()) {
    console.say("penalty    " + brief(f.penalty) + penalty_origin(f) +
                (f.degrees_of_freedom > 0 ? "; " + freedom_words(f) : ""));
  } else {
    console.say("likelihood negative log marginal likelihood " + brief(f.nlml.value_or(0)) + " in scaled units");
  }
  if (f.leave_one_out_rmse)
    console.say("           leave-one-out RMSE " + brief(*f.leave_one_out_rmse) + " in scaled units, on " +
                counted(f.leave_one_out_rows, "row"));
  if (r.classes.empty() && f.loss == "square") {
    std::vector<std::string> noise;
    for (std::size_t i = 0; i < s.noise.size(); ++i) {
      noise.push_back(brief(std::sqrt(s.noise[i]) * r.scaling.target_scale[i]));
    }
    if (f.solver != "adam")  // which does not ask
      console.say("noise      standard deviation " + join(noise, ", ") + " (in the units of the targets)");
    console.say("spread     " + posterior_words(s));
  }
  if (diagnosis) tell(console, *diagnosis, model, a.number("confidence"));
  if (model.has_intervals()) console.say("intervals  " + interval_promise(f));
  for (const auto& note : f.notes) console.say("note: " + note);
  nlohmann::json json = to_json(f);
  json["diagnosis"] = diagnosis ? to_json(*diagnosis, a.number("confidence")) : nlohmann::json(nullptr);
  if (s.is_process()) add_learned(model, json);
  json["seed"] = r.seed();
  json["input_names"] = names;
  json["targets"] = r.schema.targets;
  json["classes"] = r.classes;
  json["uncertainty"] = posterior_words(s);
  if (r.timeline) json["timeline"] = timeline_json(*r.timeline);
  console.emit(json);
  return 0;
}

}  // namespace mercer::cli
