#pragma once
#include <mercer/model.hpp>
#include <mercer/rows.hpp>

#include <optional>
#include <string>
#include <vector>

#include "model/metric.hpp"

namespace mercer {

/// The penalties to try on one map, largest first.
struct PenaltyList {
  std::vector<double> values;
  bool may_stop = false;  ///< losses other than square: after three that were worse in a row
};

/// The metric of each penalty on the validation rows, fitted on the training rows by options.kernel, options.map and each of
/// `losses`: scores[loss][penalty], shorter where a path was stopped early.
std::vector<std::vector<double>> fold_scores(RowSource& train, RowSource& validation, const FitOptions& options,
                                             const std::vector<std::string>& losses, const PenaltyList& penalties,
                                             const std::string& metric);

}  // namespace mercer
