#include "io/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"

namespace mercer {

ByteSource::~ByteSource() = default;

namespace {

class Descriptor {
 public:
  explicit Descriptor(int number, bool owned = true) : number_(number), owned_(owned) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)), owned_(other.owned_) {}

  int number() const { return number_; }
  void reset(int number) {
    close();
    number_ = number;
  }
  void close() {
    if (number_ >= 0 && owned_) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
  bool owned_;
};

std::string similar_files(const std::string& path) {
  constexpr int most = 4096;
  const std::filesystem::path wanted(path);
  const std::filesystem::path folder = wanted.has_parent_path() ? wanted.parent_path() : std::filesystem::path(".");
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
    if (names.size() >= most) break;
  }
  return did_you_mean(wanted.filename().string(), names);
}

int open_for_reading(const std::string& path) {
  if (path.find('\0') != std::string::npos)
    fail_file("cannot open " + mercer::quoted(path) + ": the name holds a zero byte");
  int number = -1;
  do {
    check_stop();
    number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (number < 0 && errno == EINTR);
  if (number < 0) {
    const int code = errno;
    const std::string hint = code == ENOENT ? similar_files(path) : "";
    fail_file("cannot open '" + path + "': " + std::strerror(code) + hint);
  }
  return number;
}

std::size_t read_some(int descriptor, std::span<char> buffer, const std::string& path) {
  while (true) {
    check_stop();
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) fail_file("cannot read '" + path + "': " + std::strerror(errno));
  }
}

class FileSource final : public ByteSource {
 public:
  FileSource(const std::string& path, Descriptor descriptor, Index size)
      : ByteSource(path), descriptor_(std::move(descriptor)), size_(size) {}

  std::size_t read(std::span<char> buffer) override { return read_some(descriptor_.number(), buffer, path()); }
  void rewind() override {
    if (descriptor_.number() < 0) {
      descriptor_.reset(open_for_reading(path()));
    } else if (::lseek(descriptor_.number(), 0, SEEK_SET) != 0) {
      fail_file("cannot read '" + path() + "' again: " + std::strerror(errno));
    }
  }
  void rest() override { descriptor_.close(); }
  Index size() const override { return size_; }

 private:
  Descriptor descriptor_;
  Index size_;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(const std::string& path, std::vector<char> bytes) : ByteSource(path), bytes_(std::move(bytes)) {}

  std::size_t read(std::span<char> buffer) override {
    const std::size_t count = std::min(buffer.size(), bytes_.size() - position_);
    if (count != 0) std::memcpy(buffer.data(), bytes_.data() + position_, count);
    position_ += count;
    return count;
  }
  void rewind() override { position_ = 0; }
  Index size() const override { return static_cast<Index>(bytes_.size()); }

 private:
  std::vector<char> bytes_;
  std::size_t position_ = 0;
};

std::vector<char> read_all(int descriptor, const std::string& path, Index memory_bytes) {
  const Index bound = memory_bound(memory_bytes);
  std::vector<char> bytes;
  std::vector<char> chunk(std::size_t{1} << 18U);
  while (const std::size_t got = read_some(descriptor, chunk, path)) {
    bytes.insert(bytes.end(), chunk.data(), chunk.data() + got);
    if (static_cast<Index>(bytes.size()) > bound) {
      fail_file(path + ": more than " + human_bytes(static_cast<double>(bound)) +
                " of data that can be read only once; save it as a file, or allow more memory");
    }
  }
  return bytes;
}

}  // namespace

Index memory_bound(Index memory_bytes) {
  if (memory_bytes > 0) return memory_bytes;
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return Index{1} << 30U;
  return static_cast<Index>(pages) / 2 * static_cast<Index>(page);
}

std::unique_ptr<ByteSource> bytes_in_memory(const std::string& path, std::vector<char> bytes) {
  return std::make_unique<MemorySource>(path, std::move(bytes));
}

std::unique_ptr<ByteSource> open_bytes(const std::string& path, Index memory_bytes) {
  if (path == "-") {
    const std::string name = "standard input";
    return gunzip(bytes_in_memory(name, read_all(STDIN_FILENO, name, memory_bytes)));
  }
  Descriptor descriptor(open_for_reading(path));
  struct stat status {};
  if (::fstat(descriptor.number(), &status) != 0) fail_file("cannot read '" + path + "': " + std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail_file("cannot read '" + path + "': it is a folder; give a file");
  if (!S_ISREG(status.st_mode)) return gunzip(bytes_in_memory(path, read_all(descriptor.number(), path, memory_bytes)));
  return gunzip(std::make_unique<FileSource>(path, std::move(descriptor), static_cast<Index>(status.st_size)));
}

}  // namespace mercer
