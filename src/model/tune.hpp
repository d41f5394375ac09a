#pragma once
#include <mercer/model.hpp>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "model/folds.hpp"

namespace mercer {

/// Where to look for a better model, and how to compare.
struct TuneOptions {
  std::vector<double> length_factors = {0.5, 1, 2};  ///< of every length scale of the kernel
  std::vector<double>
      penalties;  ///< empty: options.penalty; without one 10 … 1e-10 in half decades (square), 1 … 1e-9 in decades
  std::vector<double> loss_parameters;  ///< of huber, epsilon, epsilon2; empty: that of the fit
  std::vector<Index> sizes;             ///< frequencies, or the size of the sketch; empty: that of the fit
  Index trials = 0;  ///< above 0: as many random draws between the ends of the lists, instead of all their combinations
  FoldPlan folds;
  std::string metric = "auto";
  std::string results;  ///< CSV to write after every map, and to go on from; "" for none
};

/// One configuration and how it fared.
struct TuneRow {
  std::string kernel;  ///< text, `median` replaced by its number on all rows
  std::string map;
  std::string loss;
  double penalty = 0;
  double score = 0;   ///< mean over folds
  double spread = 0;  ///< standard error of that mean; NaN for a single held-out part
};

struct TuneResult {
  std::string metric;
  std::vector<TuneRow> rows;  ///< in the order of the search; penalties descend
  std::size_t best = 0;
  Index computed = 0;  ///< combinations of kernel, map and loss that were fitted now
  Index reused = 0;    ///< and that the results file already had
  std::vector<std::string> notes;
};

/// Cross-validates every configuration. All penalties of one map share its features and one factorisation (square loss), or
/// are solved in turn from the largest, each started from the last (other losses). Costs folds × maps fits.
TuneResult tune(RowSource& rows, const FitOptions& options, const TuneOptions& search);

/// The fit that a row of the result describes.
FitOptions tuned(const FitOptions& options, const TuneRow& row);

}  // namespace mercer
