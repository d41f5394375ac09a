#pragma once
#include <mercer/rows.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/calendar.hpp"

namespace mercer {

/// What to do with rows that have an empty, `?`, `NA` or `NaN` cell in a column that is used.
enum class Missing {
  error,  ///< refuse, saying how many there are and where the first is
  mean,   ///< the mean of the column's present training values (inputs only; rows with a missing target are an error)
  drop,   ///< leave the row out (and count it)
  keep,   ///< pass NaN on (predict: the answer for that row is NaN)
};

/// One input column as the model sees it. A text column becomes one 0/1 input per category.
struct InputColumn {
  std::string name;
  std::vector<std::string> categories;  ///< sorted; empty for a number column
  double fill = 0;                      ///< what Missing::mean puts in: the mean over the rows it was learned from
  DateFormat dates = DateFormat::none;  ///< how the column writes times; its values are then days since 1970-01-01, or years
  bool operator==(const InputColumn&) const = default;
};

/// What the columns of a file mean to a model; stored in the model file and used again to read new files.
struct Schema {
  std::vector<InputColumn> inputs;
  std::vector<std::string> targets;  ///< names
  std::vector<std::string> classes;  ///< sorted labels of a classification target; empty for regression
  std::string weights;               ///< name of the weight column, or ""
  bool operator==(const Schema&) const = default;

  /// Number of numeric inputs: 1 per number column, the number of categories per text column.
  Index input_count() const;
  /// Names of the numeric inputs: "age", "colour=red", …
  std::vector<std::string> input_names() const;
};

struct DatasetOptions {
  /// Column selections: comma-separated names, 0-based numbers, ranges "3-7" of numbers or "a-b" of names, "last:8",
  /// "first:2". A name that is itself a column wins over every other reading.
  std::string targets;
  std::string inputs;   ///< empty: every column that is neither target nor weight
  std::string weights;  ///< one column, or empty
  Missing missing = Missing::error;
  bool one_hot = false;        ///< turn text input columns into categories; otherwise text in an input is an error
  std::string dates = "auto";  ///< input columns that hold dates: "auto" (ISO text; numbers that are all YYYYMMDD), "none",
                               ///< or a selection of columns, each of which must
  bool classify = false;  ///< the one target is a class label, text or number; also chosen when the target column is text
  std::string format;     ///< "csv", "tsv", "arff", "svmlight", "npy", "idx", "hdf5"; empty: by name, then by content
  std::string header = "auto";    ///< "auto", "yes", "no" (CSV)
  bool targets_optional = false;  ///< with `like`: a file without the target columns is fine (predict)
  const Schema* like = nullptr;  ///< read by this schema instead of the selections above: columns by name where the file has
                                 ///< names, else by position; a category never seen in training is an error naming it
  Index memory_bytes = 0;  ///< keep the parsed rows in memory when they take no more than this; else parse on every pass
};

/// An open data file. Opening reads what it must to know the schema (categories, classes, means, missing cells), so every
/// complaint about the file's shape comes from here, once, before any work is done.
class Dataset : public RowSource {
 public:
  virtual const Schema& schema() const = 0;
  virtual bool has_targets() const = 0;
  virtual Index rows_dropped() const = 0;  ///< by Missing::drop
  virtual Index cells_filled() const = 0;  ///< by Missing::mean
};

/// Opens one file or several of the same columns, as if they were one. "-" is standard input (kept in memory).
/// Targets of a classification are class numbers 0 … K-1.
std::unique_ptr<Dataset> open_dataset(const std::vector<std::string>& paths, const DatasetOptions& options);

}  // namespace mercer
