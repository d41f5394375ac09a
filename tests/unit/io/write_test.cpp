#include "io/write.hpp"

#include <fcntl.h>

#include <cmath>
#include <limits>

#include "base/matrix.hpp"
#include "unit/io/table_files.hpp"

namespace mercer {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CsvWriter, WritesShortestNumbersAndQuotesWhatNeedsIt) {
  const TempFolder folder;
  const auto path = folder.file("t.csv");
  CsvWriter writer(path, {"a", "b,c", "say \"x\"", " d", "#e"});
  writer.row(std::vector<double>{0.1, 1e-7, std::nan(""), -0.0, 1e300});
  writer.row(std::vector<std::string>{"x", "", "two\nlines", "t\tab", "semi;colon"});
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.commit();
  EXPECT_EQ(contents(path),
            "a,\"b,c\",\"say \"\"x\"\"\",\" d\",\"#e\"\n"
            "0.1,1e-07,,-0,1e+300\n"
            "x,,\"two\nlines\",\"t\tab\",\"semi;colon\"\n");
}

TEST(CsvWriter, IsReadBackExactly) {
  const TempFolder folder;
  const auto path = folder.file("t.csv");
  const std::vector<std::string> header{"a,1", "#b", "\"c\"", "d\ne"};
  Rows rows;
  CsvWriter writer(path, header);
  for (int i = 0; i < 20000; ++i) {
    rows.push_back({std::sin(i), std::exp(i % 1400 - 700.0), i * 1e-320, std::ldexp(1.0, i % 2000 - 1000)});
    writer.row(rows.back());
  }
  writer.commit();
  const auto data = open_dataset({path}, {});
  expect_same(read_pass(*data, 1000).inputs, rows);
  EXPECT_EQ(data->schema().input_names(), header);
}

TEST(CsvWriter, OneEmptyCellIsStillARow) {
  const TempFolder folder;
  const auto path = folder.file("t.csv");
  CsvWriter writer(path, {"a"});
  writer.row(std::vector<double>{1});
  writer.row(std::vector<double>{std::nan("")});
  writer.row(std::vector<double>{3});
  writer.commit();
  DatasetOptions options;
  options.missing = Missing::keep;
  expect_same(read_pass(*open_dataset({path}, options), 10).inputs, {{1}, {std::nan("")}, {3}});
}

TEST(CsvWriter, LeavesNothingWithoutCommit) {
  const TempFolder folder;
  {
    CsvWriter writer(folder.file("t.csv"), {"a"});
    writer.row(std::vector<double>{1});
    EXPECT_CONTAINS(error_of([&] { writer.row(std::vector<double>{1, 2}); }), "a row of 2 cells in a table of 1");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.file("")));
  EXPECT_NE(error_of([&] { CsvWriter(folder.file("no/such/t.csv"), {"a"}); }), "");
}

TEST(CsvWriter, WritesToStandardOutput) {
  const TempFolder folder;
  const auto path = folder.write("out", "before\n");
  const int saved = ::dup(STDOUT_FILENO);
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  ASSERT_GE(file, 0);
  std::fflush(stdout);
  ::dup2(file, STDOUT_FILENO);
  {
    CsvWriter writer("-", {"a"});
    writer.row(std::vector<double>{1.5});
    writer.commit();
  }
  ::dup2(saved, STDOUT_FILENO);
  ::close(saved);
  ::close(file);
  EXPECT_EQ(contents(path), "before\na\n1.5\n");
}

TEST(NpyWriter, WritesWhatNumpyWrites) {
  const TempFolder folder;
  const auto path = folder.file("t.npy");
  const Matrix<double> all(3, 2, {1, 2, 3, 4, 5, 6.5});
  NpyWriter writer(path, 3, 2);
  writer.append(all.view().row_range(0, 2));
  EXPECT_CONTAINS(error_of([&] { writer.commit(); }), "2 of 3 rows");
  writer.append(all.view().row_range(2, 1));
  writer.commit();
  // numpy 1.24: numpy.save(f, numpy.array([[1, 2], [3, 4], [5, 6.5]]))
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }";
  expected.append(127 - expected.size(), ' ');
  expected += '\n';
  expected.append(reinterpret_cast<const char*>(all.data()), 48);
  EXPECT_EQ(contents(path), expected);
  expect_same(read_pass(*open_dataset({path}, {}), 2).inputs, {{1, 2}, {3, 4}, {5, 6.5}});
}

TEST(NpyWriter, TakesStridedBlocksAndRefusesTheRest) {
  const TempFolder folder;
  const auto path = folder.file("t.npy");
  const Matrix<double> all(2, 3, {1, 2, 3, 4, 5, 6});
  NpyWriter writer(path, 2, 2);
  EXPECT_CONTAINS(error_of([&] { writer.append(all); }), "2 × 3");
  writer.append(all.view().col_range(1, 2));
  EXPECT_CONTAINS(error_of([&] { writer.append(all.view().col_range(1, 2)); }), "0 × 2 were left");
  writer.commit();
  expect_same(read_pass(*open_dataset({path}, {}), 2).inputs, {{2, 3}, {5, 6}});
}

}  // namespace
}  // namespace mercer
