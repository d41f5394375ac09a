#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mercer {

/// A file that appears under its name whole or not at all: written under a temporary name in the same folder, and on
/// commit() flushed, fsynced, renamed over the old file, and the folder fsynced. Destroyed without commit(), it leaves no
/// trace. Every failure (full disk, no permission, vanished folder) is Error(file) with path and reason. Special files such
/// as /dev/stdout or a FIFO are written directly.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  [[noreturn]] void fail(const char* what, int error_number);
  void write_through(std::span<const std::byte> bytes);
  void discard() noexcept;

  std::string path_;               // as the caller spelled it, for messages
  std::string target_;             // where its symbolic links lead
  std::string temporary_;          // empty for special files, and once renamed
  std::vector<std::byte> buffer_;  // many small writes become few system calls
  int descriptor_ = -1;
};

}  // namespace mercer
