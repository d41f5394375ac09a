#include <zlib.h>

#include <algorithm>
#include <array>

#include "base/fail.hpp"
#include "io/byte_source.hpp"

namespace mercer {
namespace {

constexpr unsigned char magic_0 = 0x1f;
constexpr unsigned char magic_1 = 0x8b;

/// The members of a gzip file one after the other, inflated as they are asked for. Zero bytes after the last member are
/// padding (tapes, disk images); anything else there is refused.
class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> packed)
      : ByteSource(packed->path()), packed_(std::move(packed)), input_(std::size_t{1} << 18U) {
    constexpr int gzip_only = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, gzip_only) != Z_OK) fail_file(path() + ": no memory to gunzip");
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(std::span<char> buffer) override;
  void rewind() override {
    packed_->rewind();
    stream_.avail_in = 0;
    inflateReset(&stream_);
    done_ = false;
  }
  void rest() override { packed_->rest(); }

 private:
  bool refill();
  void next_member();

  std::unique_ptr<ByteSource> packed_;
  std::vector<char> input_;
  z_stream stream_{};
  bool done_ = false;
};

bool GzipSource::refill() {
  if (stream_.avail_in != 0) return true;
  const std::size_t got = packed_->read(input_);
  stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
  stream_.avail_in = static_cast<uInt>(got);
  return got != 0;
}

void GzipSource::next_member() {
  while (refill() && *stream_.next_in == 0) {
    ++stream_.next_in;
    --stream_.avail_in;
  }
  if (!refill()) {
    done_ = true;
  } else if (*stream_.next_in == magic_0) {
    inflateReset(&stream_);
  } else {
    fail_file(path() + ": there is something after the gzip data; unpack and repair the file");
  }
}

std::size_t GzipSource::read(std::span<char> buffer) {
  if (buffer.empty()) return 0;
  constexpr std::size_t most = std::size_t{1} << 30U;
  const std::size_t room = std::min(buffer.size(), most);
  stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
  stream_.avail_out = static_cast<uInt>(room);
  while (!done_ && stream_.avail_out != 0) {
    if (!refill()) fail_file(path() + ": the gzip data ends too early; the file was cut short");
    const int code = inflate(&stream_, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      next_member();
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      const std::string why = stream_.msg != nullptr ? stream_.msg : "unexpected content";
      fail_file(path() + ": the gzip data is damaged (" + why + ")");
    }
  }
  return room - stream_.avail_out;
}

}  // namespace

std::unique_ptr<ByteSource> gunzip(std::unique_ptr<ByteSource> source) {
  std::array<char, 2> start{};
  std::size_t got = 0;
  while (got < start.size()) {
    const std::size_t more = source->read(std::span(start).subspan(got));
    if (more == 0) break;
    got += more;
  }
  source->rewind();
  const bool packed =
      got == 2 && static_cast<unsigned char>(start[0]) == magic_0 && static_cast<unsigned char>(start[1]) == magic_1;
  if (!packed) return source;
  return std::make_unique<GzipSource>(std::move(source));
}

}  // namespace mercer
