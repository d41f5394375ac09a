#include "io/npy_header.hpp"

#include <charconv>
#include <vector>

#include "base/fail.hpp"
#include "base/text.hpp"

namespace mercer {
namespace {

class Parser {
 public:
  Parser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  NpyHeader header();

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_file(path_ + ": NPY header: " + what); }
  void skip_blanks() { text_ = trim(text_); }
  bool take(std::string_view token) {
    skip_blanks();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail("expected '" + std::string(token) + "' before " + quoted(text_.substr(0, 20)));
  }
  std::string_view string();
  bool boolean();
  std::vector<Index> shape();
  Element element();

  std::string_view text_;
  const std::string& path_;
};

std::string_view Parser::string() {
  skip_blanks();
  const char quote = text_.empty() ? '\0' : text_.front();
  if (quote != '\'' && quote != '"') fail("expected a string before " + quoted(text_.substr(0, 20)));
  const std::size_t end = text_.find(quote, 1);
  if (end == std::string_view::npos) fail("a string is not closed");
  const std::string_view result = text_.substr(1, end - 1);
  text_.remove_prefix(end + 1);
  return result;
}

bool Parser::boolean() {
  if (take("True")) return true;
  expect("False");
  return false;
}

std::vector<Index> Parser::shape() {
  constexpr std::size_t most = 32;
  std::vector<Index> sizes;
  expect("(");
  while (!take(")")) {
    skip_blanks();
    Index size = -1;
    const auto result = std::from_chars(text_.data(), text_.data() + text_.size(), size);
    if (result.ec != std::errc() || size < 0) fail("a shape that cannot be: " + quoted(text_.substr(0, 30)));
    text_.remove_prefix(static_cast<std::size_t>(result.ptr - text_.data()));
    take("L");  // Python 2 wrote long integers so
    sizes.push_back(size);
    if (sizes.size() > most) fail("too many dimensions");
    if (!take(",")) {
      expect(")");
      break;
    }
  }
  return sizes;
}

Element Parser::element() {
  skip_blanks();
  if (text_.starts_with('[')) fail("a structured dtype is not read; save a plain array of numbers");
  const std::string_view type = string();
  const auto refuse = [&]() { fail("dtype " + quoted(type) + " is not read; save float32, float64, integers or bool"); };
  if (type.size() != 3) refuse();
  Element element;
  const char order = type[0];
  const char kind = type[1];
  element.size = static_cast<std::size_t>(type[2] - '0');
  if (order != '<' && order != '>' && order != '|' && order != '=') refuse();
  element.big_endian = order == '>';
  if (order == '|' && element.size != 1) refuse();
  const bool integer_size = element.size == 1 || element.size == 2 || element.size == 4 || element.size == 8;
  if (kind == 'f' && (element.size == 4 || element.size == 8)) {
    element.kind = Element::Kind::floating;
  } else if (kind == 'i' && integer_size) {
    element.kind = Element::Kind::integer;
  } else if (kind == 'u' && integer_size) {
    element.kind = Element::Kind::natural;
  } else if (kind == 'b' && element.size == 1) {
    element.kind = Element::Kind::boolean;
  } else {
    refuse();
  }
  return element;
}

NpyHeader Parser::header() {
  NpyHeader result;
  bool have_type = false;
  bool have_order = false;
  bool have_shape = false;
  const auto once = [&](bool& have, std::string_view key) {
    if (have) fail("the key " + quoted(key) + " comes twice");
    have = true;
  };
  expect("{");
  while (!take("}")) {
    const std::string_view key = string();
    expect(":");
    if (key == "descr") {
      once(have_type, key);
      result.element = element();
    } else if (key == "fortran_order") {
      once(have_order, key);
      result.column_major = boolean();
    } else if (key == "shape") {
      once(have_shape, key);
      const std::vector<Index> sizes = shape();
      if (sizes.size() != 1 && sizes.size() != 2) {
        fail(std::to_string(sizes.size()) + "-dimensional array; a table has 1 or 2 dimensions");
      }
      result.rows = sizes[0];
      result.cols = sizes.size() == 2 ? sizes[1] : 1;
    } else {
      fail("unknown key " + quoted(key));
    }
    if (!take(",")) {
      expect("}");
      break;
    }
  }
  skip_blanks();
  if (!text_.empty()) fail("something after the closing brace");
  if (!have_type || !have_order || !have_shape) fail("descr, fortran_order or shape is missing");
  return result;
}

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& path) {
  return Parser(text, path).header();
}

}  // namespace mercer
