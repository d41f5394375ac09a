#include "io/select_columns.hpp"

#include "unit/io/table_files.hpp"

namespace mercer {
namespace {

using Columns = std::vector<Index>;

const std::vector<std::string> names{"age", "net-income", "net", "income", "3", "last:1", "a,b", "y"};

Columns select(const std::string& text) {
  return ColumnNames(names, "t.csv").select(text, "targets");
}

TEST(SelectColumns, ReadsNamesNumbersAndRanges) {
  EXPECT_EQ(select("y"), (Columns{7}));
  EXPECT_EQ(select("y,age"), (Columns{7, 0}));
  EXPECT_EQ(select(" y , age "), (Columns{7, 0}));
  EXPECT_EQ(select("0"), (Columns{0}));
  EXPECT_EQ(select("0-2"), (Columns{0, 1, 2}));
  EXPECT_EQ(select("age-net"), (Columns{0, 1, 2}));
  EXPECT_EQ(select("net-income-income"), (Columns{1, 2, 3}));
}

TEST(SelectColumns, ANameWinsOverEveryOtherReading) {
  EXPECT_EQ(select("net-income"), (Columns{1}));
  EXPECT_EQ(select("3"), (Columns{4}));
  EXPECT_EQ(select("last:1"), (Columns{5}));
  EXPECT_EQ(select("a,b"), (Columns{6}));
}

TEST(SelectColumns, CountsFromEitherEnd) {
  EXPECT_EQ(select("first:2"), (Columns{0, 1}));
  EXPECT_EQ(select("last:2"), (Columns{6, 7}));
  EXPECT_EQ(select("first:1,last:2"), (Columns{0, 6, 7}));
}

TEST(SelectColumns, RefusesWithReason) {
  const auto message = [](const std::string& text) { return error_of([&] { select(text); }); };
  EXPECT_CONTAINS(message("agee"),
                  "targets: no column 'agee' in t.csv (did you mean 'age'?); its columns are 'age', 'net-income'");
  EXPECT_CONTAINS(message("8"), "no column 8 in t.csv, which has 8, counted from 0");
  EXPECT_CONTAINS(message("net-net-income"), "runs backwards");
  EXPECT_CONTAINS(message("5-2"), "runs backwards");
  EXPECT_CONTAINS(message("first:0"), "positive number");
  EXPECT_CONTAINS(message("first:x"), "positive number");
  EXPECT_CONTAINS(message("last:9"), "more columns than the 8");
  EXPECT_CONTAINS(message("age,,y"), "empty name");
  EXPECT_CONTAINS(message("age,0"), "'age' is chosen twice");
  EXPECT_CONTAINS(message("0-99"), "no column '0-99'");
  EXPECT_CONTAINS(message("-1"), "no column '-1'");
  EXPECT_CONTAINS(message("99999999999999999999"), "no column");
}

TEST(SelectColumns, ShortensTheList) {
  std::vector<std::string> many;
  for (int i = 0; i < 500; ++i) many.push_back("column" + std::to_string(i));
  const ColumnNames columns(many, "t.csv");
  EXPECT_CONTAINS(columns.list(), "(500 in all)");
  EXPECT_LT(columns.list().size(), 200U);
}

}  // namespace
}  // namespace mercer
