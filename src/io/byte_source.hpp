#pragma once
#include <mercer/view.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mercer {

/// Bytes that can be read again from the start. All messages name `path()`.
class ByteSource {
 public:
  explicit ByteSource(std::string path) : path_(std::move(path)) {}
  virtual ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Fills the front of `buffer`; returns how much, 0 only at the end.
  virtual std::size_t read(std::span<char> buffer) = 0;
  virtual void rewind() = 0;
  /// Gives back the file handle until the next rewind().
  virtual void rest() {}
  /// Total bytes, or -1 where only reading can tell (gzip).
  virtual Index size() const { return -1; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A file, a FIFO or "-" (standard input), gunzipped where it is gzip. What cannot be read twice is kept in memory: at most
/// `memory_bytes` of it, or half of the machine's memory when that is 0.
std::unique_ptr<ByteSource> open_bytes(const std::string& path, Index memory_bytes);

std::unique_ptr<ByteSource> bytes_in_memory(const std::string& path, std::vector<char> bytes);

/// The source itself, or what it holds when it begins like gzip (several members in a row are one stream). Streams through
/// constant memory, so that a decompression bomb costs time alone.
std::unique_ptr<ByteSource> gunzip(std::unique_ptr<ByteSource> source);

/// `memory_bytes`, or half of the machine's memory when that is 0: the bound on what must be held at once.
Index memory_bound(Index memory_bytes);

}  // namespace mercer
