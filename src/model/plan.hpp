#pragma once
#include <mercer/model.hpp>

#include <optional>
#include <string>
#include <vector>

#include "model/recipe.hpp"

namespace mercer {

/// What to expect of a Fourier map with this many frequencies on the user's rows. Errors are relative to ‖K(x, x)‖₂.
struct PlanRow {
  Index frequencies = 0;
  Index features = 0;
  double largest_error = 0;          ///< max ‖K~ - K‖₂ over pairs of sampled rows
  double typical_error = 0;          ///< root mean square over those pairs
  std::optional<double> guaranteed;  ///< the bound's error at the wanted confidence, Monte Carlo sampling
  double memory_bytes = 0;           ///< of the fit
  double seconds = 0;                ///< of the fit on all rows, from the speed of this machine measured now
};

struct Plan {
  Index rows = 0;
  std::string kernel;                           ///< resolved
  std::string loss;                             ///< that memory and time are for
  double diameter = 0;                          ///< of the scaled inputs
  double kernel_norm = 0;                       ///< ‖K(x, x)‖₂
  std::optional<Index> guaranteed_frequencies;  ///< D by the theorem for the wanted error and confidence
  std::string no_guarantee;                     ///< why there is none
  Index advised_frequencies = 0;  ///< D at which the measured largest error reaches the wanted one, by its D^-1/2 law
  double flops = 0;               ///< single-precision or double speed used for `seconds`, per second
  std::vector<PlanRow> table;
  std::optional<GramSpectrum> spectrum;  ///< of a sample of the rows, for a scalar kernel
};

/// Answers "how many features for relative kernel error `error` with probability `confidence` on this data?" by the
/// corrected bounds of paper 1 and, beside them, by measurement on up to 200 of the rows.
Plan make_plan(RowSource& raw, const FitOptions& options, double error, double confidence);

}  // namespace mercer
