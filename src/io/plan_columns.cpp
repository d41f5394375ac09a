#include "io/plan_columns.hpp"

#include <algorithm>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "io/select_columns.hpp"

namespace mercer {
namespace {

/// Sparse tables of one data set count from the same number and have as many columns as the widest.
const TableReader& leading_table(const Tables& tables) {
  const bool from_zero = std::any_of(tables.begin(), tables.end(), [](const auto& t) { return t->counts_from_zero(); });
  for (const auto& table : tables) {
    if (from_zero && table->sparse()) table->count_from_zero();
  }
  const auto widest = std::max_element(tables.begin(), tables.end(),
                                       [](const auto& a, const auto& b) { return a->column_count() < b->column_count(); });
  const bool all_sparse = std::all_of(tables.begin(), tables.end(), [](const auto& t) { return t->sparse(); });
  return all_sparse ? **widest : *tables.front();
}

void append(std::vector<Index>& all, const std::vector<Index>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// What `dates` (see DatasetOptions) asks of each input.
std::vector<DateColumn::Wish> date_wishes(const ColumnNames& names, const std::vector<Index>& inputs,
                                          const std::string& dates) {
  const bool automatic = dates.empty() || dates == "auto";
  std::vector<DateColumn::Wish> wishes(inputs.size(), automatic ? DateColumn::Wish::automatic : DateColumn::Wish::never);
  if (automatic || dates == "none") return wishes;
  for (const Index column : names.select(dates, "dates")) {
    const auto found = std::find(inputs.begin(), inputs.end(), column);
    if (found == inputs.end()) fail_argument("dates: column " + quoted(names.name(column)) + " is not an input");
    wishes[static_cast<std::size_t>(found - inputs.begin())] = DateColumn::Wish::always;
  }
  return wishes;
}

/// The selected columns of the leading table, checked against each other.
std::vector<Index> select_all(const TableReader& table, const DatasetOptions& options, ColumnPlan& plan) {
  const ColumnNames names(table.names(), table.path());
  const std::string targets_text = options.targets.empty() && table.sparse() ? "target" : options.targets;
  std::vector<Index> targets;
  std::vector<Index> weights;
  std::vector<Index> inputs;
  if (!targets_text.empty()) targets = names.select(targets_text, "targets");
  if (!options.weights.empty()) weights = names.select(options.weights, "weights");
  if (weights.size() > 1) fail_argument("weights: " + quoted(options.weights) + " is more than one column");

  std::vector<const char*> taken(static_cast<std::size_t>(names.count()), nullptr);
  const auto take = [&](const std::vector<Index>& columns, const char* what) {
    for (const Index column : columns) {
      auto& holder = taken[static_cast<std::size_t>(column)];
      if (holder != nullptr) {
        fail_argument("column " + quoted(names.name(column)) + " of " + table.path() + " cannot be among the " + holder +
                      " and the " + what + " at once");
      }
      holder = what;
    }
  };
  take(targets, "targets");
  take(weights, "weights");
  if (options.inputs.empty()) {
    for (Index j = 0; j < names.count(); ++j) {
      if (taken[static_cast<std::size_t>(j)] == nullptr) inputs.push_back(j);
    }
  } else {
    inputs = names.select(options.inputs, "inputs");
    take(inputs, "inputs");
  }
  if (inputs.empty()) fail_argument(table.path() + ": no column is left as an input" + names.list());

  plan.dates = date_wishes(names, inputs, options.dates);
  plan.inputs = static_cast<Index>(inputs.size());
  plan.targets = static_cast<Index>(targets.size());
  plan.weight = !weights.empty();
  append(inputs, targets);
  append(inputs, weights);
  return inputs;
}

std::vector<Index> same_columns(const TableReader& lead, const TableReader& table, const std::vector<Index>& columns) {
  if (&lead == &table || (lead.sparse() && table.sparse())) return columns;
  if (lead.has_names() && table.has_names()) {
    const ColumnNames names(table.names(), table.path());
    std::vector<Index> result;
    for (const Index column : columns) {
      const std::string& name = lead.names()[static_cast<std::size_t>(column)];
      const Index position = names.find(name);
      if (position < 0)
        fail_file(table.path() + ": no column " + quoted(name) + ", which " + lead.path() + " has" + names.nearest(name));
      result.push_back(position);
    }
    return result;
  }
  if (table.column_count() != lead.column_count()) {
    fail_file(table.path() + ": " + std::to_string(table.column_count()) + " columns, but " + lead.path() + " has " +
              std::to_string(lead.column_count()));
  }
  return columns;
}

/// What one table offers of a schema.
struct Match {
  std::vector<Index> inputs;
  std::vector<Index> targets;  ///< all of them, or none
  Index weight = -1;
};

/// Column of a schema's name; a sparse table has every x<k>, beyond its last ones too.
Index find_column(const TableReader& table, const ColumnNames& names, const std::string& name) {
  const Index position = names.find(name);
  if (position >= 0 || !table.sparse() || name.size() < 2 || name.size() > 8 || name.front() != 'x') return position;
  if (name.find_first_not_of("0123456789", 1) != std::string::npos) return -1;
  return std::stol(name.substr(1)) + 1;
}

Match match_by_position(const TableReader& table, const Schema& schema) {
  const auto inputs = static_cast<Index>(schema.inputs.size());
  const auto targets = static_cast<Index>(schema.targets.size());
  const Index count = table.column_count();
  const bool with_weight = !schema.weights.empty() && count == inputs + targets + 1;
  if (count != inputs && count != inputs + targets && !with_weight) {
    fail_file(table.path() + ": " + std::to_string(count) + " columns without names; expected " + std::to_string(inputs) +
              " (the inputs of the model, in its order) or " + std::to_string(inputs + targets) + " (then the targets)");
  }
  Match match;
  for (Index j = 0; j < inputs; ++j) match.inputs.push_back(j);
  for (Index j = inputs; count > inputs && j < inputs + targets; ++j) match.targets.push_back(j);
  if (with_weight) match.weight = inputs + targets;
  return match;
}

[[noreturn]] void refuse_absent(const TableReader& table, const ColumnNames& names, const std::vector<std::string>& absent,
                                const char* what) {
  constexpr std::size_t shown = 5;
  std::vector<std::string> some;
  for (std::size_t k = 0; k < std::min(shown, absent.size()); ++k)
    some.push_back(quoted(absent[k]) + names.nearest(absent[k]));
  const std::string more = absent.size() > shown ? " and " + std::to_string(absent.size() - shown) + " more" : "";
  fail_file(table.path() + ": the model's " + what + " " + join(some, ", ") + more + (absent.size() > 1 ? " are" : " is") +
            " not among the columns" + names.list());
}

Match match_schema(const TableReader& table, const DatasetOptions& options) {
  const Schema& schema = *options.like;
  const ColumnNames names(table.names(), table.path());
  Match match;
  std::vector<std::string> absent;
  for (const auto& input : schema.inputs) {
    match.inputs.push_back(find_column(table, names, input.name));
    if (match.inputs.back() < 0) absent.push_back(input.name);
  }
  if (!absent.empty() && !table.has_names()) {
    match = match_by_position(table, schema);
  } else if (!absent.empty()) {
    refuse_absent(table, names, absent, absent.size() > 1 ? "inputs" : "input");
  } else {
    std::vector<std::string> absent_targets;
    for (const auto& target : schema.targets) {
      match.targets.push_back(names.find(target));
      if (match.targets.back() < 0) absent_targets.push_back(target);
    }
    if (!absent_targets.empty() && !options.targets_optional) {
      refuse_absent(table, names, absent_targets, absent_targets.size() > 1 ? "targets" : "target");
    }
    if (!absent_targets.empty()) match.targets.clear();
    if (!schema.weights.empty()) match.weight = names.find(schema.weights);
  }
  if (match.targets.size() != schema.targets.size() && !options.targets_optional) {
    refuse_absent(table, names, schema.targets, "targets");
  }
  return match;
}

}  // namespace

ColumnPlan plan_by_options(const Tables& tables, const DatasetOptions& options) {
  const TableReader& lead = leading_table(tables);
  ColumnPlan plan;
  const std::vector<Index> columns = select_all(lead, options, plan);
  for (const Index column : columns) plan.names.push_back(lead.names()[static_cast<std::size_t>(column)]);
  for (const auto& table : tables) plan.columns.push_back(same_columns(lead, *table, columns));
  return plan;
}

ColumnPlan plan_by_schema(const Tables& tables, const DatasetOptions& options) {
  const Schema& schema = *options.like;
  leading_table(tables);
  std::vector<Match> matches;
  for (const auto& table : tables) matches.push_back(match_schema(*table, options));
  const bool targets = std::none_of(matches.begin(), matches.end(), [](const Match& m) { return m.targets.empty(); });
  const auto weights = std::count_if(matches.begin(), matches.end(), [](const Match& m) { return m.weight >= 0; });
  if (weights != 0 && weights != std::ssize(matches)) {
    fail_file(tables.front()->path() + " and the files with it: only some have the weight column " + quoted(schema.weights));
  }
  ColumnPlan plan;
  plan.inputs = static_cast<Index>(schema.inputs.size());
  plan.targets = targets ? static_cast<Index>(schema.targets.size()) : 0;
  plan.weight = weights != 0;
  for (const auto& input : schema.inputs) plan.names.push_back(input.name);
  if (targets) plan.names.insert(plan.names.end(), schema.targets.begin(), schema.targets.end());
  if (plan.weight) plan.names.push_back(schema.weights);
  for (const Match& match : matches) {
    auto& columns = plan.columns.emplace_back(match.inputs);
    if (targets) append(columns, match.targets);
    if (plan.weight) columns.push_back(match.weight);
  }
  return plan;
}

}  // namespace mercer
