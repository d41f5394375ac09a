#include "kernel/text_cursor.hpp"

#include "base/fail.hpp"
#include "base/text.hpp"

namespace mercer {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

std::size_t TextCursor::position() {
  while (position_ < text_.size() && is_blank(text_[position_])) ++position_;
  return position_;
}

char TextCursor::peek() {
  return at_end() ? '\0' : text_[position_];
}

bool TextCursor::accept(char wanted) {
  if (at_end() || text_[position_] != wanted) return false;
  ++position_;
  return true;
}

void TextCursor::expect(char wanted, const std::string& where) {
  if (!accept(wanted)) fail_expected(std::string("'") + wanted + "' " + where);
}

bool TextCursor::at_name() {
  return starts_name(peek());
}

bool TextCursor::at_number() {
  std::size_t i = position();
  if (i < text_.size() && (text_[i] == '-' || text_[i] == '+')) ++i;
  return i < text_.size() && (is_digit(text_[i]) || text_[i] == '.');
}

std::string_view TextCursor::name() {
  const std::size_t begin = position();
  while (position_ < text_.size() && (starts_name(text_[position_]) || is_digit(text_[position_]))) ++position_;
  return text_.substr(begin, position_ - begin);
}

double TextCursor::number() {
  const std::size_t begin = position();
  if (!at_number()) fail_expected("a number");
  const auto skip_digits = [&] {
    while (position_ < text_.size() && is_digit(text_[position_])) ++position_;
  };
  const auto at = [&](std::size_t i, std::string_view any) {
    return i < text_.size() && any.find(text_[i]) != std::string_view::npos;
  };
  if (at(position_, "+-")) ++position_;
  skip_digits();
  if (at(position_, ".")) ++position_;
  skip_digits();
  if (at(position_, "eE")) {
    const std::size_t exponent = position_ + (at(position_ + 1, "+-") ? 2 : 1);
    if (at(exponent, "0123456789")) position_ = exponent;
    skip_digits();
  }
  const std::string_view word = text_.substr(begin, position_ - begin);
  double value = 0;
  if (!parse_number(word, value)) fail(quoted(word) + " is not a number a double can hold", begin);
  return value;
}

std::string TextCursor::quoted_string() {
  const std::size_t begin = position();
  if (!accept('"')) fail_expected("a string in double quotes");
  std::string result;
  while (position_ < text_.size() && text_[position_] != '"') {
    if (text_[position_] == '\\') {
      ++position_;
      const bool known = position_ < text_.size() && (text_[position_] == '"' || text_[position_] == '\\');
      if (!known) fail("a backslash in a string stands only before \" or \\", position_ - 1);
    }
    result += text_[position_++];
  }
  if (position_ == text_.size()) fail("the string has no closing double quote; it starts", begin);
  ++position_;
  return result;
}

void TextCursor::fail(const std::string& what, std::size_t position, const std::string& hint) {
  fail_argument("kernel text: " + what + " at position " + std::to_string(position + 1) + hint);
}

void TextCursor::fail_expected(const std::string& what) {
  const std::size_t where = position();
  if (where == text_.size()) fail_argument("kernel text: expected " + what + " but the text ends");
  fail("expected " + what + " but found " + quoted(text_.substr(where, 1)), where);
}

}  // namespace mercer
