#pragma once
#include <mercer/view.hpp>

#include <memory>
#include <string>
#include <vector>

#include "io/dataset.hpp"
#include "io/date_column.hpp"
#include "io/table.hpp"

namespace mercer {

/// Which columns of each file are used: the inputs, then the targets, then the weight.
struct ColumnPlan {
  std::vector<std::string> names;
  Index inputs = 0;
  Index targets = 0;
  bool weight = false;
  std::vector<DateColumn::Wish> dates;      ///< of each input, by options.dates
  std::vector<std::vector<Index>> columns;  ///< of each table, one per name
};

using Tables = std::vector<std::unique_ptr<TableReader>>;

/// By the selections in `options`, made in the first table; the others must have the same columns, by name where both have
/// names, else by position.
ColumnPlan plan_by_options(const Tables& tables, const DatasetOptions& options);

/// By `options.like`: by name where the schema's names are there, else (no names in the file) by position: the inputs alone,
/// or followed by the targets, or by the targets and the weight.
ColumnPlan plan_by_schema(const Tables& tables, const DatasetOptions& options);

}  // namespace mercer
