#include "model/scaling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/recipe.hpp"
#include "model/simplex.hpp"
#include "unit/solve/data.hpp"

namespace mercer {
namespace {

using namespace samples;

TEST(Simplex, CodesAreTheVerticesOfARegularSimplex) {
  for (const Index classes : {2, 3, 4, 7, 26}) {
    const Dense codes = dense(simplex_codes(classes));
    const Dense inner = codes * codes.transpose();
    const double other = -1.0 / static_cast<double>(classes - 1);
    for (Index i = 0; i < classes; ++i) {
      for (Index j = 0; j < classes; ++j) EXPECT_NEAR(inner(i, j), i == j ? 1.0 : other, 1e-13);
    }
    EXPECT_LT(codes.colwise().sum().norm(), 1e-12) << "they are balanced around 0";
  }
  EXPECT_THROW(simplex_codes(1), Error);
}

TEST(Simplex, ScoresAreLargestForTheOwnCode) {
  const Matrix<double> codes = simplex_codes(5);
  for (Index k = 0; k < 5; ++k) {
    std::vector<double> scores(5);
    simplex_scores(codes, codes.row(k), scores);
    EXPECT_EQ(std::ranges::max_element(scores) - scores.begin(), k);
  }
}

TEST(Scaling, MomentsAreWeightedMeansAndVariances) {
  Data s = data(5000, 3, 2);  // more than one block
  s.weights = counts(5000);
  for (Index i = 0; i < 5000; ++i) s.x(i, 1) = 1e6 + 1e-3 * s.x(i, 1);  // a small spread at a large offset
  ArrayRows rows = s.rows();
  const RowSummary summary = summarize(rows, nullptr);
  EXPECT_EQ(summary.rows, 5000);
  EXPECT_DOUBLE_EQ(summary.weight, s.total());
  const auto expect = [&](const Matrix<double>& values, const std::vector<double>& mean,
                          const std::vector<double>& variance) {
    for (Index j = 0; j < values.cols(); ++j) {
      long double sum = 0;
      for (Index i = 0; i < 5000; ++i)
        sum += static_cast<long double>(s.weights[static_cast<std::size_t>(i)]) * values(i, j);
      const long double average = sum / s.total();
      long double square = 0;
      for (Index i = 0; i < 5000; ++i) {
        square += s.weights[static_cast<std::size_t>(i)] * (values(i, j) - average) * (values(i, j) - average);
      }
      EXPECT_NEAR(mean[static_cast<std::size_t>(j)], static_cast<double>(average),
                  1e-14 * (1 + std::abs(static_cast<double>(average))));
      EXPECT_NEAR(variance[static_cast<std::size_t>(j)] / static_cast<double>(square / s.total()), 1, 1e-6);
    }
  };
  expect(s.x, summary.input_mean, summary.input_variance);
  expect(s.y, summary.target_mean, summary.target_variance);
}

/// What `summarize` says of rows that it refuses.
std::string refusal(Data s) {
  ArrayRows rows = s.rows();
  try {
    summarize(rows, nullptr);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Scaling, RefusesWhatCannotBeSquared) {
  const Data good = data(600, 2, 1);
  EXPECT_EQ(refusal(good), "");
  for (const double size : {1e160, -1e308}) {
    Data s = good;
    s.x(317, 1) = size;
    EXPECT_NE(refusal(s).find("input 1 in row 317 has size 1e+"), std::string::npos) << refusal(s);
    s.x(20, 1) = -size;  // deviations from the mean overflow before their squares do
    EXPECT_NE(refusal(s).find("too large to be squared"), std::string::npos) << refusal(s);
    s = good;
    s.y(599, 0) = size;
    EXPECT_NE(refusal(s).find("target 0 in row 599"), std::string::npos) << refusal(s);
    s.y(0, 0) = size;  // one after the other: not even their difference is a number
    s.y(1, 0) = -size;
    EXPECT_NE(refusal(s).find("too large to be squared"), std::string::npos) << refusal(s);
    s.weights.assign(600, 1.0);  // rows without weight play no part
    s.weights[0] = s.weights[1] = s.weights[599] = 0;
    EXPECT_EQ(refusal(s), "");
  }
  Data apart = good;  // the squares cannot be summed, and need not
  for (Index i = 0; i < 600; ++i) apart.y(i, 0) = (i % 2 == 0 ? 1 : -1) * 1.2e154;
  apart.weights.assign(600, 1e300);
  EXPECT_EQ(refusal(apart), "");
  const auto times = [&](double factor) {
    Data s = good;
    for (double& y : s.y.values()) y *= factor;
    return refusal(s);
  };
  EXPECT_EQ(times(1e150), "");
  EXPECT_EQ(times(1e-150), "");
  EXPECT_NE(times(1e-165).find("the values of target 0 differ by"), std::string::npos) << times(1e-165);
  EXPECT_EQ(times(0), "") << "constant targets have nothing to be squared";
  Data far = good;  // large, but near each other
  for (Index i = 0; i < 600; ++i) far.x(i, 0) = 1e155 * (1 + 1e-6 * far.x(i, 0));
  EXPECT_EQ(refusal(far), "");
  Data tiny = good;
  for (Index i = 0; i < 600; ++i) tiny.x(i, 0) *= 1e-170;
  EXPECT_EQ(refusal(tiny), "") << "inputs that hardly vary are constant";
}

TEST(Scaling, RefusesARowThatOutweighsAllOthers) {
  Data s = data(600, 2, 1);
  s.weights.assign(600, 1.0);
  s.weights[5] = 1e10;
  EXPECT_EQ(refusal(s), "") << "most of the weight is not all of it";
  s.weights[5] = 1e308;
  EXPECT_NE(refusal(s).find("the weight in row 5 is 1e+308, beside which the 599 other rows"), std::string::npos)
      << refusal(s);
  s.weights.assign(600, 0.0);
  s.weights[5] = 1e308;
  EXPECT_EQ(refusal(s), "") << "a row alone";
  s.weights.assign(600, 1e308);
  EXPECT_NE(refusal(s).find("the weights add up to more"), std::string::npos) << refusal(s);
}

TEST(Scaling, StandardizesEachAxisOrAllAlike) {
  Data s = data(500, 2, 2);
  for (Index i = 0; i < 500; ++i) {
    s.x(i, 0) = 1e6 + 3 * s.x(i, 0);
    s.y(i, 1) *= 1e-5;
  }
  ArrayRows rows = s.rows();
  const RowSummary summary = summarize(rows, nullptr);
  const Scaling own = standardizing(summary, false, true);
  const TargetCoding none;
  ScaledRows scaled(rows, own, none);
  scaled.rewind();
  const RowSummary after = summarize(scaled, nullptr);
  for (Index j = 0; j < 2; ++j) {
    const auto k = static_cast<std::size_t>(j);
    EXPECT_NEAR(after.input_mean[k], 0, 1e-9);
    EXPECT_NEAR(after.input_variance[k], 1, 1e-9);
    EXPECT_NEAR(after.target_mean[k], 0, 1e-9);
    EXPECT_NEAR(after.target_variance[k], 1, 1e-9);
  }
  const Scaling shared = standardizing(summary, true, true);
  EXPECT_EQ(shared.input_scale[0], shared.input_scale[1]);
  EXPECT_EQ(shared.target_scale[0], shared.target_scale[1]);
  EXPECT_NEAR(shared.input_scale[0], std::sqrt((summary.input_variance[0] + summary.input_variance[1]) / 2), 1e-12);
  EXPECT_TRUE(standardizing(summary, false, false).target_shift.empty()) << "classes are not scaled";
}

TEST(Scaling, ConstantColumnsKeepTheirUnit) {
  Data s = data(100, 2, 2);
  for (Index i = 0; i < 100; ++i) {
    s.x(i, 0) = 0.1;
    s.y(i, 1) = 1e6 + 0.3;
  }
  s.weights = counts(100);
  ArrayRows rows = s.rows();
  const Scaling own = standardizing(summarize(rows, nullptr), false, true);
  EXPECT_EQ(own.input_scale[0], 1);
  EXPECT_EQ(own.target_scale[1], 1);
  EXPECT_NE(own.input_scale[1], 1);
}

TEST(Scaling, RefusesWhatIsNotFiniteNamingTheRow) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Data s = data(20, 2, 1);
    s.x(13, 1) = bad;
    ArrayRows rows = s.rows();
    try {
      summarize(rows, nullptr);
      ADD_FAILURE() << "not refused";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("row 13"), std::string::npos) << e.what();
    }
    const Scaling identity = Scaling::identity(2, 1);
    const TargetCoding none;
    ScaledRows scaled(rows, identity, none);
    scaled.rewind();
    RowBlock block;
    EXPECT_THROW(scaled.next(100, block), Error) << "shards are not summarised first";
  }
  Data many = data(3000, 2, 1);
  for (const Index row : {2990, 700, 1500}) many.x(row, 0) = std::numeric_limits<double>::infinity();
  ArrayRows many_rows = many.rows();
  const Scaling identity = Scaling::identity(2, 1);
  const TargetCoding none;
  ScaledRows scaled(many_rows, identity, none);
  scaled.rewind();
  RowBlock block;
  try {
    scaled.next(3000, block);
    ADD_FAILURE() << "not refused";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("row 700"), std::string::npos) << "the first of them: " << e.what();
  }
  for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    Data s = data(20, 2, 1);
    s.weights.assign(20, 1.0);
    s.weights[3] = bad;
    ArrayRows rows = s.rows();
    EXPECT_THROW(summarize(rows, nullptr), Error);
  }
}

/// Counts what is read of some rows, and may keep how many there are to itself.
class CountedRows : public RowSource {
 public:
  CountedRows(ArrayRows rows, bool tells) : rows_(std::move(rows)), tells_(tells) {}
  Index input_count() const override { return rows_.input_count(); }
  Index target_count() const override { return rows_.target_count(); }
  Index row_count() const override { return tells_ ? rows_.row_count() : -1; }
  bool next(Index max_rows, RowBlock& block) override {
    const bool any = rows_.next(max_rows, block);
    if (any) read += block.rows();
    return any;
  }
  void rewind() override { rows_.rewind(); }
  Index read = 0;

 private:
  ArrayRows rows_;
  bool tells_;
};

TEST(ScaledRows, SmallTablesAreReadOnce) {
  Data s = data(1000, 3, 2);
  s.weights.resize(1000);
  for (Index i = 0; i < 1000; ++i) s.weights[static_cast<std::size_t>(i)] = 1 + static_cast<double>(i % 7);
  const TargetCoding none;
  for (const bool weighted : {false, true}) {
    for (const bool tells : {true, false}) {
      ArrayRows plain(s.x, s.y, weighted ? std::span<const double>(s.weights) : std::span<const double>());
      const Scaling scaling = standardizing(summarize(plain, nullptr), false, true);
      plain.rewind();
      CountedRows rows(plain, tells);
      constexpr Index enough = 1000 * 6 * 8;  // with a number for the weight of each row
      ScaledRows scaled(rows, scaling, none, tells ? enough : Index{1} << 40);
      RowBlock block;
      ASSERT_TRUE(scaled.next(300, block));  // a look at some of them, as plans take
      scaled.rewind();
      for (const Index at_once : {400, 1000, 7, 999}) {
        scaled.rewind();
        Index seen = 0;
        while (scaled.next(at_once, block)) {
          EXPECT_EQ(block.first_row, seen);
          ASSERT_EQ(block.rows(), std::min<Index>(at_once, 1000 - seen));
          ASSERT_EQ(std::ssize(block.weights), weighted ? block.rows() : 0);
          for (Index i = 0; i < block.rows(); ++i) {
            for (Index k = 0; k < 3; ++k) {
              const auto c = static_cast<std::size_t>(k);
              EXPECT_EQ(block.inputs(i, k), (s.x(seen + i, k) - scaling.input_shift[c]) / scaling.input_scale[c]);
            }
            EXPECT_EQ(block.targets(i, 1), (s.y(seen + i, 1) - scaling.target_shift[1]) / scaling.target_scale[1]);
            if (!weighted) continue;
            EXPECT_EQ(block.weights[static_cast<std::size_t>(i)], s.weights[static_cast<std::size_t>(seen + i)]);
          }
          seen += block.rows();
        }
        EXPECT_EQ(seen, 1000);
      }
      EXPECT_EQ(rows.read, tells ? 1300 : 4300) << "a look, and one pass or four";
    }
  }
}

TEST(ScaledRows, LargeTablesAreReadEveryTime) {
  const Data s = data(1000, 3, 2);
  const TargetCoding none;
  CountedRows rows(ArrayRows(s.x, s.y), true);
  const Scaling scaling = Scaling::identity(3, 2);
  ScaledRows scaled(rows, scaling, none, 1000 * 6 * 8 - 1);
  RowBlock block;
  for (int pass = 0; pass < 3; ++pass) {
    scaled.rewind();
    while (scaled.next(256, block)) EXPECT_EQ(block.inputs(0, 0), s.x(block.first_row, 0));
  }
  EXPECT_EQ(rows.read, 3000);
}

TEST(ScaledRows, CodesAreKeptAsWellAndARefusalIsNoPass) {
  Matrix<double> x(600, 1);
  Matrix<double> y(600, 1);
  for (Index i = 0; i < 600; ++i) y(i, 0) = static_cast<double>(i % 3);
  y(500, 0) = 7;  // no class
  TargetCoding coding;
  coding.codes = Matrix<double>(3, 2, {1, 0, 0, 1, -1, -1});
  const Scaling plain = Scaling::identity(1, 0);
  CountedRows rows(ArrayRows(x, y), true);
  ScaledRows scaled(rows, plain, coding, Index{1} << 30);
  RowBlock block;
  const auto pass = [&] {
    scaled.rewind();
    while (scaled.next(400, block)) {
      for (Index i = 0; i < block.rows(); ++i)
        EXPECT_TRUE(std::ranges::equal(block.targets.row(i), coding.codes.row((block.first_row + i) % 3)));
    }
  };
  EXPECT_THROW(pass(), Error);
  y(500, 0) = 500 % 3;
  for (int k = 0; k < 3; ++k) pass();
  EXPECT_EQ(rows.read, 1200) << "a pass that was refused, and one for all others";
}

TEST(ScaledRows, GiveScaledBlocksAndCodes) {
  const Data s = data(70, 2, 2);
  ArrayRows rows = s.rows();
  const Scaling scaling{{1, -2}, {2, 0.5}, {3, 0}, {4, 0.1}};
  const TargetCoding none;
  ScaledRows scaled(rows, scaling, none);
  RowBlock block;
  for (int pass = 0; pass < 2; ++pass) {
    scaled.rewind();
    Index seen = 0;
    while (scaled.next(32, block)) {
      EXPECT_EQ(block.first_row, seen);
      for (Index i = 0; i < block.rows(); ++i, ++seen) {
        for (Index k = 0; k < 2; ++k) {
          const auto j = static_cast<std::size_t>(k);
          EXPECT_DOUBLE_EQ(block.inputs(i, k), (s.x(seen, k) - scaling.input_shift[j]) / scaling.input_scale[j]);
          EXPECT_DOUBLE_EQ(block.targets(i, k), (s.y(seen, k) - scaling.target_shift[j]) / scaling.target_scale[j]);
        }
      }
    }
    EXPECT_EQ(seen, 70);
  }
  const Matrix<double> codes = simplex_codes(3);
  Matrix<double> labels(4, 1, {2, 0, 1, 2});
  const Scaling plain = Scaling::identity(2, 0);
  ArrayRows labelled(s.x.view().row_range(0, 4), labels);
  const TargetCoding coding = target_coding("square", 3, 0);
  ScaledRows coded(labelled, plain, coding);
  EXPECT_EQ(coded.target_count(), 2);
  coded.rewind();
  ASSERT_TRUE(coded.next(10, block));
  for (Index i = 0; i < 4; ++i) {
    for (Index a = 0; a < 2; ++a) EXPECT_EQ(block.targets(i, a), codes(static_cast<Index>(labels(i, 0)), a));
  }
  for (const double bad : {3.0, -1.0, 0.5, std::numeric_limits<double>::quiet_NaN()}) {
    labels(1, 0) = bad;
    coded.rewind();
    EXPECT_THROW(coded.next(10, block), Error) << bad;
  }
  const Scaling wide = Scaling::identity(3, 2);
  EXPECT_THROW(ScaledRows(rows, wide, none), Error);
  const Scaling deep = Scaling::identity(2, 1);
  EXPECT_THROW(ScaledRows(rows, deep, none), Error);
}

double naive_median(const Data& s) {
  std::vector<double> distances;
  for (Index i = 0; i < s.x.rows(); ++i) {
    for (Index j = 0; j < i; ++j) distances.push_back((dense(s.x).row(i) - dense(s.x).row(j)).norm());
  }
  std::ranges::sort(distances);
  return distances[(distances.size() - 1) / 2];
}

TEST(MedianDistance, IsTheMedianOverPairs) {
  Data s = data(30, 3, 1);
  const auto median = [](const Data& d) {
    ArrayRows rows = d.rows();
    return median_distance(summarize(rows, nullptr), Scaling::identity(d.x.cols(), 1));
  };
  EXPECT_NEAR(median(s), naive_median(s), 1e-12);
  s.weights = counts(30);
  EXPECT_NEAR(median(s), naive_median(repeated(s)), 1e-12) << "weights are repetitions";
  const auto times = [&](double factor) {
    Data scaled = s;
    for (double& w : scaled.weights) w *= factor;
    return median(scaled);
  };
  EXPECT_EQ(times(1e200), times(1e9)) << "squares of weights may overflow";
  EXPECT_EQ(times(1e-200), times(1e-9));
  for (Index i = 0; i < 30; ++i) std::ranges::fill(s.x.row(i), 2.0);
  EXPECT_EQ(median(s), 1) << "all rows coincide";
  Data mostly = data(30, 2, 1);
  for (Index i = 3; i < 30; ++i) std::ranges::fill(mostly.x.row(i), 0.0);
  EXPECT_GT(median(mostly), 0) << "most pairs coincide";
}

TEST(MedianDistance, SamplesLargeSetsEvenly) {
  Data s = data(3500, 1, 1);
  for (Index i = 0; i < 3500; ++i) s.x(i, 0) = static_cast<double>(i) / 3500;
  ArrayRows rows = s.rows();
  const RowSummary summary = summarize(rows, nullptr);
  EXPECT_EQ(summary.sample.rows(), 1000);
  EXPECT_EQ(summary.sample_weight.size(), 1000U);
  // |U - V| for uniforms has median 1 - 1/√2.
  EXPECT_NEAR(median_distance(summary, Scaling::identity(1, 1)), 1 - std::sqrt(0.5), 2e-3);
}

TEST(Prepare, SettlesScalingKernelAndMap) {
  Data s = data(200, 2, 2);
  ArrayRows rows = s.rows();
  FitOptions options;
  options.map = "fourier:50,qmc";
  options.seed = 9;
  const Recipe r = prepare(rows, options);
  EXPECT_EQ(r.inputs(), 2);
  EXPECT_EQ(r.outputs(), 2);
  EXPECT_EQ(r.fourier.frequencies, 50);
  EXPECT_EQ(r.fourier.sampling, Sampling::quasi);
  EXPECT_EQ(r.fourier.seed, 9U);
  EXPECT_EQ(r.map_text(), "fourier:50,qmc");
  EXPECT_EQ(to_string(r.kernel).find("median"), std::string::npos);
  EXPECT_NEAR(r.target_mean[1], dense(s.y).col(1).mean(), 1e-12);
  options.kernel = "curl_free(gaussian(median))";
  const Recipe field = prepare(rows, options);
  EXPECT_EQ(field.scaling.input_scale[0], field.scaling.input_scale[1]);
  options.standardize = false;
  EXPECT_EQ(prepare(rows, options).scaling.input_scale[0], 1);
}

// The covariance is that of the targets as scaled, also at an offset that would swallow it if squares were summed.
TEST(Prepare, CovarianceSurvivesAnOffset) {
  Data s = data(300, 2, 2);
  s.weights = counts(300);
  for (Index i = 0; i < 300; ++i) s.y(i, 0) += 1e7;
  ArrayRows rows = s.rows();
  FitOptions options;
  options.kernel = "decomposable(gaussian(1), covariance)";
  options.standardize = false;
  const Recipe r = prepare(rows, options);
  const auto& given = std::get<GivenOutputs>(std::get<Decomposable>(r.kernel.terms[0].form).outputs).matrix;
  Dense y = dense(s.y);
  const Vector w = ::Eigen::Map<const Vector>(s.weights.data(), 300) / s.total();
  const Vector mean = y.transpose() * w;
  y.rowwise() -= mean.transpose();
  const Dense covariance = y.transpose() * w.asDiagonal() * y;
  for (Index a = 0; a < 2; ++a) {
    for (Index b = 0; b < 2; ++b) {
      EXPECT_NEAR(given[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)], covariance(a, b), 1e-7);
    }
  }
}

TEST(Prepare, MapsPrintAsTheyAreRead) {
  const std::vector<std::pair<std::string, std::string>> texts = {{"exact", "exact"},
                                                                  {"fourier", "fourier:1000"},
                                                                  {"fourier:7,qmc", "fourier:7,qmc"},
                                                                  {"p-sr:50", "p-sr:50,p=20/n"},
                                                                  {"p-sr:50,p=3.5/n", "p-sr:50,p=3.5/n"},
                                                                  {"p-sg:50,p=0.01", "p-sg:50,p=0.01"},
                                                                  {"p-sg", "p-sg:200,p=20/n"},
                                                                  {"nystrom:7", "nystrom:7"},
                                                                  {"nystrom:7,uniform", "nystrom:7"},
                                                                  {"nystrom:7,leverage", "nystrom:7,leverage"},
                                                                  {"nystrom:7,rpcholesky", "nystrom:7,rpcholesky"},
                                                                  {"accumulation:9", "accumulation:9,m=20"},
                                                                  {"accumulation:9,m=4", "accumulation:9,m=4"},
                                                                  {"gaussian-sketch:5", "gaussian-sketch:5"},
                                                                  {"countsketch:5", "countsketch:5"},
                                                                  {"srht:5", "srht:5"}};
  for (const auto& [text, printed] : texts) {
    Recipe recipe;
    parse_map(text, recipe);
    EXPECT_EQ(recipe.map_text(), printed);
    Recipe again;
    parse_map(printed, again);
    EXPECT_EQ(again.map, recipe.map);
    EXPECT_EQ(again.sketch, recipe.sketch) << text;
  }
}

TEST(Prepare, RefusesMapsThatMeanNothing) {
  for (const char* text : {"fourrier:10", "fourier:0", "fourier:1.5", "fourier:10,sobol", "fourier:10,mc,mc",
                           "fourier:99999999", "", "fourier:", "exact:3", "fourier:nan"}) {
    Recipe recipe;
    EXPECT_THROW(parse_map(text, recipe), Error) << text;
  }
  for (const char* text : {"p-sr:0",
                           "p-sr:-3",
                           "p-sr:1.5",
                           "p-sr:",
                           "p-sr:999999",
                           "p-sr:10,p=2",
                           "p-sr:10,p=0",
                           "p-sr:10,p=-0.1",
                           "p-sr:10,p=abc",
                           "p-sr:10,p=/n",
                           "p-sr:10,p=inf",
                           "p-sr:10,p=nan",
                           "p-sr:10,0.1",
                           "p-sr:10,m=3",
                           "p-sr:10,p=0.1,p=0.2",
                           "nystrom:10,leverag",
                           "nystrom:10,p=0.1",
                           "accumulation:10,m=0",
                           "accumulation:10,m=x",
                           "accumulation:10,p=0.1",
                           "gaussian-sketch:10,p=1",
                           "gaussian:10",
                           "srht:10,",
                           "countsketch:ten",
                           "psr:10",
                           "exact,3"}) {
    Recipe recipe;
    EXPECT_THROW(parse_map(text, recipe), Error) << text;
  }
  EXPECT_THROW(parse_precision("float16"), Error);
  EXPECT_THROW(parse_uncertainty("yes"), Error);
}

}  // namespace
}  // namespace mercer
