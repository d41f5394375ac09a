#include <numeric>

#include "unit/io/table_files.hpp"

namespace mercer {
namespace {

/// Row counts, widths and missing cells as the folder's README states them; sums computed with numpy.loadtxt and math.fsum.
class RealData : public testing::Test {
 protected:
  void SetUp() override {
    if (data_folder().empty()) GTEST_SKIP() << "no folder of real data: set MERCER_DATA";
  }
  static std::string path(const std::string& name) { return data_folder() + "/" + name; }
};

DatasetOptions options_for(const std::string& targets, Missing missing = Missing::error) {
  DatasetOptions options;
  options.targets = targets;
  options.missing = missing;
  options.memory_bytes = Index{1} << 30U;
  return options;
}

struct Shape {
  Index rows;
  Index inputs;
  Index targets;
  double input_sum;
  double target_sum;
};

void check_shape(Dataset& data, const Shape& shape) {
  EXPECT_EQ(data.row_count(), shape.rows);
  EXPECT_EQ(data.input_count(), shape.inputs);
  EXPECT_EQ(data.target_count(), shape.targets);
  RowBlock block;
  long double inputs = 0;
  long double targets = 0;
  while (data.next(1024, block)) {
    for (Index i = 0; i < block.rows(); ++i) {
      for (const double x : block.inputs.row(i)) inputs += static_cast<long double>(x);
      for (const double y : block.targets.row(i)) targets += static_cast<long double>(y);
    }
  }
  EXPECT_NEAR(static_cast<double>(inputs), shape.input_sum, 1e-9 * std::abs(shape.input_sum));
  EXPECT_NEAR(static_cast<double>(targets), shape.target_sum, 1e-9 * std::abs(shape.target_sum));
}

TEST_F(RealData, RiverFlow) {
  const auto file = path("multi-target/rf1.arff.gz");
  EXPECT_CONTAINS(open_error({file}, options_for("last:8")), "rf1.arff.gz: 3 264 missing cells in ");
  const auto data = open_dataset({file}, options_for("last:8", Missing::mean));
  EXPECT_EQ(data->cells_filled(), 3264);
  EXPECT_EQ(data->input_count(), 64);
  EXPECT_EQ(data->target_count(), 8);
  EXPECT_EQ(data->row_count(), 9125);
  const auto dropped = open_dataset({file}, options_for("last:8", Missing::drop));
  EXPECT_EQ(dropped->row_count() + dropped->rows_dropped(), 9125);
}

TEST_F(RealData, MultiTargetSets) {
  struct Set {
    const char* name;
    const char* targets;
    Index rows;
    Index inputs;
  };
  for (const Set& set : {Set{"rf2", "last:8", 9125, 576}, Set{"scm20d", "last:16", 8966, 61}, Set{"enb", "last:2", 768, 8},
                         Set{"jura", "last:3", 359, 15}, Set{"wq", "last:14", 1060, 16}, Set{"atp1d", "last:6", 337, 411}}) {
    SCOPED_TRACE(set.name);
    const auto data =
        open_dataset({path(std::string("multi-target/") + set.name + ".arff.gz")}, options_for(set.targets, Missing::keep));
    EXPECT_EQ(data->row_count(), set.rows);
    EXPECT_EQ(data->input_count(), set.inputs);
  }
  const auto atp = open_dataset({path("multi-target/atp1d.arff.gz")}, options_for("last:6"));
  EXPECT_EQ(atp->schema().inputs[0].name, "departwb");
}

TEST_F(RealData, Boston) {
  const auto data = open_dataset({path("housing/boston.csv")}, options_for("medv"));
  check_shape(*data, Shape{506, 13, 1, 460946.55522, 11401.6});
  EXPECT_EQ(data->schema().inputs[0].name, "crim");
}

TEST_F(RealData, CaliforniaHousingBehindItsComment) {
  const auto data = open_dataset({path("large/california_housing.data.gz")}, options_for("last:1"));
  check_shape(*data, Shape{20640, 8, 1, 104175236.5695, 4269504061.0});
}

TEST_F(RealData, Uci) {
  check_shape(*open_dataset({path("uci/protein.csv.gz")}, options_for("last:1")),
              Shape{45730, 9, 1, 148.0831828709913, -0.01297142999997261});
  check_shape(*open_dataset({path("uci/kin40k.csv.gz")}, options_for("last:1")),
              Shape{40000, 8, 1, 0.0011252249000044234, 0.003351509000001224});
}

TEST_F(RealData, Mnist) {
  DatasetOptions options = options_for("label");
  options.classify = true;
  const auto data = open_dataset({path("mnist/t10k-images-idx3-ubyte.gz")}, options);
  EXPECT_EQ(data->schema().classes, (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
  check_shape(*data, Shape{10000, 784, 1, 264923200.0, 44434.0});
}

TEST_F(RealData, Co2WithGaps) {
  const auto file = path("series/co2-weekly.csv");
  EXPECT_CONTAINS(open_error({file}, options_for("co2")),
                  "co2-weekly.csv: 59 missing cells in 1 column, first at line 8, column 'co2'");
  const auto data = open_dataset({file}, options_for("co2", Missing::drop));
  EXPECT_EQ(data->row_count(), 2284 - 59);
}

TEST_F(RealData, FlightsWithAirportsAsCategories) {
  DatasetOptions options = options_for("delay");
  options.inputs = "distance,origin";
  EXPECT_CONTAINS(open_error({path("large/flights-3m.csv.gz")}, options), "line 2, column 'origin': 'LAS' is not a number");
  options.one_hot = true;
  const auto data = open_dataset({path("large/flights-3m.csv.gz")}, options);
  EXPECT_EQ(data->row_count(), 3000000);
  EXPECT_EQ(data->input_count(), 1 + 229);
}

}  // namespace
}  // namespace mercer
