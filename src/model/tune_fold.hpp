#pragma once
#include <mercer/model.hpp>
#include <mercer/rows.hpp>

#include <optional>
#include <string>
#include <vector>

#include "model/metric.hpp"

namespace mercer {

/// The metric of each penalty (largest first) on the validation rows, fitted on the training rows by options.kernel,
/// options.map and each of `losses`: scores[loss][penalty].
std::vector<std::vector<double>> fold_scores(RowSource& train, RowSource& validation, const FitOptions& options,
                                             const std::vector<std::string>& losses, const std::vector<double>& penalties,
                                             const std::string& metric);

}  // namespace mercer
