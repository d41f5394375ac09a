#pragma once
#include <mercer/view.hpp>

#include <memory>
#include <string>
#include <string_view>

#include "io/byte_window.hpp"

namespace mercer {

/// The lines of a text file, without their ends (LF or CRLF) and without a byte-order mark. A line longer than 64 MiB, a
/// zero byte or UTF-16 is refused: the file is not the text it is taken for.
class Lines {
 public:
  explicit Lines(std::unique_ptr<ByteSource> source) : window_(std::move(source)) {}

  /// The next line; false at the end. The view lives until the next call.
  bool next(std::string_view& line);
  /// Adds the following line, and the line end between, to the record that next() began, and gives it whole; false at the
  /// end of the file.
  bool extend(std::string_view& text);
  /// Number of the line that next() gave, counting from 1.
  Index number() const { return number_; }
  /// "train.csv: line 12"
  std::string place() const;
  [[noreturn]] void fail(const std::string& what) const;

  void rewind();
  void rest() { window_.rest(); }
  const std::string& path() const { return window_.path(); }

 private:
  bool find_end(std::size_t from);
  std::string_view record() const;
  void skip_byte_order_mark();

  ByteWindow window_;
  std::size_t length_ = 0;    ///< of the record in the window, line ends within included, the last one not
  std::size_t consumed_ = 0;  ///< the same and its line end: what the next call skips
  Index number_ = 0;
  Index last_number_ = 0;  ///< of the last line of the record
  bool at_start_ = true;
};

}  // namespace mercer
