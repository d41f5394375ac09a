#include "io/dataset.hpp"

#include <algorithm>
#include <cmath>

#include "base/fail.hpp"
#include "base/matrix.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "io/cell.hpp"
#include "io/plan_columns.hpp"
#include "io/readers.hpp"
#include "io/row_decoder.hpp"
#include "io/row_places.hpp"
#include "io/row_store.hpp"

namespace mercer {
namespace {

class FileDataset final : public Dataset {
 public:
  FileDataset(Tables tables, const DatasetOptions& options);

  const Schema& schema() const override { return schema_; }
  bool has_targets() const override { return target_count_ > 0; }
  Index rows_dropped() const override { return decoder_.rows_dropped(); }
  Index cells_filled() const override { return decoder_.cells_filled(); }
  Index input_count() const override { return input_count_; }
  Index target_count() const override { return target_count_; }
  Index row_count() const override { return decoder_.rows(); }
  bool next(Index max_rows, RowBlock& block) override;
  void rewind() override;
  std::string name_of(RowPart part, Index column) const override;
  std::string place_of(Index row) const override;

 private:
  void scan();
  bool pull();
  Schema learned_schema() const;
  void put_inputs(std::span<const double> row, std::span<double> inputs) const;
  void put_targets(std::span<const double> row, std::span<double> targets) const;
  [[noreturn]] void fail_changed() const;

  std::string files_;  ///< for messages about all files together
  std::vector<std::string> paths_;
  std::vector<std::string> units_;  ///< of places in them: "line", "row"
  RowPlaces places_;
  Tables tables_;
  ColumnPlan plan_;
  Missing missing_;
  RowDecoder decoder_;
  RowStore store_;
  Schema schema_;
  Index input_count_ = 0;
  Index target_count_ = 0;

  Cells cells_;
  std::vector<double> row_;
  std::size_t table_ = 0;  ///< being read
  bool table_begun_ = false;
  Index position_ = 0;  ///< of the next row to give
  Matrix<double> inputs_;
  Matrix<double> targets_;
  std::vector<double> weights_;
};

ColumnPlan plan_columns(const Tables& tables, const DatasetOptions& options) {
  return options.like != nullptr ? plan_by_schema(tables, options) : plan_by_options(tables, options);
}

FileDataset::FileDataset(Tables tables, const DatasetOptions& options)
    : files_(tables.front()->path()),
      tables_(std::move(tables)),
      plan_(plan_columns(tables_, options)),
      missing_(options.missing),
      decoder_(plan_, options),
      store_(decoder_.width(), options.memory_bytes),
      row_(static_cast<std::size_t>(decoder_.width())) {
  if (tables_.size() > 1) files_ += " and " + std::to_string(tables_.size() - 1) + " more";
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    paths_.push_back(tables_[t]->path());
    units_.emplace_back(tables_[t]->unit());
    tables_[t]->use(plan_.columns[t]);
    for (std::size_t j = 0; options.like == nullptr && j < plan_.columns[t].size(); ++j) {
      const Index column = plan_.columns[t][j];
      if (column < tables_[t]->column_count() && tables_[t]->declared_text(column))
        decoder_.declare_text(static_cast<Index>(j));
    }
  }
  scan();
  if (decoder_.must_begin_again()) {
    decoder_.begin_again();
    store_.clear();
    places_.clear();
    scan();
  }
  decoder_.finish(files_);
  schema_ = options.like != nullptr ? *options.like : learned_schema();
  input_count_ = schema_.input_count();
  const bool useless_targets = options.like != nullptr && options.targets_optional && decoder_.target_missing();
  target_count_ = useless_targets ? 0 : plan_.targets;
  if (store_.complete()) tables_.clear();
  rewind();
}

void FileDataset::scan() {
  table_ = 0;
  table_begun_ = false;
  while (pull()) {
    store_.append(row_);
    places_.append({table_, tables_[table_]->number()});
  }
}

/// Reads the next row that is kept into row_; false after the last file.
bool FileDataset::pull() {
  for (; table_ < tables_.size(); ++table_) {
    TableReader& table = *tables_[table_];
    if (!table_begun_) table.rewind();
    table_begun_ = true;
    while (table.next(cells_)) {
      if (decoder_.decode(table, cells_, row_)) return true;
    }
    if (tables_.size() > 1) table.rest();
    table_begun_ = false;
  }
  return false;
}

Schema FileDataset::learned_schema() const {
  Schema schema;
  for (const UsedColumn& column : decoder_.columns()) {
    if (column.role == UsedColumn::Role::target) {
      schema.targets.push_back(column.name);
      if (column.text()) schema.classes = column.labels->sorted();
    } else if (column.role == UsedColumn::Role::weight) {
      schema.weights = column.name;
    } else {
      InputColumn& input = schema.inputs.emplace_back();
      input.name = column.name;
      input.dates = column.text() ? DateFormat::none : column.dates.format();
      if (column.text()) {
        input.categories = column.labels->sorted();
      } else if (column.present > 0) {
        input.fill = static_cast<double>(column.sum / static_cast<long double>(column.present));
      }
    }
  }
  return schema;
}

/// A missing number becomes its fill, a missing category no category at all (zeros), or NaN where NaN is to pass.
void FileDataset::put_inputs(std::span<const double> row, std::span<double> inputs) const {
  const bool fill = missing_ == Missing::mean;
  const auto& columns = decoder_.columns();
  std::size_t out = 0;
  for (std::size_t j = 0; j < schema_.inputs.size(); ++j) {
    const double value = row[j];
    const bool missing = std::isnan(value);
    if (!columns[j].text()) {
      inputs[out++] = missing && fill ? schema_.inputs[j].fill : value;
      continue;
    }
    const std::size_t count = schema_.inputs[j].categories.size();
    std::fill_n(inputs.begin() + static_cast<Index>(out), count, missing && !fill ? missing_number : 0.0);
    if (!missing) inputs[out + static_cast<std::size_t>(columns[j].labels->rank(static_cast<Index>(value)))] = 1;
    out += count;
  }
}

void FileDataset::put_targets(std::span<const double> row, std::span<double> targets) const {
  for (std::size_t k = 0; k < targets.size(); ++k) {
    const std::size_t j = static_cast<std::size_t>(plan_.inputs) + k;
    const UsedColumn& column = decoder_.columns()[j];
    const bool label = column.text() && !std::isnan(row[j]);
    targets[k] = label ? static_cast<double>(column.labels->rank(static_cast<Index>(row[j]))) : row[j];
  }
}

void FileDataset::fail_changed() const {
  fail_file(files_ + ": the number of rows changed while the data was in use");
}

bool FileDataset::next(Index max_rows, RowBlock& block) {
  if (max_rows < 1) fail_argument("a block must have at least one row, not " + std::to_string(max_rows));
  check_stop();
  const Index count = std::min(max_rows, row_count() - position_);
  if (count == 0) {
    if (!store_.complete() && pull()) fail_changed();
    return false;
  }
  if (inputs_.rows() < count) {
    inputs_ = Matrix<double>(count, input_count_);
    targets_ = Matrix<double>(count, target_count_);
    weights_.resize(plan_.weight ? static_cast<std::size_t>(count) : 0);
  }
  for (Index i = 0; i < count; ++i) {
    if (!store_.complete() && !pull()) fail_changed();
    const std::span<const double> row = store_.complete() ? store_.row(position_ + i) : row_;
    put_inputs(row, inputs_.row(i));
    if (target_count_ > 0) put_targets(row, targets_.row(i));
    if (plan_.weight) weights_[static_cast<std::size_t>(i)] = row.back();
  }
  block.first_row = position_;
  block.inputs = inputs_.view().row_range(0, count);
  block.targets = targets_.view().row_range(0, count);
  block.weights = std::span<const double>(weights_).first(plan_.weight ? static_cast<std::size_t>(count) : 0);
  position_ += count;
  return true;
}

std::string FileDataset::name_of(RowPart part, Index column) const {
  switch (part) {
    case RowPart::input:
      return "column " + quoted(schema_.input_names().at(static_cast<std::size_t>(column)));
    case RowPart::target:
      return "column " + quoted(schema_.targets.at(static_cast<std::size_t>(column)));
    case RowPart::weight:
      break;
  }
  return "the weight (column " + quoted(schema_.weights) + ")";
}

std::string FileDataset::place_of(Index row) const {
  const RowPlaces::Place place = places_.of(row);
  return units_.at(place.file) + " " + std::to_string(place.number) + " of " + paths_.at(place.file);
}

void FileDataset::rewind() {
  position_ = 0;
  table_ = 0;
  table_begun_ = false;
}

}  // namespace

std::unique_ptr<Dataset> open_dataset(const std::vector<std::string>& paths, const DatasetOptions& options) {
  if (paths.empty()) fail_argument("no data file was given");
  if (std::count(paths.begin(), paths.end(), "-") > 1) fail_argument("standard input can be read only once");
  Tables tables;
  for (const auto& path : paths) {
    tables.push_back(open_table(path, options));
    if (paths.size() > 1) tables.back()->rest();
  }
  return std::make_unique<FileDataset>(std::move(tables), options);
}

}  // namespace mercer
