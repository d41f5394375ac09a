#include "io/lines.hpp"

#include <cstring>

#include "base/fail.hpp"

namespace mercer {
namespace {

constexpr std::size_t longest_line = std::size_t{1} << 26U;

}  // namespace

bool Lines::next(std::string_view& line) {
  if (at_start_) skip_byte_order_mark();
  window_.skip(consumed_);
  length_ = 0;
  consumed_ = 0;
  number_ = last_number_ + 1;
  if (!find_end(0)) return false;
  line = record();
  return true;
}

bool Lines::extend(std::string_view& text) {
  if (!find_end(consumed_)) return false;
  text = record();
  return true;
}

/// Looks for the line end at or after `from` in the window, each byte once. Sets length_ and consumed_.
bool Lines::find_end(std::size_t from) {
  std::size_t seen = from;
  while (true) {
    const std::string_view view = window_.view();
    const std::string_view fresh = view.substr(seen);
    const void* found = fresh.empty() ? nullptr : std::memchr(fresh.data(), '\n', fresh.size());
    const std::size_t end =
        found == nullptr ? view.size() : static_cast<std::size_t>(static_cast<const char*>(found) - view.data());
    if (end > seen && std::memchr(view.data() + seen, '\0', end - seen) != nullptr) {
      fail_file(path() + ": not a text file (a zero byte in line " + std::to_string(last_number_ + 1) + ")");
    }
    if (end > longest_line) {
      fail_file(path() + ": line " + std::to_string(number_) +
                " is longer than 64 MiB; is this a text table, are its quotes closed?");
    }
    if (found != nullptr) {
      length_ = end;
      consumed_ = end + 1;
      ++last_number_;
      return true;
    }
    seen = view.size();
    if (window_.fill(seen + 1)) continue;
    if (seen == from) return false;
    length_ = seen;
    consumed_ = seen;
    ++last_number_;
    return true;
  }
}

std::string_view Lines::record() const {
  std::string_view text = window_.view().substr(0, length_);
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  return text;
}

void Lines::skip_byte_order_mark() {
  at_start_ = false;
  window_.fill(3);
  const std::string_view view = window_.view();
  if (view.starts_with("\xef\xbb\xbf")) {
    window_.skip(3);
  } else if (view.starts_with("\xff\xfe") || view.starts_with("\xfe\xff")) {
    fail_file(path() + ": this is UTF-16 text; save it as UTF-8");
  }
}

std::string Lines::place() const {
  return path() + ": line " + std::to_string(number_);
}

void Lines::fail(const std::string& what) const {
  fail_file(place() + ": " + what);
}

void Lines::rewind() {
  window_.rewind();
  length_ = 0;
  consumed_ = 0;
  number_ = 0;
  last_number_ = 0;
  at_start_ = true;
}

}  // namespace mercer
