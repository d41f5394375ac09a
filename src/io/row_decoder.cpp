#include "io/row_decoder.hpp"

#include <algorithm>
#include <cmath>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "io/cell.hpp"

namespace mercer {
namespace {

[[noreturn]] void fail(const TableReader& table, const UsedColumn& column, const std::string& what) {
  fail_file(table.path() + ": " + table.place() + ", column " + quoted(column.name) + ": " + what);
}

}  // namespace

RowDecoder::RowDecoder(const ColumnPlan& plan, const DatasetOptions& options)
    : columns_(plan.names.size()),
      missing_(options.missing),
      one_hot_(options.one_hot),
      targets_optional_(options.like != nullptr && options.targets_optional),
      known_labels_(options.like != nullptr),
      targets_(plan.targets) {
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    const auto place = static_cast<Index>(j);
    UsedColumn& column = columns_[j];
    column.name = plan.names[j];
    column.role = place < plan.inputs                  ? UsedColumn::Role::input
                  : place < plan.inputs + plan.targets ? UsedColumn::Role::target
                                                       : UsedColumn::Role::weight;
    if (column.role == UsedColumn::Role::input) {
      column.dates = known_labels_ ? DateColumn(options.like->inputs[j].dates)
                                   : DateColumn(column.name, plan.dates[j], plan.inputs == 1);
    }
    const std::vector<std::string>* labels = nullptr;
    if (known_labels_ && column.role == UsedColumn::Role::input) labels = &options.like->inputs[j].categories;
    if (known_labels_ && column.role == UsedColumn::Role::target) labels = &options.like->classes;
    if (labels != nullptr && !labels->empty()) {
      declare_text(place);
      *column.labels = Codebook(*labels);
    }
  }
  if (options.classify && !known_labels_) {
    if (targets_ != 1) fail_argument("a classification needs exactly one target column, not " + std::to_string(targets_));
    declare_text(plan.inputs);
  }
}

void RowDecoder::declare_text(Index j) {
  UsedColumn& column = columns_[static_cast<std::size_t>(j)];
  if (column.text()) return;
  if (column.role == UsedColumn::Role::weight) fail_argument("the weight column " + quoted(column.name) + " holds text");
  if (column.role == UsedColumn::Role::target && targets_ != 1) {
    fail_argument("target column " + quoted(column.name) + " holds text; a classification has exactly one target");
  }
  if (column.role == UsedColumn::Role::input && !one_hot_ && !known_labels_) {
    fail_argument("input column " + quoted(column.name) + " holds text; leave it out with --inputs, or use --one-hot");
  }
  column.labels = std::make_unique<Codebook>();
  text_columns_.push_back(static_cast<std::size_t>(j));
}

bool RowDecoder::decode(const TableReader& table, const Cells& cells, std::span<double> row) {
  Gaps gaps;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    const double value = cells.numbers[j];
    const bool plain = std::isfinite(value) && !columns_[j].text() && columns_[j].dates.plain();
    row[j] = plain ? value : odd_cell(table, cells, j, gaps);
  }
  if (gaps.inputs + gaps.targets + gaps.weights != 0 && !keep_with(gaps, table)) {
    if (learning_) ++dropped_;
    return false;
  }
  for (const std::size_t j : text_columns_) {
    if (!std::isnan(row[j])) row[j] = label(table, cells, j);
  }
  const UsedColumn& last = columns_.back();
  if (last.role == UsedColumn::Role::weight && row.back() < 0) {
    fail(table, last, "the weight " + shortest(row.back()) + " is negative");
  }
  if (learning_) learn(row);
  return true;
}

/// Everything but a finite number in a number column.
double RowDecoder::odd_cell(const TableReader& table, const Cells& cells, std::size_t j, Gaps& gaps) {
  UsedColumn& column = columns_[j];
  const double value = cells.numbers[j];
  const std::string_view text = cells.text(j);
  if (std::isnan(value) && text.empty()) {
    if (learning_) note_missing(table, column);
    gaps.inputs += column.role == UsedColumn::Role::input ? 1 : 0;
    gaps.targets += column.role == UsedColumn::Role::target ? 1 : 0;
    gaps.weights += column.role == UsedColumn::Role::weight ? 1 : 0;
    return missing_number;
  }
  if (column.text()) return 0;
  if (std::isinf(value)) {
    fail(table, column, (text.empty() ? quoted(shortest(value)) : quoted(text)) + " is not a finite number");
  }
  const bool number = !std::isnan(value);
  const bool dates = number || counts_days(column.dates.format()) || !column.dates.plain();
  if (dates || (column.present == 0 && column.dates.claims(text, one_hot_))) return date_cell(table, text, value, column);
  return text_cell(table, text, column);
}

double RowDecoder::date_cell(const TableReader& table, std::string_view text, double number, UsedColumn& column) {
  double value = 0;
  std::string problem;
  if (!column.dates.read(text, number, value, problem)) fail(table, column, problem);
  return value;
}

/// Text in what was a number column so far. Inputs become categories with --one-hot. A target becomes a class label if no
/// number came before; one text among numbers is rather a slip.
double RowDecoder::text_cell(const TableReader& table, std::string_view text, UsedColumn& column) {
  const bool may_turn = learning_ && !known_labels_;
  const bool input = column.role == UsedColumn::Role::input;
  if (may_turn && input && one_hot_) {
    begin_again_ = begin_again_ || column.present != 0;
    declare_text(&column - columns_.data());
    return 0;
  }
  if (may_turn && column.role == UsedColumn::Role::target && column.present == 0) {
    declare_text(&column - columns_.data());
    return 0;
  }
  std::string what = quoted(text) + " is not a number" + std::string(decimal_comma_hint(text));
  if (may_turn && input) what += "; leave the column out with --inputs, or use --one-hot";
  if (may_turn && column.role == UsedColumn::Role::target && targets_ == 1)
    what += "; use --classify if the target is a label";
  fail(table, column, what);
}

/// Class labels that are numbers have one spelling, so that 1, 1.0 and +1 are the same class.
double RowDecoder::label(const TableReader& table, const Cells& cells, std::size_t j) {
  UsedColumn& column = columns_[j];
  std::string_view text = cells.text(j);
  double number = cells.numbers[j];
  std::string spelled;
  const bool is_class = column.role == UsedColumn::Role::target;
  if (text.empty() || (is_class && (!std::isnan(number) || parse_number(text, number)) && std::isfinite(number))) {
    spelled = shortest(number);
    text = spelled;
  }
  const Index known = column.labels->find(text);
  if (known >= 0) return static_cast<double>(known);
  const std::string kind = is_class ? "class " : "category ";
  if (known_labels_) {
    fail(table, column, kind + quoted(text) + " was not in the training data" + did_you_mean(text, column.labels->sorted()));
  }
  if (!learning_) fail(table, column, "the file changed while it was read");
  if (column.labels->size() == Codebook::most) {
    fail(table, column, "more than " + std::to_string(Codebook::most) + " different texts; this is no " + kind + "column");
  }
  return static_cast<double>(column.labels->add(text));
}

void RowDecoder::note_missing(const TableReader& table, UsedColumn& column) {
  if (column.role == UsedColumn::Role::target) {
    target_missing_ = true;
    if (targets_optional_) return;
  }
  if (missing_cells_++ == 0) {
    first_missing_ = {table.path(), table.place(), column.name};
  }
  column.has_missing = true;
}

bool RowDecoder::keep_with(const Gaps& gaps, const TableReader& table) {
  const bool target = gaps.targets != 0 && !targets_optional_;
  if (missing_ == Missing::drop) return gaps.inputs == 0 && gaps.weights == 0 && !target;
  if (missing_ == Missing::error) return true;
  if (gaps.weights != 0) fail(table, columns_.back(), "the weight is missing; use --missing drop");
  if (missing_ == Missing::mean && target) {
    fail_file(table.path() + ": " + table.place() +
              ": a target is missing, which no mean can stand for; use --missing drop");
  }
  if (missing_ == Missing::mean && learning_) filled_ += gaps.inputs;
  return true;
}

void RowDecoder::learn(std::span<const double> row) {
  ++rows_;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    if (std::isnan(row[j])) continue;
    ++columns_[j].present;
    columns_[j].sum += static_cast<long double>(row[j]);
    columns_[j].dates.see(row[j]);
  }
  if (columns_.back().role == UsedColumn::Role::weight && !std::isnan(row.back())) {
    weight_sum_ += static_cast<long double>(row.back());
  }
}

bool RowDecoder::must_begin_again() {
  for (UsedColumn& column : columns_) {
    if (!column.text() && column.dates.settle()) begin_again_ = true;
  }
  return begin_again_;
}

void RowDecoder::begin_again() {
  for (UsedColumn& column : columns_) {
    column.dates.begin_again();
    if (column.text() && !known_labels_) *column.labels = Codebook();
    column.present = 0;
    column.sum = 0;
    column.has_missing = false;
  }
  begin_again_ = false;
  rows_ = dropped_ = filled_ = missing_cells_ = 0;
  target_missing_ = false;
  weight_sum_ = 0;
}

void RowDecoder::refuse_missing(const std::string& files) const {
  Index columns = 0;
  bool inputs_only = true;
  for (const UsedColumn& column : columns_) {
    if (!column.has_missing) continue;
    ++columns;
    inputs_only = inputs_only && column.role == UsedColumn::Role::input;
  }
  const std::string file = first_missing_.path == files ? "" : " of " + first_missing_.path;
  fail_file(files + ": " + counted(missing_cells_, "missing cell") + " in " + counted(columns, "column") + ", first at " +
            first_missing_.place + file + ", column " + quoted(first_missing_.column) +
            (inputs_only ? "; use --missing mean or --missing drop" : "; use --missing drop"));
}

/// A column whose texts hardly ever repeat, or are numbers but for a few, is no category: one 0/1 input for each would say
/// nothing.
void RowDecoder::refuse_odd_categories(const std::string& files) const {
  constexpr Index few = 20;
  for (const UsedColumn& column : columns_) {
    if (!column.text() || known_labels_ || column.labels->size() <= few) continue;
    const Index different = column.labels->size();
    double ignored = 0;
    const std::vector<std::string>& texts = column.labels->sorted();
    const auto numbers = std::ranges::count_if(texts, [&](const std::string& t) { return parse_number(t, ignored); });
    const std::string name = files + ": column " + mercer::quoted(column.name) + " has " + std::to_string(different);
    const std::string where = name + " different texts";
    const bool target = column.role == UsedColumn::Role::target;
    if (target && numbers == different && 2 * different > rows_) {  // --classify made labels of them
      fail_file(name + " different numbers in " + std::to_string(rows_) +
                " rows: that is a quantity, not a class label; leave --classify out and take a loss of numbers");
    }
    const std::string mend = target ? "; if it holds numbers, write them with a decimal point"
                                    : "; leave it out with --inputs, or mend its numbers";
    if (2 * different > rows_) {
      fail_file(where + " in " + std::to_string(rows_) + " rows: that is no category" + mend);
    }
    if (column.role != UsedColumn::Role::input) continue;
    if (2 * numbers <= different) continue;
    const auto odd = std::ranges::find_if_not(texts, [&](const std::string& t) { return parse_number(t, ignored); });
    fail_file(where + ", most of them numbers" + (odd == texts.end() ? "" : " (but " + mercer::quoted(*odd) + " is not)") +
              ": that is no category" + mend);
  }
}

void RowDecoder::finish(const std::string& files) {
  if (rows_ == 0 && dropped_ != 0)
    fail_file(files + ": each of the " + counted(dropped_, "row") + " has a missing cell; none is left");
  if (rows_ == 0) fail_file(files + ": no rows of data");
  if (missing_ == Missing::error && missing_cells_ != 0) refuse_missing(files);
  for (UsedColumn& column : columns_) {
    const bool needs_value = !known_labels_ && (column.text() || missing_ == Missing::mean);
    if (needs_value && column.present == 0)
      fail_file(files + ": column " + quoted(column.name) + " has no value in any row; leave it out");
    if (column.text() && !known_labels_) column.labels->sort(column.role == UsedColumn::Role::target);
  }
  refuse_odd_categories(files);
  if (columns_.back().role == UsedColumn::Role::weight && !(weight_sum_ > 0)) fail_file(files + ": all weights are 0");
  learning_ = false;
}

}  // namespace mercer
