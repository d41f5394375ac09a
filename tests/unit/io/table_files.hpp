#pragma once
#include <gtest/gtest.h>
#include <zlib.h>
#include <mercer/error.hpp>

#include <unistd.h>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "io/dataset.hpp"

namespace mercer {

/// A folder of its own for one test, removed at its end.
class TempFolder {
 public:
  TempFolder() {
    static std::atomic<int> counter{0};
    path_ = std::filesystem::temp_directory_path() /
            ("mercer-io-" + std::to_string(::getpid()) + "-" + std::to_string(counter++));
    std::filesystem::create_directories(path_);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }

 private:
  std::filesystem::path path_;
};

inline std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + text.size() / 100 + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

using Rows = std::vector<std::vector<double>>;

/// Everything a pass gives, in blocks of `block_rows`; checks that only the last block is short and that rows are numbered.
struct Table {
  Rows inputs;
  Rows targets;
  std::vector<double> weights;
  std::vector<Index> blocks;
};

inline Table read_pass(RowSource& rows, Index block_rows) {
  Table table;
  RowBlock block;
  rows.rewind();
  while (rows.next(block_rows, block)) {
    EXPECT_EQ(block.first_row, static_cast<Index>(table.inputs.size()));
    EXPECT_TRUE(table.blocks.empty() || table.blocks.back() == block_rows);
    table.blocks.push_back(block.rows());
    EXPECT_EQ(block.inputs.cols, rows.input_count());
    EXPECT_EQ(block.targets.cols, rows.target_count());
    for (Index i = 0; i < block.rows(); ++i) {
      const auto x = block.inputs.row(i);
      const auto y = block.targets.row(i);
      table.inputs.emplace_back(x.begin(), x.end());
      table.targets.emplace_back(y.begin(), y.end());
    }
    table.weights.insert(table.weights.end(), block.weights.begin(), block.weights.end());
  }
  EXPECT_EQ(static_cast<Index>(table.inputs.size()), rows.row_count());
  return table;
}

inline void expect_same(const Rows& actual, const Rows& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual[i].size(), expected[i].size()) << "row " << i;
    for (std::size_t j = 0; j < expected[i].size(); ++j) {
      const bool both_nan = actual[i][j] != actual[i][j] && expected[i][j] != expected[i][j];
      EXPECT_TRUE(both_nan || actual[i][j] == expected[i][j])
          << "row " << i << ", column " << j << ": " << actual[i][j] << ", expected " << expected[i][j];
    }
  }
}

/// The message of the Error that `action` throws; "" when it throws none.
template <class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline std::string open_error(const std::vector<std::string>& paths, const DatasetOptions& options) {
  return error_of([&] { open_dataset(paths, options); });
}

#define EXPECT_CONTAINS(text, fragment) \
  EXPECT_NE(std::string(text).find(fragment), std::string::npos) << "message: " << (text) << "\nlacks:   " << (fragment)

/// The folder of real data, or "" where there is none.
inline std::string data_folder() {
  if (const char* set = std::getenv("MERCER_DATA")) return set;
  const auto beside = std::filesystem::path(MERCER_TEST_DIR) / "../../shared/data";
  return std::filesystem::exists(beside) ? beside.string() : "";
}

}  // namespace mercer
