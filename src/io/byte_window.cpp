#include "io/byte_window.hpp"

#include <algorithm>
#include <cstring>

#include "base/progress.hpp"

namespace mercer {

bool ByteWindow::fill(std::size_t count) {
  if (end_ - begin_ >= count) return true;
  if (begin_ != 0 && end_ != begin_) std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  // The buffer doubles only once it is full: what a hostile length asks for is allocated as fast as the source delivers it.
  while (end_ < count) {
    if (end_ == buffer_.size()) buffer_.resize(std::max(first_size(), 2 * buffer_.size()));
    check_stop();
    const std::size_t got = source_->read(std::span(buffer_).subspan(end_));
    if (got == 0) return false;
    end_ += got;
  }
  return true;
}

/// 1 MiB, or one byte more than a small file, so that its end shows in one read.
std::size_t ByteWindow::first_size() const {
  constexpr Index usual = Index{1} << 20U;
  const Index size = source_->size();
  return static_cast<std::size_t>(size < 0 ? usual : std::min(usual, size + 1));
}

void ByteWindow::rewind() {
  source_->rewind();
  begin_ = 0;
  end_ = 0;
}

void ByteWindow::rest() {
  source_->rest();
  buffer_ = {};
  begin_ = 0;
  end_ = 0;
}

}  // namespace mercer
