#pragma once
#include <mercer/view.hpp>

#include <string>

namespace mercer {

/// A file without a name for numbers that do not fit in memory: it is removed from its folder as soon as it is open, so that
/// nothing is left behind however the program ends.
class ScratchFile {
 public:
  /// In `folder`, or when that is empty in $TMPDIR, or in /tmp.
  explicit ScratchFile(std::string folder = {});
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  Index size() const { return size_; }
  /// Throws Error(file) naming the folder and the size when the disk is full.
  void append(const void* bytes, Index count);
  void read(Index offset, void* bytes, Index count) const;
  /// Tells the system that these bytes will be read soon.
  void expect(Index offset, Index count) const;

 private:
  std::string folder_;
  int file_ = -1;
  Index size_ = 0;
};

}  // namespace mercer
