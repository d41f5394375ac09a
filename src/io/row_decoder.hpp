#pragma once
#include <mercer/view.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/codebook.hpp"
#include "io/dataset.hpp"
#include "io/date_column.hpp"
#include "io/plan_columns.hpp"
#include "io/table.hpp"

namespace mercer {

/// One column that is read, and what the scan of the files learns about it.
struct UsedColumn {
  enum class Role { input, target, weight };
  std::string name;
  Role role = Role::input;
  std::unique_ptr<Codebook> labels;  ///< of a text column, whose values are numbers in it; null: a number column
  DateColumn dates;                  ///< of an input
  Index present = 0;                 ///< cells with a value, in the rows kept
  long double sum = 0;               ///< of them; wide enough for any sum of doubles
  bool has_missing = false;

  bool text() const { return labels != nullptr; }
};

/// Turns the cells of a row into one double per used column: the number, the number of its text in the codebook, or NaN for
/// a missing one. While it learns (the scan when a data set is opened) it collects texts, means and missing cells; what
/// cannot be used is refused with file, line and column.
class RowDecoder {
 public:
  RowDecoder(const ColumnPlan& plan, const DatasetOptions& options);

  Index width() const { return static_cast<Index>(columns_.size()); }
  const std::vector<UsedColumn>& columns() const { return columns_; }
  void declare_text(Index j);

  /// False when the row is to be left out.
  bool decode(const TableReader& table, const Cells& cells, std::span<double> row);

  /// After a pass over all rows. True when numbers were read from a column in which text came later, or which turned out to
  /// hold dates: begin_again() and decode all rows once more.
  bool must_begin_again();
  void begin_again();
  /// Ends learning: refuses what makes the files unusable as a whole, and fixes the order of labels.
  void finish(const std::string& files);

  Index rows() const { return rows_; }
  Index rows_dropped() const { return dropped_; }
  Index cells_filled() const { return filled_; }
  bool target_missing() const { return target_missing_; }

 private:
  struct Gaps {
    Index inputs = 0;
    Index targets = 0;
    Index weights = 0;
  };
  bool keep_with(const Gaps& gaps, const TableReader& table);
  double odd_cell(const TableReader& table, const Cells& cells, std::size_t j, Gaps& gaps);
  double date_cell(const TableReader& table, std::string_view text, double number, UsedColumn& column);
  double text_cell(const TableReader& table, std::string_view text, UsedColumn& column);
  double label(const TableReader& table, const Cells& cells, std::size_t j);
  void note_missing(const TableReader& table, UsedColumn& column);
  void learn(std::span<const double> row);
  void refuse_missing(const std::string& files) const;
  void refuse_odd_categories(const std::string& files) const;

  std::vector<UsedColumn> columns_;
  std::vector<std::size_t> text_columns_;
  Missing missing_;
  bool one_hot_;
  bool targets_optional_;
  bool known_labels_;  ///< the schema is given: texts that it lacks are refused
  Index targets_;
  bool learning_ = true;
  bool begin_again_ = false;
  Index rows_ = 0;
  Index dropped_ = 0;
  Index filled_ = 0;
  Index missing_cells_ = 0;
  struct {
    std::string path;
    std::string place;
    std::string column;
  } first_missing_;
  bool target_missing_ = false;
  long double weight_sum_ = 0;
};

}  // namespace mercer
