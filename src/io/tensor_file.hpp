#pragma once
#include <mercer/view.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/matrix.hpp"
#include "io/safetensors_header.hpp"

namespace mercer {

/// A safetensors file in memory: named tensors and string metadata. This is the container of model and statistics files.
class TensorFile {
 public:
  std::map<std::string, std::string> metadata;

  void add(const std::string& name, MatrixView<const double> values);         ///< as F64, shape [rows, cols]
  void add(const std::string& name, MatrixView<const float> values);          ///< as F32
  void add(const std::string& name, std::span<const double> values);          ///< as F64, shape [size]
  void add_bytes(const std::string& name, std::span<const std::byte> bytes);  ///< as U8, shape [size]

  bool has(const std::string& name) const;
  /// The tensor as a rows × cols matrix of doubles (F32 is widened). Throws Error(file) when it is absent, of another rank
  /// or type, when it holds NaN or infinity, or when a given expectation (rows or cols >= 0) is not met.
  Matrix<double> matrix(const std::string& name, Index rows = -1, Index cols = -1) const;
  std::vector<double> vector(const std::string& name, Index size = -1) const;
  std::vector<std::byte> bytes(const std::string& name) const;

  /// Writes a valid safetensors file, atomically (write beside, fsync, rename, fsync the folder); metadata gains
  /// "mercer.checksum", XXH3-128 over everything else. A killed or failed save leaves the old file or none.
  void save(const std::string& path) const;
  /// What save writes.
  std::vector<std::byte> to_bytes() const;

  /// Reads and verifies: every length is checked before it is used, no holes, no overlaps, no duplicate keys, checksum
  /// right. Never allocates more than the file's own size + 64 MB. Throws Error(file) naming the path and what is wrong.
  static TensorFile load(const std::string& path);
  static TensorFile parse(std::span<const std::byte> bytes, const std::string& path_for_messages);

 private:
  struct Tensor {
    Dtype type = Dtype::f64;
    std::vector<Index> shape;
    std::vector<std::byte> data;
  };
  using Reader = std::function<void(std::span<std::byte>)>;  // fills the span with the next bytes, or throws
  using Writer = std::function<void(std::span<const std::byte>)>;

  void print(const std::string& path, const Writer& write) const;
  void put(const std::string& name, Dtype type, std::vector<Index> shape, std::vector<std::byte> data);
  const Tensor& find(const std::string& name) const;
  const Tensor& numbers(const std::string& name, const std::vector<Index>& expected) const;
  [[noreturn]] void refuse(const std::string& name, const std::string& what) const;
  void widen(const std::string& name, const Tensor& tensor, std::span<double> values) const;
  static TensorFile read(Index size, const Reader& next, const std::string& path);

  std::map<std::string, Tensor> tensors_;
  std::string path_;  // where it was read from, for messages
};

}  // namespace mercer
