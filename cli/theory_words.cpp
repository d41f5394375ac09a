#include "theory_words.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.hpp"
#include "console.hpp"

namespace mercer::cli {

const char* const pivots_words = "pivoted rows are chosen for accuracy and not as an isometry: judge them by the errors";

std::string eigenvalue_words(const GramSpectrum& spectrum) {
  constexpr std::size_t most = 6;
  std::vector<std::string> values;
  for (std::size_t j = 0; j < std::min(most, spectrum.values.size()); ++j) values.push_back(brief(spectrum.values[j]));
  if (spectrum.values.size() > most) values.emplace_back("…");
  return values.empty() ? "0" : join(values, ", ");
}

std::string radius_words(const CriticalRadius& radius) {
  return "statistical dimension " + std::to_string(radius.dimension) +
         (radius.largest_dimension > radius.dimension ? " (at most " + std::to_string(radius.largest_dimension) + ")" : "") +
         ", critical radius squared " + brief(radius.squared);
}

std::string satisfied_words(const Satisfiability& satisfied) {
  return satisfied.holds() ? "K-satisfiable with c = " + brief(satisfied.constant)
                           : "not K-satisfiable: it distorts the directions of the statistical dimension by " +
                                 brief(satisfied.isometry) + ", more than 0.5";
}

std::string bound_words(const RiskBound& bound, double confidence) {
  return brief(bound.total()) + " with probability " + shortest(confidence) +
         ", for targets in the unit ball (sketch and penalty " + brief(bound.approximation + bound.penalty) +
         ", complexity " + brief(bound.complexity) + ", confidence " + brief(bound.confidence) + ")";
}

void add_spectrum(const GramSpectrum& spectrum, nlohmann::json& json) {
  json["sampled"] = spectrum.rows;
  json["eigenvalues"] = spectrum.values;
  json["trace"] = spectrum.trace;
  json["missed"] = spectrum.trace > 0 ? spectrum.missed / spectrum.trace : 0;
}

void add_radius(const CriticalRadius& radius, nlohmann::json& json) {
  json["statistical_dimension"] = radius.dimension;
  json["statistical_dimension_at_most"] = radius.largest_dimension;
  json["critical_radius_squared"] = radius.squared;
  json["critical_radius_squared_at_least"] = radius.least_squared;
}

void add_satisfied(const Satisfiability& satisfied, nlohmann::json& json) {
  json["isometry"] = satisfied.isometry;
  json["constant"] = satisfied.constant;
  json["k_satisfiable"] = satisfied.holds();
}

nlohmann::json bound_json(const std::optional<RiskBound>& bound) {
  if (!bound) return nullptr;
  return {{"approximation", bound->approximation},
          {"penalty", bound->penalty},
          {"complexity", bound->complexity},
          {"confidence", bound->confidence},
          {"total", bound->total()}};
}

}  // namespace mercer::cli
