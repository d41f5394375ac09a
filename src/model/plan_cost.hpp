#pragma once
#include <mercer/model.hpp>

#include "map/feature_map.hpp"
#include "model/recipe.hpp"
#include "solve/low_gram.hpp"

namespace mercer {

/// Refuses errors and confidences outside of (0, 1).
void check_wishes(double error, double confidence);

/// Flops per second of the Gram update on this machine now, by all threads.
double gram_speed(Precision precision);
double gram_speed(GramPrecision gram);

/// Memory of a fit with this map once it is made: statistics, factorisation, rows kept for leave-one-out.
double fit_bytes(const FeatureMap& map, Index rows, const FitOptions& options);

/// How many rows have their features computed: all once, and again those that leave-one-out takes.
double feature_rows(const FeatureMap& map, Index rows, const FitOptions& options);

/// Seconds of the passes of a loss other than square, from the speed of one block now; how many there will be is a guess.
/// 0 for ridge.
double pass_seconds(const FeatureMap& map, Index rows, const FitOptions& options);

/// Flops of the Gram matrix and of the solve, counted at the speed of
/// the Gram update; without the features.
double fit_flops(const FeatureMap& map, Index rows, const FitOptions& options);

/// Of a whole fit, given the flops per second of the Gram update: by what a few of the scaled rows cost where a coarse Gram
/// matrix will be refined, else without features, which are little beside a full Gram matrix.
double fit_seconds(const FeatureMap& map, RowSource& scaled, const Recipe& recipe, const FitOptions& options, double flops);

}  // namespace mercer
