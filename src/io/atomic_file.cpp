#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <system_error>

#include "base/fail.hpp"
#include "base/progress.hpp"

// A process killed between open and rename leaves at worst a stale ".name.tmp-<pid>-<counter>" beside the file, never a half
// file under the name itself; a stale temporary may be deleted at will.

namespace mercer {

namespace {

constexpr std::size_t buffer_size = 1 << 16;
constexpr std::size_t largest_write = 1 << 30;  // Linux writes at most 2³¹ - 4096 bytes in one call

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// N of /dev/fd/N and /proc/self/fd/N, 1 and 2 of /dev/stdout and /dev/stderr, else -1. These are duplicated, not opened: an
/// open would start again at byte 0 of what the shell has redirected them to.
int own_descriptor(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string digits = path.substr(folder.size());
    const bool number = !digits.empty() && digits.size() <= 6 && digits.find_first_not_of("0123456789") == std::string::npos;
    if (number) return std::stoi(digits);
  }
  return -1;
}

/// The file a chain of symbolic links ends in, existing or not; empty with errno = ELOOP when the chain has no end.
std::string follow_links(std::string path) {
  for (int link = 0; link < 40; ++link) {
    std::array<char, PATH_MAX> text{};
    const ssize_t length = ::readlink(path.c_str(), text.data(), text.size());
    if (length < 0) return path;
    std::string target(text.data(), static_cast<std::size_t>(length));
    path = target.starts_with('/') ? target : folder_of(path) + "/" + target;
  }
  errno = ELOOP;
  return {};
}

/// Opens a new file ".name.tmp-<pid>-<counter>" beside `target`; returns its descriptor, or -1 with errno.
int open_temporary(const std::string& target, std::string& temporary) {
  static std::atomic<unsigned> counter{0};
  constexpr std::size_t longest_name = 200;  // leaves room for the suffix under NAME_MAX = 255
  const std::string start = folder_of(target) + "/." + name_of(target).substr(0, longest_name) + ".tmp-";
  for (int attempt = 0; attempt < 1000; ++attempt) {
    temporary = start + std::to_string(::getpid()) + "-" + std::to_string(counter++);
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) return descriptor;
    if (errno != EEXIST && errno != EINTR) break;
  }
  const int error_number = errno;
  temporary.clear();
  errno = error_number;
  return -1;
}

/// Gives the new file the owner, group and permissions of the old one. Only root can give a file away: failing that, the new
/// file is ours, and its group (another one) does not gain what the old group was allowed.
bool keep_owner_and_mode(int descriptor, const struct stat& old) {
  struct stat now {};
  if (::fstat(descriptor, &now) != 0) return false;
  const bool same_owner = old.st_uid == now.st_uid && old.st_gid == now.st_gid;
  const bool given = same_owner || ::fchown(descriptor, old.st_uid, old.st_gid) == 0;
  const mode_t mode = old.st_mode & (given ? 0777U : 0707U);
  return (now.st_mode & 0777U) == mode || ::fchmod(descriptor, mode) == 0;  // some file systems have one mode for all
}

int sync_retrying(int descriptor) {
  int result = 0;
  do {
    result = ::fsync(descriptor);
  } while (result != 0 && errno == EINTR);
  return result != 0 && errno == EINVAL ? 0 : result;  // EINVAL: this file system has nothing to sync
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  if (path.empty()) fail_file("the name of the file to write is empty");
  if (path.find('\0') != std::string::npos) fail("cannot write", EINVAL);
  if (const int own = own_descriptor(path); own >= 0) {
    descriptor_ = ::fcntl(own, F_DUPFD_CLOEXEC, 0);
    if (descriptor_ < 0) fail("cannot write", errno);
    return;
  }
  struct stat old {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) fail("cannot write", errno);
  if (exists ? S_ISDIR(old.st_mode) : path.back() == '/') fail("cannot write", EISDIR);
  if (exists && S_ISBLK(old.st_mode)) fail("cannot write a model or table over a disk device", ENOTSUP);
  if (exists && !S_ISREG(old.st_mode)) {
    do {
      descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);  // a FIFO waits here for its reader
      if (descriptor_ < 0 && errno == EINTR) check_stop();
    } while (descriptor_ < 0 && errno == EINTR);
    if (descriptor_ < 0) fail("cannot open for writing", errno);
    return;
  }
  // A rename would replace a file its owner has made read-only; writing in place would not be allowed to, so neither are we.
  if (exists && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) fail("cannot write", errno);
  target_ = follow_links(path);
  if (target_.empty()) fail("cannot write", errno);
  descriptor_ = open_temporary(target_, temporary_);
  if (descriptor_ < 0) fail(errno == ENOENT ? "cannot write, the folder does not exist" : "cannot write", errno);
  if (!exists) return;
  if (!keep_owner_and_mode(descriptor_, old)) fail("cannot keep the permissions of the old file", errno);
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void AtomicFile::fail(const char* what, int error_number) {
  discard();
  fail_file(path_ + ": " + what + ": " + std::generic_category().message(error_number));
}

void AtomicFile::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    check_stop();  // a pipe nobody empties, or a large file, can be given up with Ctrl-C
    const ssize_t written = ::write(descriptor_, bytes.data(), std::min(bytes.size(), largest_write));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("cannot write", written < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (descriptor_ < 0) fail_internal(path_ + ": written to after it was finished");
  if (buffer_.size() + bytes.size() > buffer_size) {
    write_through(buffer_);
    buffer_.clear();
  }
  if (bytes.size() >= buffer_size) {
    write_through(bytes);
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void AtomicFile::commit() {
  if (descriptor_ < 0) fail_internal(path_ + ": finished twice");
  write_through(buffer_);
  buffer_.clear();
  if (!temporary_.empty() && sync_retrying(descriptor_) != 0) fail("cannot flush to the disk", errno);
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0 && errno != EINTR) fail("cannot close", errno);  // after EINTR Linux has closed it
  if (temporary_.empty()) return;
  check_stop();  // from here on the file is there
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot rename the finished file to its name", errno);
  temporary_.clear();
  descriptor_ = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) return;  // a folder we may write but not list cannot be synced
  if (sync_retrying(descriptor_) != 0) fail("is written, but its folder cannot be flushed to the disk", errno);
  discard();
}

}  // namespace mercer
