#include "solve/scratch_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "base/text.hpp"

namespace mercer {
namespace {

std::string default_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

}  // namespace

ScratchFile::ScratchFile(std::string folder) : folder_(folder.empty() ? default_folder() : std::move(folder)) {
  std::string name = folder_ + "/mercer-scratch-XXXXXX";
  file_ = mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0) {
    fail_file("cannot make a scratch file in " + mercer::quoted(folder_) + " (" + std::strerror(errno) +
              "): set TMPDIR to a folder with room, or allow more --memory");
  }
  unlink(name.c_str());
}

ScratchFile::~ScratchFile() {
  close(file_);
}

void ScratchFile::append(const void* bytes, Index count) {
  const auto* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = pwrite(file_, from, static_cast<std::size_t>(count), static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      fail_file("cannot write features to the scratch file in " + mercer::quoted(folder_) + " after " +
                human_bytes(static_cast<double>(size_)) + " (" + std::strerror(written < 0 ? errno : ENOSPC) +
                "): set TMPDIR to a folder with room, or allow more --memory");
    }
    from += written;
    size_ += written;
    count -= written;
  }
}

void ScratchFile::read(Index offset, void* bytes, Index count) const {
  auto* into = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t got = pread(file_, into, static_cast<std::size_t>(count), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      fail_file("cannot read the scratch file in " + mercer::quoted(folder_) + " back (" +
                (got < 0 ? std::strerror(errno) : "it is shorter than what was written") + ")");
    }
    into += got;
    offset += got;
    count -= got;
  }
}

void ScratchFile::expect(Index offset, Index count) const {
  posix_fadvise(file_, static_cast<off_t>(offset), static_cast<off_t>(count), POSIX_FADV_WILLNEED);
}

}  // namespace mercer
