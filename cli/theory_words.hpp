#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "theory/sketch_theory.hpp"
#include "theory/spectrum.hpp"

namespace mercer::cli {

// The numbers of paper 2 as plan and info tell them.

/// "0.62, 0.13, 0.042, …": the first eigenvalues.
std::string eigenvalue_words(const GramSpectrum& spectrum);
/// "statistical dimension 38 (at most 41), critical radius squared 0.00132"
std::string radius_words(const CriticalRadius& radius);
/// "K-satisfiable with c = 0.98", or why not.
std::string satisfied_words(const Satisfiability& satisfied);
/// "0.28 with probability 0.95, for targets in the unit ball (…)"
std::string bound_words(const RiskBound& bound, double confidence);
/// Pivots are chosen otherwise.
extern const char* const pivots_words;

/// Adds sampled (rows), eigenvalues, trace, missed (share of it beyond those).
void add_spectrum(const GramSpectrum& spectrum, nlohmann::json& json);
/// Adds statistical_dimension, critical_radius_squared and how far off they can be.
void add_radius(const CriticalRadius& radius, nlohmann::json& json);
/// Adds isometry, constant, k_satisfiable.
void add_satisfied(const Satisfiability& satisfied, nlohmann::json& json);
/// The terms and their total, or null.
nlohmann::json bound_json(const std::optional<RiskBound>& bound);

}  // namespace mercer::cli
