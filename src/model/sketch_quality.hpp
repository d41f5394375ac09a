#pragma once
#include <optional>

#include "map/anchor_map.hpp"
#include "model/recipe.hpp"
#include "theory/sketch_theory.hpp"
#include "theory/spectrum.hpp"

// How good a drawn sketch is, for plan (before a fit) and info (after it).

namespace mercer {

/// (K - K~)(x, x) over rows. K - K~ is positive semi-definite, so its largest entry is on the diagonal: no pair of rows has
/// an error above `largest`, and the mean over pairs is at most `mean`.
struct KernelError {
  double mean = 0;     ///< over the mean of k(x, x)
  double largest = 0;  ///< over the largest k(x, x)
};
KernelError kernel_error(const Kernel& kernel, const AnchorMap& map, ConstMatrix rows);

/// Row numbers[i] of x as row i.
Matrix<double> rows_of(ConstMatrix x, const std::vector<Index>& numbers);

/// Theorems 2 and 4 for a fit with this recipe and penalty on n = `rows` rows, c and δ_n² as measured, ‖A‖, tr A and κ from
/// the rows x. Nothing where the sketch is not K-satisfiable, or the loss neither square nor Lipschitz.
struct MeasuredSketch {
  ConstMatrix x;
  const GramSpectrum& spectrum;
  const CriticalRadius& radius;
  Satisfiability satisfied;
  Index rows = 0;
};
std::optional<RiskBound> bound_risk(const Recipe& recipe, const MeasuredSketch& sketch, double penalty, double confidence);

}  // namespace mercer
