#pragma once
#include <mercer/view.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mercer {

/// No table has more columns than this: a few bytes of a hostile file must not claim gigabytes of names.
inline constexpr Index most_columns = 1'000'000;

/// The used cells of one row. A number is finite; ±∞ stands for one that is not; NaN for a cell that is missing, or that
/// is text: then its text is not empty.
struct Cells {
  std::vector<double> numbers;
  std::vector<std::string_view> texts;  ///< as written; no entries at all from formats that hold numbers only

  std::string_view text(std::size_t j) const { return texts.empty() ? std::string_view() : texts[j]; }
};

/// A file of rows in some format, read from the first to the last as often as wanted.
class TableReader {
 public:
  virtual ~TableReader();
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  const std::string& path() const { return path_; }
  const std::vector<std::string>& names() const { return names_; }
  /// False when the file names no columns and they are called x0, x1, … by their position.
  bool has_names() const { return has_names_; }
  Index column_count() const { return static_cast<Index>(names_.size()); }

  /// Whether the file declares the column as text.
  virtual bool declared_text(Index /*column*/) const { return false; }
  /// Whether columns beyond the last are allowed in use(), and are 0 in every row (svmlight).
  virtual bool sparse() const { return false; }
  /// svmlight: a file that shows no index 0 counts from 0 all the same when a sister file does.
  virtual bool counts_from_zero() const { return false; }
  virtual void count_from_zero() {}

  /// From now on next() gives these columns in this order.
  void use(std::span<const Index> columns);
  /// Begins at the first row. Called before the first next() as well.
  virtual void rewind() = 0;
  /// The next row; false at the end. The texts live until the next call.
  virtual bool next(Cells& cells) = 0;
  /// Gives back buffers and file handles until the next rewind().
  virtual void rest() {}
  /// Where the last row stands, for messages: "line 12" or "row 12".
  std::string place() const { return unit() + (" " + std::to_string(number())); }
  virtual Index number() const = 0;
  virtual const char* unit() const { return "line"; }

 protected:
  explicit TableReader(std::string path) : path_(std::move(path)) {}

  /// Names from the file: trimmed; an empty one becomes x<position>; the same twice is refused.
  void set_names(std::vector<std::string> names);
  /// x0, x1, …: no names of the file's own.
  void generate_names(Index columns);
  /// Names that the format itself gives, known to differ.
  void adopt_names(std::vector<std::string> names);
  void refuse_too_many_columns(Index columns) const;
  Index slot(Index column) const {
    return static_cast<std::size_t>(column) < slots_.size() ? slots_[static_cast<std::size_t>(column)] : -1;
  }
  std::span<const Index> used() const { return used_; }

 private:
  std::string path_;
  std::vector<std::string> names_;
  bool has_names_ = false;
  std::vector<Index> used_;   ///< file column of each used cell
  std::vector<Index> slots_;  ///< used cell of each file column, or -1
};

/// x0, x1, …, x<count-1>
std::vector<std::string> numbered_names(Index count);

}  // namespace mercer
