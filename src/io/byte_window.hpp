#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/byte_source.hpp"

namespace mercer {

/// A buffer of 1 MiB or more that slides over a source: fill() says how much must be visible, skip() moves on.
/// Views into it die at the next fill(), rewind() or rest().
class ByteWindow {
 public:
  explicit ByteWindow(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  /// Makes `count` bytes visible; false when the source ends before, with all that is left visible.
  bool fill(std::size_t count);
  std::string_view view() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void skip(std::size_t count) { begin_ += count; }

  void rewind();
  void rest();
  ByteSource& source() { return *source_; }
  const std::string& path() const { return source_->path(); }

 private:
  std::size_t first_size() const;

  std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace mercer
