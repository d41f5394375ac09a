#pragma once
#include <mercer/view.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mercer {

/// The types Mercer stores; the largest first, which keeps every tensor of a file aligned to its own type.
enum class Dtype { f64, f32, u8 };
Index size_of(Dtype type);
std::string_view name_of(Dtype type);

/// One tensor as a safetensors header describes it: bytes [begin, end) of the data that follows the header.
struct TensorEntry {
  std::string name;
  Dtype type = Dtype::f64;
  std::vector<Index> shape;
  Index begin = 0;
  Index end = 0;
};

struct TensorHeader {
  std::map<std::string, std::string> metadata;
  std::vector<TensorEntry> tensors;  ///< in the order of their data
};

/// The format allows headers of 100 MB. Ours are kept under 8 MB, since a JSON parser takes several times what it parses and
/// a file must never take more memory than its own size and 64 MB. The counts bound the bookkeeping per entry in the same
/// way.
constexpr Index largest_header = 8'000'000;
constexpr std::size_t most_tensors = 50'000;
constexpr std::size_t most_metadata = 50'000;
constexpr std::size_t most_dimensions = 8;
/// A dimension beside a 0 costs no byte, so only this keeps [2⁶², 0] from becoming somebody's loop of 2⁶² empty rows.
constexpr Index longest_empty = 1 << 24;

/// Reads the JSON text of a header whose data takes `data_size` bytes. What it returns is consistent: types known, shapes
/// and offsets agree, the tensors fill the data from 0 to data_size without hole or overlap. Throws Error(file) otherwise.
TensorHeader parse_header(std::string_view json, Index data_size, const std::string& path);

/// The JSON text, padded with spaces to a multiple of 8. Throws Error(invalid_argument) for text that is not UTF-8 and for
/// what parse_header would refuse to read back.
std::string print_header(const TensorHeader& header);

}  // namespace mercer
