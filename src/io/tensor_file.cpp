#include "io/tensor_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "io/atomic_file.hpp"
#include "io/checksum.hpp"

// The file: 8 bytes of header length (little-endian), that many bytes of JSON, then the data of the tensors, one after
// another.
//
// The metadata "mercer.checksum" is the XXH3-128 of all bytes of the file, from the first to the last, taken while its own
// 32 hexadecimal digits are 32 characters '0'. Its key and value are written without a space between them and without
// escapes, as "mercer.checksum":"<digits>"; inside a JSON string the quotes of that text would be escaped, so a search finds
// the key itself.

namespace mercer {

static_assert(std::endian::native == std::endian::little, "tensor files are little-endian and are copied byte by byte");

namespace {

const std::string checksum_key = "mercer.checksum";
const std::string checksum_start = "\"" + checksum_key + "\":\"";
constexpr std::size_t checksum_digits = 32;
constexpr std::size_t length_bytes = 8;

template <class T>
std::vector<std::byte> bytes_of(MatrixView<const T> values) {
  std::vector<std::byte> bytes(checked_bytes(values.rows, values.cols, sizeof(T)));
  const std::size_t row_bytes = static_cast<std::size_t>(values.cols) * sizeof(T);
  if (bytes.empty()) return bytes;
  for (Index i = 0; i < values.rows; ++i) {
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * row_bytes, values.data + i * values.stride, row_bytes);
  }
  return bytes;
}

std::array<std::byte, length_bytes> little_endian(std::size_t value) {
  return std::bit_cast<std::array<std::byte, length_bytes>>(static_cast<std::uint64_t>(value));
}

/// Replaces the checksum's digits in the JSON text and returns what was there.
std::string exchange_checksum(std::string& json, const std::string& digits, const std::string& path) {
  const std::size_t start = json.find(checksum_start);
  const std::size_t first = start + checksum_start.size();
  if (start == std::string::npos || first + checksum_digits >= json.size() || json[first + checksum_digits] != '"') {
    fail_file(path + ": the checksum in the header is damaged");
  }
  std::string old = json.substr(first, checksum_digits);
  json.replace(first, checksum_digits, digits);
  return old;
}

/// "[3, any]": a negative dimension is any.
std::string shape_text(const std::vector<Index>& shape) {
  std::vector<std::string> parts;
  for (const Index dimension : shape) parts.push_back(dimension < 0 ? "any" : std::to_string(dimension));
  return "[" + join(parts, ", ") + "]";
}

/// A descriptor that is closed on every way out.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : path_(path) {
    if (path.find('\0') != std::string::npos) fail_file("cannot open " + mercer::quoted(path) + ": it is no file name");
    // O_NONBLOCK: a FIFO nobody writes to must be refused, not waited for.
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor_ < 0) fail_file(path + ": cannot open: " + std::generic_category().message(errno));
  }
  ~OpenFile() { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// The size of a regular file; anything else is refused.
  Index size() const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) fail_file(path_ + ": cannot read: " + std::generic_category().message(errno));
    if (S_ISDIR(status.st_mode)) fail_file(path_ + ": is a folder, not a model file");
    if (!S_ISREG(status.st_mode)) fail_file(path_ + ": is a pipe or device; a model is read from a regular file");
    return static_cast<Index>(status.st_size);
  }

  void read(std::span<std::byte> bytes) const {
    constexpr std::size_t largest_read = 1 << 24;
    while (!bytes.empty()) {
      const ssize_t count = ::read(descriptor_, bytes.data(), std::min(bytes.size(), largest_read));
      check_stop();
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail_file(path_ + ": cannot read: " + std::generic_category().message(errno));
      if (count == 0) fail_file(path_ + ": became shorter while it was read");
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }

 private:
  const std::string& path_;
  int descriptor_ = -1;
};

}  // namespace

void TensorFile::put(const std::string& name, Dtype type, std::vector<Index> shape, std::vector<std::byte> data) {
  const bool is_new = tensors_.try_emplace(name, Tensor{type, std::move(shape), std::move(data)}).second;
  if (!is_new) fail_internal("tensor " + quoted(name) + " is put into a file twice");
}

void TensorFile::add(const std::string& name, MatrixView<const double> values) {
  put(name, Dtype::f64, {values.rows, values.cols}, bytes_of(values));
}

void TensorFile::add(const std::string& name, MatrixView<const float> values) {
  put(name, Dtype::f32, {values.rows, values.cols}, bytes_of(values));
}

void TensorFile::add(const std::string& name, std::span<const double> values) {
  const auto bytes = std::as_bytes(values);
  put(name, Dtype::f64, {static_cast<Index>(values.size())}, {bytes.begin(), bytes.end()});
}

void TensorFile::add_bytes(const std::string& name, std::span<const std::byte> bytes) {
  put(name, Dtype::u8, {static_cast<Index>(bytes.size())}, {bytes.begin(), bytes.end()});
}

bool TensorFile::has(const std::string& name) const {
  return tensors_.contains(name);
}

void TensorFile::refuse(const std::string& name, const std::string& what) const {
  fail_file((path_.empty() ? "" : path_ + ": ") + "tensor " + quoted(name) + " " + what);
}

const TensorFile::Tensor& TensorFile::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) refuse(name, "is missing");
  return found->second;
}

/// A tensor of numbers with the expected shape, where a negative dimension accepts any.
const TensorFile::Tensor& TensorFile::numbers(const std::string& name, const std::vector<Index>& expected) const {
  const Tensor& tensor = find(name);
  if (tensor.type == Dtype::u8) refuse(name, "holds bytes (U8) instead of numbers");
  bool fits = tensor.shape.size() == expected.size();
  for (std::size_t i = 0; fits && i < expected.size(); ++i) fits = expected[i] < 0 || tensor.shape[i] == expected[i];
  if (!fits) refuse(name, "has shape " + shape_text(tensor.shape) + " instead of " + shape_text(expected));
  return tensor;
}

/// Copies F64 and widens F32, refusing what is not finite.
void TensorFile::widen(const std::string& name, const Tensor& tensor, std::span<double> values) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (tensor.type == Dtype::f64) {
      std::memcpy(&values[i], tensor.data.data() + i * sizeof(double), sizeof(double));
    } else {
      float narrow = 0;
      std::memcpy(&narrow, tensor.data.data() + i * sizeof(float), sizeof(float));
      values[i] = static_cast<double>(narrow);
    }
    if (!std::isfinite(values[i])) refuse(name, "holds " + shortest(values[i]) + " at position " + std::to_string(i));
  }
}

Matrix<double> TensorFile::matrix(const std::string& name, Index rows, Index cols) const {
  const Tensor& tensor = numbers(name, {rows, cols});
  Matrix<double> values(tensor.shape[0], tensor.shape[1]);
  widen(name, tensor, values.values());
  return values;
}

std::vector<double> TensorFile::vector(const std::string& name, Index size) const {
  const Tensor& tensor = numbers(name, {size});
  std::vector<double> values(static_cast<std::size_t>(tensor.shape[0]));
  widen(name, tensor, values);
  return values;
}

std::vector<std::byte> TensorFile::bytes(const std::string& name) const {
  const Tensor& tensor = find(name);
  if (tensor.type != Dtype::u8 || tensor.shape.size() != 1) {
    refuse(name, "has type " + std::string(name_of(tensor.type)) + " and shape " + shape_text(tensor.shape) +
                     " instead of U8 and [any]");
  }
  return tensor.data;
}

void TensorFile::print(const std::string& path, const Writer& write) const {
  TensorHeader header{.metadata = metadata, .tensors = {}};
  header.metadata[checksum_key] = std::string(checksum_digits, '0');
  std::vector<const std::vector<std::byte>*> data;
  Index end = 0;
  for (const Dtype type : {Dtype::f64, Dtype::f32, Dtype::u8}) {
    for (const auto& [name, tensor] : tensors_) {
      if (tensor.type != type) continue;
      const Index begin = std::exchange(end, end + static_cast<Index>(tensor.data.size()));
      header.tensors.push_back({.name = name, .type = type, .shape = tensor.shape, .begin = begin, .end = end});
      data.push_back(&tensor.data);
    }
  }
  std::string json = print_header(header);
  const auto length = little_endian(json.size());

  Checksum checksum;
  checksum.update(length);
  checksum.update(std::as_bytes(std::span(json)));
  for (const auto* bytes : data) checksum.update(*bytes);
  exchange_checksum(json, checksum.hex(), path);

  write(length);
  write(std::as_bytes(std::span(json)));
  for (const auto* bytes : data) write(*bytes);
}

void TensorFile::save(const std::string& path) const {
  AtomicFile file(path);
  print(path, [&](std::span<const std::byte> bytes) { file.write(bytes); });
  file.commit();
}

std::vector<std::byte> TensorFile::to_bytes() const {
  std::vector<std::byte> all;
  print("memory", [&](std::span<const std::byte> bytes) { all.insert(all.end(), bytes.begin(), bytes.end()); });
  return all;
}

TensorFile TensorFile::read(Index size, const Reader& next, const std::string& path) {
  constexpr auto least = static_cast<Index>(length_bytes);
  if (size == 0) fail_file(path + ": is empty");
  if (size < least) fail_file(path + ": is too short to be a Mercer file");
  std::array<std::byte, length_bytes> length{};
  next(length);
  const auto header_size = std::bit_cast<std::uint64_t>(length);
  if (header_size > static_cast<std::uint64_t>(size - least)) {
    fail_file(path + ": not a Mercer file, or a truncated copy of one (a model comes first, then the data)");
  }
  if (header_size > static_cast<std::uint64_t>(largest_header)) {
    fail_file(path + ": not a Mercer file: its header is longer than " + human_bytes(static_cast<double>(largest_header)));
  }
  std::string json(static_cast<std::size_t>(header_size), '\0');
  next(std::as_writable_bytes(std::span(json)));

  TensorFile file;
  file.path_ = path;
  TensorHeader header = parse_header(json, size - least - static_cast<Index>(header_size), path);
  file.metadata = std::move(header.metadata);
  const auto stored = file.metadata.extract(checksum_key);
  if (stored.empty()) fail_file(path + ": has no checksum: it was not written by Mercer");
  const std::string expected = exchange_checksum(json, std::string(checksum_digits, '0'), path);
  if (stored.mapped() != expected) fail_file(path + ": the checksum in the header is damaged");

  Checksum checksum;
  checksum.update(length);
  checksum.update(std::as_bytes(std::span(json)));
  for (TensorEntry& entry : header.tensors) {
    std::vector<std::byte> data(static_cast<std::size_t>(entry.end - entry.begin));
    next(data);
    checksum.update(data);
    file.put(entry.name, entry.type, std::move(entry.shape), std::move(data));
  }
  if (checksum.hex() != expected) {
    fail_file(path + ": checksum does not match: the file is damaged (truncated copy? edited?)");
  }
  return file;
}

TensorFile TensorFile::load(const std::string& path) {
  const OpenFile file(path);
  const Index size = file.size();
  try {
    return read(
        size, [&file](std::span<std::byte> bytes) { file.read(bytes); }, path);
  } catch (const std::bad_alloc&) {
    fail_file(path + ": not enough memory for its " + human_bytes(static_cast<double>(size)));
  }
}

TensorFile TensorFile::parse(std::span<const std::byte> bytes, const std::string& path_for_messages) {
  const auto next = [&bytes](std::span<std::byte> out) {
    std::copy_n(bytes.begin(), out.size(), out.begin());
    bytes = bytes.subspan(out.size());
  };
  return read(static_cast<Index>(bytes.size()), next, path_for_messages);
}

}  // namespace mercer
