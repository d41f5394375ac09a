#include "model/rolling.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/fail.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "common.hpp"
#include "model/state.hpp"

namespace mercer::cli {
namespace {

/// --rolling STEPS[,ORIGINS]
RollingPlan rolling_plan(const Arguments& a) {
  constexpr double most = 1e9;
  const std::vector<double> numbers = number_list(a, "rolling");
  const bool good = numbers.size() <= 2 && std::ranges::all_of(numbers, [](double v) {
                      return v >= 1 && v <= most && v == static_cast<double>(static_cast<Index>(v));
                    });
  if (!good)
    fail_argument("--rolling is the steps ahead, and optionally the number of origins, as in 12,5; got " +
                  mercer::quoted(a.text("rolling")));
  RollingPlan plan;
  plan.steps = static_cast<Index>(numbers[0]);
  if (numbers.size() == 2) plan.origins = static_cast<Index>(numbers[1]);
  return plan;
}

nlohmann::json rows_of(const Matrix<double>& m) {
  nlohmann::json json = nlohmann::json::array();
  for (Index a = 0; a < m.rows(); ++a) json.push_back(std::vector<double>(m.row(a).begin(), m.row(a).end()));
  return json;
}

nlohmann::json to_json(const RollingScores& s, const std::vector<std::string>& targets) {
  nlohmann::json json = {{"n", s.rows},
                         {"targets", targets},
                         {"steps", s.rmse_by_step.cols()},
                         {"origins", s.origins},
                         {"rmse", s.rmse},
                         {"mae", s.mae},
                         {"rmse_by_step", rows_of(s.rmse_by_step)},
                         {"mae_by_step", rows_of(s.mae_by_step)}};
  if (s.coverage.empty()) return json;
  json["band_level"] = band_level;
  json["coverage"] = s.coverage;
  json["coverage_by_step"] = rows_of(s.coverage_by_step);
  return json;
}

std::string percent(double share) {
  return brief(100 * share) + " %";
}

/// One row per step and target, and one for all steps together; of many steps the doubling ones and the last.
std::string to_text(const RollingScores& s, const std::vector<std::string>& targets) {
  constexpr Index shown = 24;
  const Index steps = s.rmse_by_step.cols();
  const bool bands = !s.coverage.empty();
  std::vector<std::vector<std::string>> rows;
  for (Index a = 0; a < s.rmse_by_step.rows(); ++a) {
    const auto target = static_cast<std::size_t>(a);
    for (Index k = 0; k < steps; ++k) {
      const bool doubling = (k & (k + 1)) == 0;
      if (steps > shown && !doubling && k + 1 != steps) continue;
      rows.push_back({targets[target], std::to_string(k + 1), brief(s.rmse_by_step(a, k)), brief(s.mae_by_step(a, k))});
      if (bands) rows.back().push_back(percent(s.coverage_by_step(a, k)));
    }
    rows.push_back({targets[target], "all", brief(s.rmse[target]), brief(s.mae[target])});
    if (bands) rows.back().push_back(percent(s.coverage[target]));
  }
  std::vector<std::string> header = {"target", "steps ahead", "RMSE", "MAE"};
  if (bands) header.push_back("inside " + brief(100 * band_level) + " % bands");
  return table(header, rows) + "\n" + counted(std::ssize(s.origins), "origin") + ", fitted to " +
         human_count(static_cast<double>(s.origins.front())) + " to " + counted(s.origins.back(), "row") +
         " each, with the model's kernel, scaling and penalty";
}

}  // namespace

int score_in_time(const Arguments& a, const Model& model, Dataset& data) {
  const Stopwatch total;
  const Console console(a);
  TerminalProgress progress(a.flag("quiet"));
  const RollingPlan plan = rolling_plan(a);
  const Recipe& recipe = model.state().recipe;
  if (!recipe.classes.empty() || !recipe.levels.empty()) {
    fail_argument("--rolling scores forecasts of numbers, and " + a.files.front() + " gives " +
                  (recipe.classes.empty() ? "quantiles" : "classes"));
  }
  const Index memory = a.bytes("memory");
  const Refit refit = [&](RowSource& rows) { return refit_like(model, rows, memory, &progress); };
  const RollingScores scores = score_rolling(data, refit, plan, &progress);
  console.say(to_text(scores, recipe.schema.targets));
  nlohmann::json json = to_json(scores, recipe.schema.targets);
  json["seconds"] = {{"total", total.seconds()}};
  console.emit(json);
  return 0;
}

}  // namespace mercer::cli
