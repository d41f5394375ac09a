#include <fcntl.h>
#include <sys/stat.h>

#include <clocale>
#include <limits>
#include <thread>

#include "unit/io/table_files.hpp"

namespace mercer {
namespace {

const double nan = std::numeric_limits<double>::quiet_NaN();

DatasetOptions target(const std::string& name) {
  DatasetOptions options;
  options.targets = name;
  return options;
}

DatasetOptions like(const Schema& schema) {
  DatasetOptions options;
  options.like = &schema;
  return options;
}

TEST(Schema, CountsAndNamesNumericInputs) {
  Schema schema;
  schema.inputs = {{"age", {}, 0}, {"colour", {"blue", "red"}, 0}};
  EXPECT_EQ(schema.input_count(), 3);
  EXPECT_EQ(schema.input_names(), (std::vector<std::string>{"age", "colour=blue", "colour=red"}));
}

TEST(Dataset, LearnsTheSchema) {
  const TempFolder folder;
  const auto path = folder.write("t.csv", "a,c,w,y\n1,red,1,no\n4,blue,2,yes\n,red,0,no\n");
  DatasetOptions options = target("y");
  options.weights = "w";
  options.one_hot = true;
  options.missing = Missing::mean;
  const auto data = open_dataset({path}, options);
  Schema expected;
  expected.inputs = {{"a", {}, 2.5}, {"c", {"blue", "red"}, 0}};
  expected.targets = {"y"};
  expected.classes = {"no", "yes"};
  expected.weights = "w";
  EXPECT_EQ(data->schema(), expected);
  EXPECT_EQ(data->cells_filled(), 1);
  EXPECT_EQ(data->rows_dropped(), 0);
  const Table table = read_pass(*data, 2);
  expect_same(table.inputs, {{1, 0, 1}, {4, 1, 0}, {2.5, 0, 1}});
  expect_same(table.targets, {{0}, {1}, {0}});
  EXPECT_EQ(table.weights, (std::vector<double>{1, 2, 0}));
}

TEST(Dataset, DroppedRowsTeachNothing) {
  const TempFolder folder;
  const auto path = folder.write("t.csv", "a,c,y\n1,red,1\n100,mauve,\n3,blue,2\n");
  DatasetOptions options = target("y");
  options.one_hot = true;
  options.missing = Missing::drop;
  const auto data = open_dataset({path}, options);
  EXPECT_EQ(data->rows_dropped(), 1);
  EXPECT_EQ(data->row_count(), 2);
  EXPECT_EQ(data->schema().inputs[0].fill, 2);
  EXPECT_EQ(data->schema().inputs[1].categories, (std::vector<std::string>{"blue", "red"}));
}

/// The rows and the boundaries are the same whether kept in memory or parsed again, however often.
TEST(Dataset, PassesAreTheSameInMemoryAndFromTheFile) {
  const TempFolder folder;
  std::string text = "a,c,y\n";
  Rows inputs;
  Rows targets;
  for (int i = 0; i < 50000; ++i) {
    const bool dropped = i % 7 == 3;
    text += (dropped ? "" : std::to_string(i)) + (i % 2 == 0 ? ",even," : ",odd,") + std::to_string(-i) + "\n";
    if (dropped) continue;
    inputs.push_back({static_cast<double>(i), i % 2 == 0 ? 1.0 : 0.0, i % 2 == 0 ? 0.0 : 1.0});
    targets.push_back({static_cast<double>(-i)});
  }
  const auto path = folder.write("t.csv", text);
  for (const Index memory : {Index{0}, Index{1000}, Index{1} << 26U}) {
    DatasetOptions options = target("y");
    options.one_hot = true;
    options.missing = Missing::drop;
    options.memory_bytes = memory;
    const auto data = open_dataset({path}, options);
    EXPECT_EQ(data->rows_dropped(), 7143);
    for (const Index block_rows : {1024, 1024, 100000}) {
      const Table table = read_pass(*data, block_rows);
      expect_same(table.inputs, inputs);
      expect_same(table.targets, targets);
    }
  }
}

TEST(Dataset, RewindsInTheMiddle) {
  const TempFolder folder;
  const auto path = folder.write("t.csv", "a\n1\n2\n3\n");
  const auto data = open_dataset({path}, {});
  RowBlock block;
  ASSERT_TRUE(data->next(2, block));
  data->rewind();
  ASSERT_TRUE(data->next(1, block));
  EXPECT_EQ(block.inputs(0, 0), 1);
  EXPECT_EQ(block.first_row, 0);
  EXPECT_CONTAINS(error_of([&] { data->next(0, block); }), "at least one row");
}

TEST(Dataset, NoticesAFileThatChanges) {
  const TempFolder folder;
  const auto path = folder.write("t.csv", "a\n1\n2\n3\n");
  const auto data = open_dataset({path}, {});
  folder.write("t.csv", "a\n1\n2\n");
  EXPECT_CONTAINS(error_of([&] { read_pass(*data, 10); }), "changed");
  folder.write("t.csv", "a\n1\n2\n3\n4\n");
  EXPECT_CONTAINS(error_of([&] { read_pass(*data, 10); }), "changed");
}

TEST(Dataset, ReadsSeveralFilesAsOne) {
  const TempFolder folder;
  const auto a = folder.write("a.csv", "u,v,y\n1,2,3\n");
  const auto swapped = folder.write("b.csv.gz", gzip("y,z,v,u\n6,0,5,4\n"));
  const auto bare = folder.write("c.csv", "7,8,9\n");
  const auto only_header = folder.write("d.csv", "u,v,y\n");
  for (const Index memory : {Index{0}, Index{1} << 20U}) {
    DatasetOptions options = target("y");
    options.memory_bytes = memory;
    const auto data = open_dataset({a, swapped, only_header, bare}, options);
    const Table table = read_pass(*data, 2);
    expect_same(table.inputs, {{1, 2}, {4, 5}, {7, 8}});
    expect_same(table.targets, {{3}, {6}, {9}});
    EXPECT_EQ(table.blocks, (std::vector<Index>{2, 1}));
  }
  const auto lacking = folder.write("e.csv", "u,w,y\n1,2,3\n");
  EXPECT_CONTAINS(open_error({a, lacking}, target("y")), "e.csv: no column 'v', which");
  const auto narrow = folder.write("f.csv", "1,2\n");
  EXPECT_CONTAINS(open_error({a, narrow}, target("y")), "f.csv: 2 columns");
  const auto gap = folder.write("g.csv", "u,v,y\n1,,3\n");
  EXPECT_CONTAINS(open_error({a, gap}, target("y")), "g.csv, column 'v'");
  EXPECT_CONTAINS(open_error({a, gap}, target("y")), "a.csv and 1 more: 1 missing cell in 1 column, first at line 2 of ");
}

TEST(Dataset, KnowsWhereRowsStandInTheirFiles) {
  const TempFolder folder;
  const auto a = folder.write("a.csv", "u,c,y,w\n1,x,3,1\n2,,3,1\n\n4,\"z\nz\",5,1\n6,x,7,1\n");
  const auto b = folder.write("b.csv.gz", gzip("y,c,u,w\n8,x,9,1\n"));
  DatasetOptions options = target("y");
  options.weights = "w";
  options.one_hot = true;
  options.missing = Missing::drop;
  for (const Index memory : {Index{0}, Index{1} << 20U}) {
    options.memory_bytes = memory;
    const auto data = open_dataset({a, b}, options);
    ASSERT_EQ(data->row_count(), 4);
    EXPECT_EQ(data->place_of(0), "line 2 of " + a);
    EXPECT_EQ(data->place_of(1), "line 5 of " + a) << "after a line left out and an empty one";
    EXPECT_EQ(data->place_of(2), "line 7 of " + a) << "after a cell of two lines";
    EXPECT_EQ(data->place_of(3), "line 2 of " + b);
    EXPECT_EQ(data->name_of(RowPart::input, 0), "column 'u'");
    EXPECT_EQ(data->name_of(RowPart::input, 1), "column 'c=x'");
    EXPECT_EQ(data->name_of(RowPart::target, 0), "column 'y'");
    EXPECT_EQ(data->name_of(RowPart::weight, 0), "the weight (column 'w')");
  }
}

TEST(Dataset, SvmlightFilesShareWidthAndBase) {
  const TempFolder folder;
  const auto a = folder.write("a.svm", "1 0:1\n");
  const auto b = folder.write("b.svm", "2 2:5\n");
  const auto data = open_dataset({a, b}, {});
  const Table table = read_pass(*data, 10);
  expect_same(table.inputs, {{1, 0, 0}, {0, 0, 5}});
  expect_same(table.targets, {{1}, {2}});
}

TEST(Dataset, FollowsASchemaByName) {
  const TempFolder folder;
  const auto train = folder.write("train.csv", "a,b,c,w,y\n1,2,u,1,0.5\n3,4,v,1,1.5\n");
  DatasetOptions options = target("y");
  options.weights = "w";
  options.one_hot = true;
  const Schema schema = open_dataset({train}, options)->schema();

  const auto test = folder.write("test.csv", "extra,y,c,b,a\nfoo,7,v,6,5\n");
  const auto data = open_dataset({test}, like(schema));
  EXPECT_TRUE(data->has_targets());
  EXPECT_EQ(data->schema(), schema);
  Table table = read_pass(*data, 10);
  expect_same(table.inputs, {{5, 6, 0, 1}});
  expect_same(table.targets, {{7}});
  EXPECT_TRUE(table.weights.empty());

  const auto weighted = folder.write("weighted.csv", "w,y,c,b,a\n3,7,v,6,5\n");
  EXPECT_EQ(read_pass(*open_dataset({weighted}, like(schema)), 10).weights, (std::vector<double>{3}));

  const auto unlabelled = folder.write("unlabelled.csv", "a,b,c\n5,6,u\n");
  EXPECT_CONTAINS(open_error({unlabelled}, like(schema)), "the model's target 'y' is not among the columns");
  DatasetOptions optional = like(schema);
  optional.targets_optional = true;
  const auto bare = open_dataset({unlabelled}, optional);
  EXPECT_FALSE(bare->has_targets());
  EXPECT_EQ(bare->target_count(), 0);
  expect_same(read_pass(*bare, 10).inputs, {{5, 6, 1, 0}});

  const auto empty_target = folder.write("empty-target.csv", "a,b,c,y\n5,6,u,\n7,8,u,1\n");
  EXPECT_FALSE(open_dataset({empty_target}, optional)->has_targets());
  EXPECT_CONTAINS(open_error({empty_target}, like(schema)), "1 missing cell");

  const auto lacking = folder.write("lacking.csv", "aa,b,c,y\n1,2,u,3\n");
  EXPECT_CONTAINS(open_error({lacking}, like(schema)), "lacking.csv: the model's input 'a' is not among the columns");
  const auto unseen = folder.write("unseen.csv", "a,b,c,y\n1,2,u,3\n1,2,mauve,3\n");
  EXPECT_CONTAINS(open_error({unseen}, like(schema)),
                  "unseen.csv: line 3, column 'c': category 'mauve' was not in the training data");
  const auto text = folder.write("text.csv", "a,b,c,y\n1,2,u,3\nzz,2,u,3\n");
  EXPECT_CONTAINS(open_error({text}, like(schema)), "line 3, column 'a': 'zz' is not a number");
}

TEST(Dataset, NamesTheColumnsThatASchemaMisses) {
  const TempFolder folder;
  const Schema schema = open_dataset({folder.write("train.csv", "height,width,y\n1,2,3\n")}, target("y"))->schema();
  const auto test = folder.write("test.csv", "hieght,widths,y\n1,2,3\n");
  EXPECT_CONTAINS(open_error({test}, like(schema)),
                  "inputs 'height' (did you mean 'hieght'?), 'width' (did you mean 'widths'?) are not among the columns");
}

TEST(Dataset, FollowsASchemaByPosition) {
  const TempFolder folder;
  const auto train = folder.write("train.csv", "y,a,b\n0,1,2\n");
  const Schema named = open_dataset({train}, target("y"))->schema();
  DatasetOptions options = like(named);
  options.targets_optional = true;
  const auto inputs = folder.write("inputs.csv", "1,2\n3,4\n");
  expect_same(read_pass(*open_dataset({inputs}, options), 10).inputs, {{1, 2}, {3, 4}});
  const auto both = folder.write("both.csv", "1,2,9\n");
  const Table table = read_pass(*open_dataset({both}, options), 10);
  expect_same(table.inputs, {{1, 2}});
  expect_same(table.targets, {{9}});
  const auto wide = folder.write("wide.csv", "1,2,9,9\n");
  EXPECT_CONTAINS(open_error({wide}, options), "4 columns without names; expected 2");

  // Without names in training either, the positions in the training file are the names.
  const auto bare = folder.write("bare.csv", "9,1,2\n");
  const Schema numbered = open_dataset({bare}, target("0"))->schema();
  options.like = &numbered;
  expect_same(read_pass(*open_dataset({bare}, options), 10).inputs, {{1, 2}});
  expect_same(read_pass(*open_dataset({bare}, options), 10).targets, {{9}});
  expect_same(read_pass(*open_dataset({inputs}, options), 10).inputs, {{1, 2}, {3, 4}});
}

TEST(Dataset, FollowsASchemaInSvmlight) {
  const TempFolder folder;
  const auto train = folder.write("train.svm", "1 1:1 4:2\n");
  const Schema schema = open_dataset({train}, {})->schema();
  const auto test = folder.write("test.svm", "5 2:7\n");
  const Table table = read_pass(*open_dataset({test}, like(schema)), 10);
  expect_same(table.inputs, {{0, 7, 0, 0}});
  expect_same(table.targets, {{5}});
  const auto wider = folder.write("wider.svm", "5 2:7 9:1\n");
  expect_same(read_pass(*open_dataset({wider}, like(schema)), 10).inputs, {{0, 7, 0, 0}});
}

TEST(Dataset, FollowsClasses) {
  const TempFolder folder;
  const auto train = folder.write("train.csv", "a,y\n1,10\n2,9\n");
  DatasetOptions options = target("y");
  options.classify = true;
  const Schema schema = open_dataset({train}, options)->schema();
  EXPECT_EQ(schema.classes, (std::vector<std::string>{"9", "10"}));
  const auto test = folder.write("test.csv", "a,y\n1,10.0\n");
  expect_same(read_pass(*open_dataset({test}, like(schema)), 10).targets, {{1}});
  const auto unseen = folder.write("unseen.csv", "a,y\n1,9\n1,11\n");
  EXPECT_CONTAINS(open_error({unseen}, like(schema)),
                  "unseen.csv: line 3, column 'y': class '11' was not in the training data");
}

TEST(Dataset, FillsByTheSchemasMeans) {
  const TempFolder folder;
  const auto train = folder.write("train.csv", "a,y\n1,0\n4,0\n");
  const Schema schema = open_dataset({train}, target("y"))->schema();
  const auto test = folder.write("test.csv", "a,y\n,0\n100,0\n");
  DatasetOptions options = like(schema);
  options.missing = Missing::mean;
  const auto data = open_dataset({test}, options);
  expect_same(read_pass(*data, 10).inputs, {{2.5}, {100}});
  EXPECT_EQ(data->cells_filled(), 1);
  options.missing = Missing::keep;
  expect_same(read_pass(*open_dataset({test}, options), 10).inputs, {{nan}, {100}});
}

TEST(Dataset, MeansDoNotOverflow) {
  const TempFolder folder;
  const auto path = folder.write("t.csv", "a\n1.7e308\n1.7e308\n1.7e308\n");
  EXPECT_EQ(open_dataset({path}, {})->schema().inputs[0].fill, 1.7e308);
}

TEST(Dataset, RefusesAColumnOfIdentifiersAsCategory) {
  const TempFolder folder;
  std::string text = "id,y\n";
  for (int i = 0; i < 10001; ++i) text += "n" + std::to_string(i) + ",1\n";
  DatasetOptions options = target("y");
  options.one_hot = true;
  EXPECT_CONTAINS(open_error({folder.write("t.csv", text)}, options), "more than 10000 different texts");
}

TEST(Dataset, RefusesCategoriesThatHardlyRepeatOrAreNumbers) {
  const TempFolder folder;
  std::string dates = "day,y\n";
  std::string prices = "price,y\n";
  for (int i = 0; i < 60; ++i) {
    dates += "2026-01-" + std::to_string(i) + ",1\n";
    prices += (i == 7 ? std::string("cheap") : std::to_string(i % 25) + ".5") + ",1\n";
  }
  DatasetOptions options = target("y");
  options.one_hot = true;
  EXPECT_CONTAINS(open_error({folder.write("d.csv", dates)}, options), "60 different texts in 60 rows: that is no category");
  EXPECT_CONTAINS(open_error({folder.write("p.csv", prices)}, options), "most of them numbers (but 'cheap' is not)");
}

TEST(Dataset, RefusesLinesWithoutEnd) {
  const TempFolder folder;
  const auto path = folder.write("t.csv.gz", gzip("a,b\n" + std::string(70 << 20, '1')));
  EXPECT_CONTAINS(open_error({path}, {}), "line 2 is longer than 64 MiB");
}

TEST(Dataset, SaysWhatCannotBeOpened) {
  const TempFolder folder;
  folder.write("train.csv", "a\n1\n");
  EXPECT_CONTAINS(open_error({folder.file("trian.csv")}, {}),
                  "trian.csv': No such file or directory (did you mean 'train.csv'?)");
  EXPECT_CONTAINS(open_error({folder.file("")}, {}), "it is a folder");
  EXPECT_CONTAINS(open_error({folder.file("train.csv/x")}, {}), "cannot open");
  EXPECT_CONTAINS(open_error({std::string("a\0b", 3)}, {}), "zero byte");
  EXPECT_CONTAINS(open_error({}, {}), "no data file");
}

TEST(Dataset, ReadsAFifo) {
  const TempFolder folder;
  const std::string path = folder.file("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path) << "a,b\n1,2\n3,4\n"; });
  const auto data = open_dataset({path}, target("b"));
  writer.join();
  for (int pass = 0; pass < 2; ++pass) expect_same(read_pass(*data, 1).inputs, {{1}, {3}});
}

TEST(Dataset, BoundsWhatAFifoMayHold) {
  const TempFolder folder;
  const std::string path = folder.file("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path) << "a,b\n" << std::string(5000, '\n'); });
  DatasetOptions options;
  options.memory_bytes = 1000;
  EXPECT_CONTAINS(open_error({path}, options), "can be read only once");
  writer.join();
}

TEST(Dataset, ReadsStandardInput) {
  const TempFolder folder;
  const std::string path = folder.write("in", gzip("a,b\n1,2\n3,4\n"));
  const int saved = ::dup(STDIN_FILENO);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  ::dup2(file, STDIN_FILENO);
  ::close(file);
  const auto data = open_dataset({"-"}, {});
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
  for (int pass = 0; pass < 2; ++pass) expect_same(read_pass(*data, 1).inputs, {{1, 2}, {3, 4}});
  EXPECT_CONTAINS(open_error({"-", "-"}, {}), "only once");
}

/// More files than a process may have open are read one at a time.
TEST(Dataset, ReadsManyFiles) {
  const TempFolder folder;
  std::vector<std::string> paths;
  Rows expected;
  for (int i = 0; i < 1500; ++i) {
    paths.push_back(folder.write(std::to_string(i) + ".csv", "a\n" + std::to_string(i) + "\n"));
    expected.push_back({static_cast<double>(i)});
  }
  const auto data = open_dataset(paths, {});
  expect_same(read_pass(*data, 100).inputs, expected);
}

TEST(Dataset, ReadsNumbersInAnyLocale) {
  const char* set = std::setlocale(LC_ALL, "de_DE.UTF-8");
  if (set == nullptr) set = std::setlocale(LC_ALL, "fr_FR.UTF-8");
  if (set == nullptr) GTEST_SKIP() << "no locale with a decimal comma is installed";
  const TempFolder folder;
  const auto path = folder.write("t.csv", "a\n1.5\n");
  expect_same(read_pass(*open_dataset({path}, {}), 1).inputs, {{1.5}});
  std::setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace mercer
