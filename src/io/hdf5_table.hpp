#pragma once
#include <mercer/view.hpp>

#include <span>
#include <string>

#include "io/hdf5_handle.hpp"

namespace mercer {

/// A 1-D or 2-D dataset of numbers in an HDF5 file. libhdf5 trusts what it reads: bytes from elsewhere can crash the process
/// in here, which is why Hdf5Reader leaves it to another (WorkerProcess).
class Hdf5Table {
 public:
  /// `image` is the content of the file, or empty: then the file at `path` is read. `name` is that of the dataset, or empty
  /// for the only one.
  Hdf5Table(const std::string& path, std::span<const char> image, const std::string& name);

  Index rows() const { return rows_; }
  Index columns() const { return columns_; }
  /// Rows first … first + count - 1 into the front of `out`, row-major.
  void read(Index first, Index count, std::span<double> out) const;

 private:
  void refuse_odd_storage(std::size_t number_bytes) const;
  void refuse_hollow(double numbers, std::size_t number_bytes) const;

  std::string path_;
  Hdf5Handle file_;
  Hdf5Handle data_;
  int dimensions_ = 0;
  Index rows_ = 0;
  Index columns_ = 0;
};

}  // namespace mercer
