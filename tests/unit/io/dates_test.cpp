#include <string>

#include "unit/io/table_files.hpp"

namespace mercer {
namespace {

DatasetOptions target(const std::string& name) {
  DatasetOptions options;
  options.targets = name;
  return options;
}

/// The first input column of a CSV file with targets y.
struct Opened {
  DateFormat format;
  std::vector<double> values;
};
Opened open_first(const std::string& text, const DatasetOptions& options = target("y")) {
  const TempFolder folder;
  const auto data = open_dataset({folder.write("t.csv", text)}, options);
  Opened result{data->schema().inputs.front().dates, {}};
  for (const auto& row : read_pass(*data, 3).inputs) result.values.push_back(row.front());
  return result;
}

std::string complaint(const std::string& text, const DatasetOptions& options = target("y")) {
  try {
    open_first(text, options);
  } catch (const Error& e) {
    const std::string what = e.what();
    return what.substr(what.find("t.csv"));
  }
  return "none";
}

using Values = std::vector<double>;

TEST(Dates, IsoTextBecomesDays) {
  const Opened dates = open_first("when,y\n1970-01-01,1\n1970-02-01,2\n1969-12-31,3\n2024-02-29,4\n");
  EXPECT_EQ(dates.format, DateFormat::iso_date);
  EXPECT_EQ(dates.values, (Values{0, 31, -1, 19782}));
  const Opened months = open_first("when,y\n1970-01,1\n1970-02,2\n");
  EXPECT_EQ(months.format, DateFormat::iso_month);
  EXPECT_EQ(months.values, (Values{0, 31}));
  const Opened times = open_first("when,y\n1970-01-01T06:00,1\n1970-01-02 12:00:00,2\n");
  EXPECT_EQ(times.format, DateFormat::iso_datetime);
  EXPECT_EQ(times.values, (Values{0.25, 1.5}));
  const Opened instants = open_first("when,y\n1970-01-01T06:00Z,1\n1970-01-02T12:00:00+06:00,2\n");
  EXPECT_EQ(instants.format, DateFormat::iso_instant);
  EXPECT_EQ(instants.values, (Values{0.25, 1.25}));
}

TEST(Dates, MidnightMayBeLeftOutOfTimes) {
  const Opened mixed = open_first("when,y\n1970-01-01,1\n1970-01-01T06:00,2\n1970-01-02,3\n");
  EXPECT_EQ(mixed.format, DateFormat::iso_datetime);
  EXPECT_EQ(mixed.values, (Values{0, 0.25, 1}));
}

TEST(Dates, CompactNumbersWhenAllAreDates) {
  const Opened dates = open_first("t,y\n19700101,1\n19700201,2\n19691231,3\n");
  EXPECT_EQ(dates.format, DateFormat::compact);
  EXPECT_EQ(dates.values, (Values{0, 31, -1}));
  EXPECT_EQ(open_first("t,y\n19700101,1\n19700230,2\n").format, DateFormat::none) << "February has no 30th";
  EXPECT_EQ(open_first("t,y\n19700101,1\n19700201,2\n7,3\n").values, (Values{19700101, 19700201, 7}));
  EXPECT_EQ(open_first("t,y\n19700101,1\n19700101,2\n").format, DateFormat::none) << "one number is no series";
  EXPECT_EQ(open_first("Date,y\n19700101,1\n19700101,2\n").format, DateFormat::compact) << "the name says it";
  EXPECT_EQ(open_first("update,y\n19700101,1\n19700101,2\n").format, DateFormat::none);
  EXPECT_EQ(open_first("date,y\n3,1\n19700101,2\n").values, (Values{3, 19700101})) << "the name misleads";
}

TEST(Dates, CompactMonthsWhenAllAreMonthsInOrder) {
  const Opened months = open_first("t,y\n196912,1\n197001,2\n197002,3\n");
  EXPECT_EQ(months.format, DateFormat::compact_month);
  EXPECT_EQ(months.values, (Values{-31, 0, 31}));
  EXPECT_EQ(open_first("t,y\n196912,1\n197001,2\n197013,3\n").values, (Values{196912, 197001, 197013}));
  EXPECT_EQ(open_first("t,y\n196912,1\n197002,2\n197001,3\n").format, DateFormat::none) << "not in order";
  EXPECT_EQ(open_first("t,y\n196912,1\n197001,2\n197001,3\n").format, DateFormat::none) << "a month twice";
  EXPECT_EQ(open_first("t,y\n196912,1\n197001,2\n").format, DateFormat::none) << "two numbers are few";
  EXPECT_EQ(open_first("date,y\n196912,1\n197001,2\n197002,3\n").format, DateFormat::compact_month);
  EXPECT_EQ(open_first("t,y\n300001,1\n300002,2\n300003,3\n").format, DateFormat::none) << "beyond 2999";
  DatasetOptions named = target("y");
  named.dates = "t";
  EXPECT_EQ(open_first("t,y\n197002,1\n197001,2\n", named).values, (Values{31, 0})) << "in any order when told so";
  EXPECT_THROW(open_first("t,y\n197002,1\n197013,2\n", named), Error);
  named.dates = "none";
  EXPECT_EQ(open_first("t,y\n196912,1\n197001,2\n197002,3\n", named).format, DateFormat::none);
}

TEST(Dates, StreamsTheSameAsItKeeps) {
  std::string text = "t,y\n";
  for (int i = 0; i < 900; ++i) text += format_days(10 * i, DateFormat::compact) + ",1\n";
  DatasetOptions streaming = target("y");
  DatasetOptions keeping = target("y");
  keeping.memory_bytes = 1 << 20;
  const Opened a = open_first(text, streaming);
  const Opened b = open_first(text, keeping);
  EXPECT_EQ(a.values, b.values);
  EXPECT_EQ(a.values[899], 8990);
}

TEST(Dates, OtherColumnsStayWhatTheyWere) {
  const TempFolder folder;
  DatasetOptions options = target("y");
  options.one_hot = true;
  const auto data =
      open_dataset({folder.write("t.csv", "a,t,c,y\n1,20200101,red,19700101\n2,20200102,4711-08,19700102\n")}, options);
  EXPECT_EQ(data->schema().inputs[0].dates, DateFormat::none);
  EXPECT_EQ(data->schema().inputs[1].dates, DateFormat::compact);
  EXPECT_EQ(data->schema().inputs[2].categories, (std::vector<std::string>{"4711-08", "red"}));
  expect_same(read_pass(*data, 2).inputs, {{1, 18262, 0, 1}, {2, 18263, 1, 0}});
  expect_same(read_pass(*data, 2).targets, {{19700101}, {19700102}});
}

TEST(Dates, MissingOnesAreFilledOrDropped) {
  DatasetOptions options = target("y");
  options.missing = Missing::mean;
  EXPECT_EQ(open_first("t,y\n19700101,1\n,2\n19700103,3\n", options).values, (Values{0, 1, 2}));
  EXPECT_EQ(open_first("t,y\n1970-01-01,1\nNA,2\n1970-01-03,3\n", options).values, (Values{0, 1, 2}));
  options.missing = Missing::drop;
  EXPECT_EQ(open_first("t,y\n1970-01-01,1\n1970-01-02,\n1970-01-03,3\n", options).values, (Values{0, 2}));
}

TEST(Dates, YearsKeepTheirNumbers) {
  EXPECT_EQ(open_first("year,y\n1949,1\n1950,2\n").format, DateFormat::decimal_year);
  EXPECT_EQ(open_first("Decimal_Year,y\n1949.5,1\n1950,2\n").format, DateFormat::decimal_year);
  EXPECT_EQ(open_first("t,y\n1949.5,1\n1950,2\n").format, DateFormat::decimal_year);
  EXPECT_EQ(open_first("t,y\n1949.5,1\n1950,2\n").values, (Values{1949.5, 1950}));
  EXPECT_EQ(open_first("t,y\n1949,1\n1950,2\n").format, DateFormat::none) << "whole numbers may be anything";
  EXPECT_EQ(open_first("t,y\n1499.5,1\n1950,2\n").format, DateFormat::none);
  EXPECT_EQ(open_first("t,b,y\n1949.5,1,1\n1950,1,2\n").format, DateFormat::none) << "one of several inputs";
}

TEST(Dates, OneLineSaysWhatIsWrong) {
  EXPECT_EQ(complaint("t,y\n2024-02-30,1\n"),
            "t.csv: line 2, column 't': '2024-02-30' is not a date: February 2024 has 29 days");
  EXPECT_EQ(complaint("t,y\n2024-01-01,1\n2023-02-29,1\n"),
            "t.csv: line 3, column 't': '2023-02-29' is not a date: February 2023 has 28 days");
  EXPECT_EQ(complaint("t,y\n2024-01-01,1\n20240102,1\n"),
            "t.csv: line 3, column 't': '20240102' is a number, and the column holds dates (2024-02-29)");
  EXPECT_EQ(complaint("t,y\n2024-01-01,1\nsoon,1\n"),
            "t.csv: line 3, column 't': 'soon' is not a date, and the column holds dates (2024-02-29)");
  EXPECT_EQ(complaint("t,y\n2024-01,1\n2024-02-01,1\n"),
            "t.csv: line 3, column 't': '2024-02-01' is written otherwise than the rest of the column, which holds months "
            "(2024-02)");
  EXPECT_EQ(
      complaint("t,y\n2024-01-01T00:00,1\n2024-01-01T00:00Z,1\n"),
      "t.csv: line 3, column 't': '2024-01-01T00:00Z' is written otherwise than the rest of the column, which holds times "
      "(2024-02-29T13:45)");
  EXPECT_EQ(
      complaint("date,y\n20240101,1\n20240230,1\n"),
      "t.csv: line 3, column 'date': '20240230' is not a date written YYYYMMDD, from 1700 to 2300; --dates none reads the "
      "column as numbers");
  EXPECT_EQ(complaint("t,y\n7,1\n2024-01-01,1\n"),
            "t.csv: line 3, column 't': '2024-01-01' is not a number; leave the column out with --inputs, or use --one-hot");
}

TEST(Dates, WishesAreObeyed) {
  DatasetOptions none = target("y");
  none.dates = "none";
  EXPECT_EQ(open_first("date,y\n19700101,1\n19700201,2\n", none).values, (Values{19700101, 19700201}));
  EXPECT_EQ(complaint("t,y\n2024-01-01,1\n", none),
            "t.csv: line 2, column 't': '2024-01-01' is not a number; leave the column out with --inputs, or use --one-hot");
  DatasetOptions forced = target("y");
  forced.dates = "t";
  EXPECT_EQ(open_first("t,y\n19700102,1\n", forced).values, (Values{1}));
  EXPECT_EQ(open_first("t,y\n1970-01-02,1\n", forced).values, (Values{1}));
  EXPECT_EQ(open_first("t,y\n1970,1\n1971,2\n", forced).format, DateFormat::decimal_year);
  EXPECT_EQ(open_first("a,t,y\n19700102,1970-01-02,1\n19700103,1970-01-02,1\n", forced).format, DateFormat::none)
      << "only the columns named";
  EXPECT_EQ(complaint("t,y\n19700102,1\n1,2\n", forced),
            "t.csv: line 3, column 't': '1' is not a date written YYYYMMDD, from 1700 to 2300");
  EXPECT_EQ(complaint("t,y\n123456,1\n", forced),
            "t.csv: line 2, column 't': '123456' is not a date (2024-02-29 or 20240229)");
  EXPECT_EQ(complaint("t,y\nsoon,1\n", forced), "t.csv: line 2, column 't': 'soon' is not a date (2024-02-29 or 20240229)");
  forced.dates = "y";
  EXPECT_THROW(open_first("t,y\n1,1\n", forced), Error);
}

TEST(Dates, ASchemaReadsItsOwnFormatOnly) {
  const TempFolder folder;
  const auto read = [&](DateFormat format, const std::string& text) {
    Schema schema;
    schema.inputs = {{"t", {}, 0, format}};
    schema.targets = {"y"};
    DatasetOptions options;
    options.like = &schema;
    options.targets_optional = true;
    return open_first(text, options);
  };
  EXPECT_EQ(read(DateFormat::iso_date, "t\n1970-01-02\n").values, (Values{1}));
  EXPECT_EQ(read(DateFormat::iso_date, "1970-01-02\n1970-01-03\n").values, (Values{1, 2})) << "no header";
  EXPECT_EQ(read(DateFormat::iso_date, "1970-01-02\n").values, (Values{1})) << "one row without a header";
  EXPECT_EQ(read(DateFormat::iso_datetime, "t\n1970-01-02\n").values, (Values{1}));
  EXPECT_EQ(read(DateFormat::compact, "t\n19700102\n").values, (Values{1}));
  EXPECT_EQ(read(DateFormat::compact_month, "t\n197002\n").values, (Values{31}));
  EXPECT_THROW(read(DateFormat::compact_month, "t\n19700102\n"), Error);
  EXPECT_EQ(read(DateFormat::decimal_year, "t\n3000.5\n").values, (Values{3000.5}));
  EXPECT_EQ(read(DateFormat::none, "t\n19700102\n19700103\n").values, (Values{19700102, 19700103}));
  EXPECT_THROW(read(DateFormat::iso_date, "t\n19700102\n"), Error);
  EXPECT_THROW(read(DateFormat::iso_date, "t\n1970-01-02T06:00\n"), Error);
  EXPECT_THROW(read(DateFormat::compact, "t\n1970-01-02\n"), Error);
  EXPECT_THROW(read(DateFormat::compact, "t\n3\n"), Error);
  EXPECT_THROW(read(DateFormat::none, "t\n1970-01-02\n"), Error);
  EXPECT_THROW(read(DateFormat::decimal_year, "t\n1970-01-02\n"), Error);
}

TEST(Dates, ColumnsNamedByMonthsAreStillNames) {
  const TempFolder folder;
  const auto data = open_dataset({folder.write("t.csv", "y,2024-01,2024-02\n1,2,3\n4,5,6\n")}, target("y"));
  EXPECT_EQ(data->schema().input_names(), (std::vector<std::string>{"2024-01", "2024-02"}));
  EXPECT_EQ(data->row_count(), 2);
}

}  // namespace
}  // namespace mercer
