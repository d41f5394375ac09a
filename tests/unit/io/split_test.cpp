#include "io/split.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "unit/io/table_files.hpp"

namespace mercer {
namespace {

struct Numbers {
  explicit Numbers(Index n) : inputs(n, 1), targets(n, 2), weights(static_cast<std::size_t>(n)) {
    for (Index i = 0; i < n; ++i) {
      inputs(i, 0) = static_cast<double>(i);
      targets(i, 0) = static_cast<double>(2 * i);
      targets(i, 1) = static_cast<double>(3 * i);
      weights[static_cast<std::size_t>(i)] = static_cast<double>(i) + 0.5;
    }
  }
  ArrayRows rows() const { return ArrayRows(inputs, targets, weights); }
  Matrix<double> inputs;
  Matrix<double> targets;
  std::vector<double> weights;
};

std::vector<double> first_column(const Table& table) {
  std::vector<double> result;
  for (const auto& row : table.inputs) result.push_back(row[0]);
  return result;
}

TEST(Split, InOrderTakesTheLastRows) {
  const Numbers numbers(10);
  ArrayRows rows = numbers.rows();
  SplitRows train(rows, {0.25, true, 0}, SplitRows::Part::train);
  SplitRows test(rows, {0.25, true, 0}, SplitRows::Part::test);
  EXPECT_EQ(first_column(read_pass(train, 3)), (std::vector<double>{0, 1, 2, 3, 4, 5, 6}));
  const Table table = read_pass(test, 2);
  expect_same(table.inputs, {{7}, {8}, {9}});
  expect_same(table.targets, {{14, 21}, {16, 24}, {18, 27}});
  EXPECT_EQ(table.weights, (std::vector<double>{7.5, 8.5, 9.5}));
}

TEST(Split, RowsKeepThePlacesTheyCameFrom) {
  const Numbers numbers(50);
  ArrayRows rows = numbers.rows();
  for (const bool in_order : {true, false}) {
    const Split split{0.3, in_order, 5};
    for (const auto part : {SplitRows::Part::train, SplitRows::Part::test}) {
      SplitRows chosen(rows, split, part);
      const auto numbered = first_column(read_pass(chosen, 1000));
      for (std::size_t i = 0; i < numbered.size(); ++i) {
        const auto row = static_cast<Index>(numbered[i]);
        EXPECT_EQ(chosen.place_of(static_cast<Index>(i)), "row " + std::to_string(row));
      }
      EXPECT_EQ(chosen.name_of(RowPart::target, 1), "target 1");
    }
  }
}

TEST(Split, RandomPartsAreExactDisjointAndTogetherAll) {
  for (const Index n : {2, 3, 10, 5000}) {
    const Numbers numbers(n);
    ArrayRows rows = numbers.rows();
    for (const std::uint64_t seed : {0U, 1U, 77U}) {
      const Split split{0.3, false, seed};
      SplitRows train(rows, split, SplitRows::Part::train);
      SplitRows test(rows, split, SplitRows::Part::test);
      const auto a = first_column(read_pass(train, 7));
      const auto b = first_column(read_pass(test, 1024));
      EXPECT_EQ(static_cast<Index>(b.size()), std::clamp<Index>(std::llround(0.3 * static_cast<double>(n)), 1, n - 1));
      EXPECT_TRUE(std::is_sorted(a.begin(), a.end()));
      std::set<double> both(a.begin(), a.end());
      both.insert(b.begin(), b.end());
      EXPECT_EQ(static_cast<Index>(both.size()), n);
      EXPECT_EQ(static_cast<Index>(a.size() + b.size()), n);
      EXPECT_EQ(first_column(read_pass(test, 3)), b);
    }
  }
}

/// Under a fair choice the number of test rows among the first half is hypergeometric: n = 10000, 5000 drawn, mean 2500,
/// standard deviation 25. Beyond 6 of them (150) with probability below 2e-9.
TEST(Split, RandomChoiceIsSpreadOverTheRows) {
  const Numbers numbers(10000);
  ArrayRows rows = numbers.rows();
  SplitRows one(rows, {0.5, false, 1}, SplitRows::Part::test);
  const auto a = first_column(read_pass(one, 1024));
  EXPECT_NEAR(static_cast<double>(std::count_if(a.begin(), a.end(), [](double x) { return x < 5000; })), 2500, 150);
  SplitRows two(rows, {0.5, false, 2}, SplitRows::Part::test);
  EXPECT_NE(first_column(read_pass(two, 1024)), a);
}

TEST(Split, RefusesWhatCannotBeDone) {
  const Numbers numbers(10);
  ArrayRows rows = numbers.rows();
  for (const double fraction : {0.0, 1.0, -1.0, std::nan("")}) {
    EXPECT_CONTAINS(error_of([&] { SplitRows(rows, {fraction, false, 0}, SplitRows::Part::test); }), "between 0 and 1");
  }
  const Numbers single(1);
  ArrayRows one = single.rows();
  EXPECT_CONTAINS(error_of([&] { SplitRows(one, {}, SplitRows::Part::test); }), "at least two rows");

  const Numbers many(5000);
  ArrayRows shared = many.rows();
  SplitRows train(shared, {}, SplitRows::Part::train);
  RowBlock block;
  ASSERT_TRUE(train.next(10, block));
  shared.rewind();
  EXPECT_CONTAINS(error_of([&] {
                    while (train.next(1000, block)) {
                    }
                  }),
                  "read elsewhere");
}

}  // namespace
}  // namespace mercer
