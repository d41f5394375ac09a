#pragma once
#include <mercer/model.hpp>

#include <string>
#include <vector>

#include "solve/refinement.hpp"

namespace mercer {

/// How a large ridge problem is going to be computed, from what a few of its rows cost on this machine now.
struct RidgePlan {
  /// Variances and degrees of freedom may be so much off (standard deviations half of it) before a better Gram matrix is
  /// made for them: less than the features themselves are, and far less than the 9 % of sampled ones.
  static constexpr double most_coarseness = 0.04;
  /// Predictions of the rows learned from may be so much off, relative.
  static constexpr double most_prediction_error = 1e-7;

  std::vector<GramPrecision> grams;  ///< to try in turn; empty: a Gram matrix in full precision, in one pass, is quicker
  Index memory_bytes = 0;            ///< for features that are kept between passes; 0: they are computed anew
  double seconds = 0;                ///< predicted, at the first try
  std::string words;                 ///< a sentence for people
};

/// About how coarse (RidgeSolution::coarseness) a Gram matrix will prove, for `ridge` = nλ/k₀, k₀ = mean ‖φ(x)‖². Noise of
/// 2⁻⁹ in features moves M by the order of 2⁻⁹/√ridge of itself, the rounding of sums by 2⁻²⁴n/ridge: the powers between,
/// and the factors, are fitted to n = 60 000, λ = 1e-5 to 1e-7 (int8: 1e-4 to 1e-6, 600 frequencies).
double foreseen_coarseness(GramPrecision gram, double ridge);

/// Compares a Gram matrix in full precision with a coarse one and some passes over the rows: each pass reads the rows again,
/// and computes their features again unless a quarter of the budget (`options.memory_bytes`) holds them and memory is
/// faster. About 0.1 s for measurements. A solver that was asked for is not put in question. Where standard deviations are
/// to be kept, Gram matrices too coarse for them are not tried; where the penalty is to be chosen, only the cheapest is,
/// bf16 or better.
RidgePlan plan_ridge(const FeatureMap& map, RowSource& rows, Precision precision, bool standard_deviations,
                     const FitOptions& options);

}  // namespace mercer
