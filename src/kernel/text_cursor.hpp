#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace mercer {

/// Reads the words of a kernel text from left to right. Blanks between words are skipped.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  /// Where the next word starts (0-based); skips the blanks before it.
  std::size_t position();
  void back_to(std::size_t position) { position_ = position; }
  bool at_end() { return position() == text_.size(); }
  /// The next character, or '\0' at the end.
  char peek();
  bool accept(char wanted);
  /// Refuses anything but `wanted`; `where` completes "expected ')' …".
  void expect(char wanted, const std::string& where);

  bool at_name();
  bool at_number();
  std::string_view name();
  double number();
  /// A string in double quotes with \" and \\.
  std::string quoted_string();

  /// Throws "kernel text: <what> at position <1-based><hint>".
  [[noreturn]] static void fail(const std::string& what, std::size_t position, const std::string& hint = "");
  /// Throws with what stands at the cursor: "expected <what> but found 'x'".
  [[noreturn]] void fail_expected(const std::string& what);

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace mercer
