#pragma once
#include <algorithm>
#include <cctype>
#include <limits>
#include <ostream>

#include "unit/io/table_files.hpp"

namespace mercer {

inline const double nan = std::numeric_limits<double>::quiet_NaN();

/// A file, how to read it, and either what must come out or what the message must say.
struct OddTable {
  std::string name;
  std::string bytes;
  std::string options;  ///< words such as "target=y missing=drop one_hot"
  Rows inputs;
  Rows targets;
  std::vector<std::string> message;  ///< fragments; none: the file is fine
  std::string file = "t.csv";
};

inline DatasetOptions options_from(const std::string& text) {
  DatasetOptions options;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (key == "target") options.targets = value;
    if (key == "inputs") options.inputs = value;
    if (key == "weights") options.weights = value;
    if (key == "header") options.header = value;
    if (key == "format") options.format = value;
    if (key == "one_hot") options.one_hot = true;
    if (key == "classify") options.classify = true;
    if (key == "missing") {
      options.missing = value == "mean"   ? Missing::mean
                        : value == "drop" ? Missing::drop
                        : value == "keep" ? Missing::keep
                                          : Missing::error;
    }
  }
  return options;
}

class OddTables : public testing::TestWithParam<OddTable> {};

inline void PrintTo(const OddTable& table, std::ostream* out) {
  *out << table.name;
}

/// Read kept in memory, parsed on every pass, and gzipped: all the same.
inline void check(const OddTable& table) {
  const TempFolder folder;
  const std::string path = folder.write(table.file, table.bytes);
  const std::string packed = folder.write("packed-" + table.file, gzip(table.bytes));
  for (const Index memory : {Index{0}, Index{1} << 20U}) {
    SCOPED_TRACE("memory_bytes " + std::to_string(memory));
    DatasetOptions options = options_from(table.options);
    options.memory_bytes = memory;
    if (!table.message.empty()) {
      const std::string message = open_error({path}, options);
      EXPECT_NE(message, "") << "was accepted";
      EXPECT_EQ(message.find('\n'), std::string::npos);
      for (const auto& fragment : table.message) EXPECT_CONTAINS(message, fragment);
      continue;
    }
    for (const auto& file : {path, packed}) {
      if (file == packed && table.bytes.starts_with("\x1f\x8b")) continue;
      const auto data = open_dataset({file}, options);
      for (const Index block_rows : {1, 2, 1000}) {
        const Table read = read_pass(*data, block_rows);
        expect_same(read.inputs, table.inputs);
        if (!table.targets.empty()) expect_same(read.targets, table.targets);
        EXPECT_EQ(data->has_targets(), !table.targets.empty());
      }
    }
  }
}

inline std::string test_name(const testing::TestParamInfo<OddTable>& info) {
  std::string name = std::to_string(info.index) + "_";
  for (const char c : info.param.name) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

}  // namespace mercer
