#include "plan_sketch.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "common.hpp"
#include "theory_words.hpp"

namespace mercer::cli {
namespace {

nlohmann::json to_json(const SketchPlanRow& row) {
  nlohmann::json json = {{"size", row.size},
                         {"p", row.p ? nlohmann::json(*row.p) : nlohmann::json(nullptr)},
                         {"anchors", row.anchors},
                         {"features", row.features},
                         {"mean_error", row.mean_error},
                         {"largest_error", row.largest_error},
                         {"memory_bytes", row.memory_bytes},
                         {"seconds", row.seconds}};
  add_satisfied(row.satisfied, json);
  return json;
}

nlohmann::json to_json(const std::optional<SketchPlanRow>& row) {
  return row ? to_json(*row) : nlohmann::json(nullptr);
}

std::string rounded(double count) {
  return human_count(std::round(count));
}

void say_table(const Console& console, const SketchPlan& plan) {
  std::vector<std::vector<std::string>> rows;
  for (const SketchPlanRow& row : plan.table) {
    rows.push_back({std::to_string(row.size), rounded(row.anchors), brief(row.mean_error), brief(row.largest_error),
                    brief(row.satisfied.isometry) + (row.satisfied.holds() ? "" : " !"), brief(row.satisfied.constant),
                    human_bytes(row.memory_bytes), human_seconds(row.seconds)});
  }
  console.say(table({"size", "anchors", "mean error", "largest error", "isometry", "c", "memory", "time to fit"}, rows));
  console.say(
      "errors of the sketched kernel at your rows, relative to k(x, x); K-satisfiable with the constant c where the "
      "isometry is at most 0.5 (! where not)");
}

void say_verdict(const Console& console, const SketchPlan& plan, const SketchPlanRow& row, double error) {
  console.say(plan.law + " of size " + std::to_string(row.size) + ": mean error " + brief(row.mean_error) +
              (row.mean_error <= error ? ", within " : ", above ") + shortest(error) + "; " +
              satisfied_words(row.satisfied));
}

void say_advice(const Console& console, const SketchPlan& plan, double error) {
  if (plan.advised) {
    console.say("for a mean error of at most " + shortest(error) + " on rows like yours: --map " + plan.advised_map + ", " +
                rounded(plan.advised->anchors) + " anchors, error " + brief(plan.advised->mean_error) + " (measured)");
  } else {
    console.say("no size up to " + std::to_string(plan.table.back().size) + " brings the mean error to " + shortest(error) +
                ": the kernel is rough on these rows; try longer length scales, or --map fourier");
  }
  if (plan.satisfiable) {
    console.say("to keep the statistical dimension: size " + std::to_string(plan.satisfiable->size) +
                ", K-satisfiable with c = " + brief(plan.satisfiable->satisfied.constant) + " (measured)");
  } else if (plan.law != "nystrom,rpcholesky") {
    console.say("no size up to " + std::to_string(plan.table.back().size) + " is K-satisfiable");
  }
}

void say_theory(const Console& console, const SketchPlan& plan, double confidence) {
  if (plan.theorem_p) {
    console.say(
        "with a proof, p = " + brief(*plan.theorem_p) + ": size " + human_count(plan.theorem_size) +
        " gives c = " + brief(plan.theorem_constant) +
        (plan.theorem_size >= static_cast<double>(plan.rows) ? "; more than there are rows, trust the measurement" : ""));
  } else {
    console.say("the paper has no theorem for " + plan.law + " sketches; c above is measured");
  }
  if (plan.bound) {
    console.say("bound on the excess risk with that c: " + bound_words(*plan.bound, confidence));
  }
}

void emit(const Console& console, const SketchPlan& plan, double error, double confidence) {
  nlohmann::json rows = nlohmann::json::array();
  for (const SketchPlanRow& row : plan.table) rows.push_back(to_json(row));
  nlohmann::json theorem = nullptr;
  if (plan.theorem_p) theorem = {{"p", *plan.theorem_p}, {"size", plan.theorem_size}, {"constant", plan.theorem_constant}};
  nlohmann::json json = {{"n", plan.rows},
                         {"kernel", plan.kernel},
                         {"loss", plan.loss},
                         {"law", plan.law},
                         {"error", error},
                         {"confidence", confidence},
                         {"advised_map", plan.advised ? nlohmann::json(plan.advised_map) : nlohmann::json(nullptr)},
                         {"advised", to_json(plan.advised)},
                         {"satisfiable", to_json(plan.satisfiable)},
                         {"judged", to_json(plan.judged)},
                         {"table", rows},
                         {"theorem", theorem},
                         {"risk_bound", bound_json(plan.bound)}};
  add_spectrum(plan.spectrum, json);
  add_radius(plan.radius, json);
  console.emit(json);
}

}  // namespace

void say_sketch(const Console& console, const SketchPlan& plan, double error, double confidence) {
  console.say(
      counted(plan.rows, "row") +
      (plan.spectrum.rows < plan.rows ? " (measured on " + human_count(static_cast<double>(plan.spectrum.rows)) + ")" : "") +
      ", kernel " + plan.kernel + ": " + radius_words(plan.radius));
  console.say("spectrum of K/n: " + eigenvalue_words(plan.spectrum));
  say_table(console, plan);
  say_loss(console, plan.loss);
  if (plan.judged) {
    say_verdict(console, plan, *plan.judged, error);
  } else {
    say_advice(console, plan, error);
  }
  if (plan.law == "nystrom,rpcholesky") console.say(pivots_words);
  say_theory(console, plan, confidence);
  emit(console, plan, error, confidence);
}

}  // namespace mercer::cli
