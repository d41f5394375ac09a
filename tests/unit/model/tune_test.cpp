// The search against fits made one by one through the public interface, and its results file.
#include "model/tune.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/progress.hpp"
#include "unit/model/model_kinds.hpp"
#include "unit/solve/data.hpp"

namespace mercer {
namespace {

using namespace samples;

Data subset(const Data& s, const Folds& folds, Index fold, bool inside) {
  std::vector<Index> rows;
  for (Index i = 0; i < s.x.rows(); ++i) {
    if ((folds.of_row[static_cast<std::size_t>(i)] == fold) == inside) rows.push_back(i);
  }
  Data part;
  part.x = Matrix<double>(static_cast<Index>(rows.size()), s.x.cols());
  part.y = Matrix<double>(static_cast<Index>(rows.size()), s.y.cols());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    std::ranges::copy(s.x.row(rows[k]), part.x.row(static_cast<Index>(k)).begin());
    std::ranges::copy(s.y.row(rows[k]), part.y.row(static_cast<Index>(k)).begin());
    if (!s.weights.empty()) part.weights.push_back(s.weights[static_cast<std::size_t>(rows[k])]);
  }
  return part;
}

/// Mean over folds of `metric` (validation rows, predictions, training rows), by whole fits.
template <class MetricOf>
double by_hand(const Data& s, const FitOptions& options, const FoldPlan& plan, const MetricOf& metric) {
  const Folds folds = make_folds(s.x.rows(), plan);
  double sum = 0;
  for (Index fold = 0; fold < folds.count; ++fold) {
    const Data train = subset(s, folds, fold, false);
    const Data test = subset(s, folds, fold, true);
    ArrayRows rows = train.rows();
    const Model model = fit(rows, options);
    Matrix<double> prediction(test.x.rows(), model.outputs());
    model.predict(test.x, prediction);
    sum += metric(test, prediction, train) / static_cast<double>(folds.count);
  }
  return sum;
}

double rmse(const Data& test, const Matrix<double>& f, const Data&) {
  double sum = 0;
  double weight = 0;
  for (Index i = 0; i < f.rows(); ++i) {
    const double w = test.all_weights()[static_cast<std::size_t>(i)];
    sum += w * std::pow(f(i, 0) - test.y(i, 0), 2);
    weight += w;
  }
  return std::sqrt(sum / weight);
}

FitOptions base() {
  FitOptions options;
  options.map = "fourier:30";
  options.kernel = "gaussian(1.5)";
  options.seed = 2;
  return options;
}

void expect_same(const TuneResult& result, const Data& s, const FitOptions& options, const TuneOptions& search,
                 double tolerance, const auto& metric) {
  double best = INFINITY;
  std::size_t chosen = 0;
  for (std::size_t k = 0; k < result.rows.size(); ++k) {
    const double expected = by_hand(s, tuned(options, result.rows[k]), search.folds, metric);
    EXPECT_NEAR(result.rows[k].score, expected, tolerance * std::abs(expected))
        << result.rows[k].kernel << " " << result.rows[k].map << " " << result.rows[k].loss << " " << result.rows[k].penalty;
    if (expected < best) {
      best = expected;
      chosen = k;
    }
  }
  EXPECT_EQ(result.best, chosen);
}

TEST(Tune, GridAgainstFitsOneByOne) {
  Data s = data(90, 2, 1);
  s.weights = counts(90);
  TuneOptions search;
  search.length_factors = {0.2, 1, 3};
  search.sizes = {10, 40};
  search.penalties = {1e-6, 1e-3, 1};
  search.folds.folds = 3;
  for (const char* solver : {"auto", "cholesky", "cg"}) {
    FitOptions options = base();
    options.solver = solver;
    ArrayRows rows = s.rows();
    const TuneResult result = tune(rows, options, search);
    ASSERT_EQ(result.rows.size(), 18u);
    EXPECT_EQ(result.metric, "rmse");
    EXPECT_EQ(result.computed, 6);
    expect_same(result, s, options, search, 1e-6, rmse);
  }
}

TEST(Tune, BlockedFoldsAndHeldOutParts) {
  const Data s = data(60, 1, 1);
  TuneOptions search;
  search.penalties = {1e-5, 1e-2};
  search.folds.in_order = true;
  ArrayRows rows = s.rows();
  expect_same(tune(rows, base(), search), s, base(), search, 1e-6, rmse);
  search.folds.holdout = 0.25;
  const TuneResult held = tune(rows, base(), search);
  expect_same(held, s, base(), search, 1e-6, rmse);
  EXPECT_TRUE(std::isnan(held.rows.front().spread));
}

TEST(Tune, ExactModelsAndSketches) {
  const Data s = data(50, 2, 1);
  TuneOptions search;
  search.penalties = {1e-4, 1e-2};
  search.folds.folds = 2;
  for (const char* map : {"exact", "nystrom:15"}) {
    FitOptions options = base();
    options.map = map;
    ArrayRows rows = s.rows();
    expect_same(tune(rows, options, search), s, options, search, 1e-5, rmse);
  }
}

TEST(Tune, SeveralOutputsByRelativeError) {
  const Data s = data(60, 2, 2);
  TuneOptions search;
  search.penalties = {1e-4, 1e-1};
  search.folds.folds = 2;
  ArrayRows rows = s.rows();
  const TuneResult result = tune(rows, base(), search);
  EXPECT_EQ(result.metric, "arrmse");
  expect_same(result, s, base(), search, 1e-6, [](const Data& test, const Matrix<double>& f, const Data& train) {
    double sum = 0;
    for (Index a = 0; a < 2; ++a) {
      double mean = 0;
      for (Index i = 0; i < train.y.rows(); ++i) mean += train.y(i, a) / static_cast<double>(train.y.rows());
      double error = 0;
      double from_mean = 0;
      for (Index i = 0; i < f.rows(); ++i) {
        error += std::pow(f(i, a) - test.y(i, a), 2);
        from_mean += std::pow(mean - test.y(i, a), 2);
      }
      sum += std::sqrt(error / from_mean) / 2;
    }
    return sum;
  });
}

TEST(Tune, LossParametersShareOneSolver) {
  const Data s = data(60, 1, 1, 0.3);
  FitOptions options = base();
  options.loss = "huber:1";
  TuneOptions search;
  search.length_factors = {1};
  search.loss_parameters = {0.1, 1};
  search.penalties = {1e-3, 1e-2};
  search.folds.folds = 2;
  ArrayRows rows = s.rows();
  const TuneResult result = tune(rows, options, search);
  ASSERT_EQ(result.rows.size(), 4u);
  EXPECT_EQ(result.metric, "mae");
  EXPECT_EQ(result.rows.front().loss, "huber:0.1");
  for (const TuneRow& row : result.rows) {
    const double expected =
        by_hand(s, tuned(options, row), search.folds, [](const Data& test, const Matrix<double>& f, const Data&) {
          double sum = 0;
          for (Index i = 0; i < f.rows(); ++i) sum += std::abs(f(i, 0) - test.y(i, 0)) / static_cast<double>(f.rows());
          return sum;
        });
    // The objective is within the coarse gap of 1 % of its optimum; the mean error follows to some of that.
    EXPECT_NEAR(row.score, expected, 0.03 * expected) << row.loss << " " << row.penalty;
  }
}

TEST(Tune, QuantilesByPinballLoss) {
  const Data s = data(80, 1, 1, 0.5);
  FitOptions options = base();
  options.quantiles = {0.2, 0.8};
  TuneOptions search;
  search.length_factors = {1};
  search.penalties = {1e-3, 1};
  search.folds.folds = 2;
  ArrayRows rows = s.rows();
  const TuneResult result = tune(rows, options, search);
  EXPECT_EQ(result.metric, "pinball");
  EXPECT_EQ(result.rows.front().loss, "pinball");
  for (const TuneRow& row : result.rows) {
    const double expected =
        by_hand(s, tuned(options, row), search.folds, [](const Data& test, const Matrix<double>& f, const Data&) {
          double sum = 0;
          for (Index i = 0; i < f.rows(); ++i) {
            for (Index a = 0; a < 2; ++a) {
              const double u = test.y(i, 0) - f(i, a);
              sum += u * ((a == 0 ? 0.2 : 0.8) - (u < 0 ? 1.0 : 0.0)) / static_cast<double>(2 * f.rows());
            }
          }
          return sum;
        });
    EXPECT_NEAR(row.score, expected, 0.03 * expected) << row.penalty;
  }
}

TEST(Tune, ClassesByAccuracy) {
  Data s = data(90, 2, 1);
  for (Index i = 0; i < 90; ++i) s.y(i, 0) = s.x(i, 0) > 0.5 ? 2.0 : (s.x(i, 1) > 0 ? 1.0 : 0.0);
  FitOptions options = base();
  options.classes = {"a", "b", "c"};
  TuneOptions search;
  search.penalties = {1e-4, 1e-1};
  search.folds.folds = 3;
  ArrayRows rows = s.rows();
  const TuneResult result = tune(rows, options, search);
  EXPECT_EQ(result.metric, "accuracy");
  for (const TuneRow& row : result.rows) {
    const double expected =
        by_hand(s, tuned(options, row), search.folds, [](const Data& test, const Matrix<double>& f, const Data&) {
          double right = 0;
          for (Index i = 0; i < f.rows(); ++i) {
            const auto best = std::ranges::max_element(f.row(i)) - f.row(i).begin();
            right += best == static_cast<Index>(test.y(i, 0)) ? 1.0 : 0.0;
          }
          return right / static_cast<double>(f.rows());
        });
    EXPECT_NEAR(row.score, expected, 1e-12);
    EXPECT_LE(row.score, result.rows[result.best].score);
  }
}

TEST(Tune, DefaultsFindTheWidthOfAKnownFunction) {
  // A draw of a narrow kernel: sin(6x). Half the median scale is the best of the three.
  Data s = data(200, 1, 1);
  for (Index i = 0; i < 200; ++i) s.y(i, 0) = std::sin(6 * s.x(i, 0));
  FitOptions options;
  options.map = "fourier:60";
  ArrayRows rows = s.rows();
  const TuneResult result = tune(rows, options, {});
  EXPECT_EQ(result.rows.size(), 3u * 23u);
  EXPECT_EQ(result.rows[result.best].kernel, result.rows.front().kernel);
}

TEST(Tune, DefaultPenaltiesOfOtherLosses) {
  const Data s = data(60, 1, 1);
  FitOptions options = base();
  options.loss = "huber:1";
  TuneOptions search;
  search.length_factors = {1};
  search.folds.folds = 2;
  ArrayRows rows = s.rows();
  const TuneResult result = tune(rows, options, search);
  ASSERT_EQ(result.rows.size(), 10u);
  for (std::size_t k = 0; k < 10; ++k) EXPECT_EQ(result.rows[k].penalty, std::pow(10.0, -static_cast<int>(k)));
}

TEST(Tune, RandomDrawsStayWithinTheEnds) {
  const Data s = data(60, 1, 1);
  TuneOptions search;
  search.length_factors = {0.1, 10};
  search.sizes = {5, 50};
  search.trials = 6;
  search.penalties = {1e-3};
  search.folds.folds = 2;
  FitOptions options = base();
  options.kernel = "gaussian(1)";
  ArrayRows rows = s.rows();
  const TuneResult result = tune(rows, options, search);
  ASSERT_EQ(result.rows.size(), 6u);
  std::set<std::string> kernels;
  for (const TuneRow& row : result.rows) {
    const auto kernel = parse_kernel(row.kernel);
    const auto& form = std::get<Decomposable>(kernel.terms.front().form);
    const double scale = std::get<Gaussian>(form.kernel.form).length_scale[0];
    EXPECT_GE(scale, 0.1);
    EXPECT_LE(scale, 10);
    const int size = std::stoi(row.map.substr(row.map.find(':') + 1));
    EXPECT_GE(size, 5);
    EXPECT_LE(size, 50);
    kernels.insert(row.kernel);
  }
  EXPECT_EQ(kernels.size(), 6u);
  const TuneResult again = tune(rows, options, search);
  EXPECT_EQ(again.rows[2].kernel, result.rows[2].kernel);
  EXPECT_EQ(again.rows[again.best].score, result.rows[result.best].score);
}

TEST(Tune, ResumesFromItsResults) {
  const Data s = data(60, 1, 1);
  const Scratch file("results.csv");
  TuneOptions search;
  search.penalties = {1e-4, 1e-2};
  search.results = file.path();
  ArrayRows rows = s.rows();
  const TuneResult first = tune(rows, base(), search);
  EXPECT_EQ(first.computed, 3);
  EXPECT_EQ(first.reused, 0);
  const TuneResult second = tune(rows, base(), search);
  EXPECT_EQ(second.computed, 0);
  EXPECT_EQ(second.reused, 3);
  ASSERT_EQ(second.rows.size(), first.rows.size());
  for (std::size_t k = 0; k < first.rows.size(); ++k) EXPECT_EQ(second.rows[k].score, first.rows[k].score);
  EXPECT_EQ(second.best, first.best);
  search.length_factors = {0.25, 0.5, 1, 2};
  const TuneResult wider = tune(rows, base(), search);
  EXPECT_EQ(wider.computed, 1);
  EXPECT_EQ(wider.reused, 3);
  // Scores of other rows or other folds are not comparable.
  search.folds.folds = 3;
  EXPECT_THROW(tune(rows, base(), search), Error);
  search.folds.folds = 5;
  const Data other = data(60, 1, 1, 0.1, 99);
  ArrayRows others = other.rows();
  EXPECT_THROW(tune(others, base(), search), Error);
  write_bytes(file.path(), {'h', 'i', '\n'});
  EXPECT_THROW(tune(rows, base(), search), Error);
}

/// Asks to stop in the middle of the second map.
class Impatient : public Progress {
 public:
  void update(std::string_view stage, double fraction) override {
    if (stage == "tuning" && fraction > 0.4) request_stop();
  }
};

TEST(Tune, GoesOnAfterAnInterruption) {
  const Data s = data(60, 1, 1);
  const Scratch file("results.csv");
  TuneOptions search;
  search.penalties = {1e-4, 1e-2};
  search.results = file.path();
  FitOptions options = base();
  Impatient impatient;
  options.progress = &impatient;
  ArrayRows rows = s.rows();
  EXPECT_THROW(tune(rows, options, search), Error);
  clear_stop();
  options.progress = nullptr;
  const TuneResult result = tune(rows, options, search);
  EXPECT_EQ(result.reused, 1);
  EXPECT_EQ(result.computed, 2);
  search.results.clear();
  const TuneResult whole = tune(rows, options, search);
  ASSERT_EQ(whole.rows.size(), result.rows.size());
  for (std::size_t k = 0; k < whole.rows.size(); ++k) EXPECT_EQ(whole.rows[k].score, result.rows[k].score);
}

TEST(Tune, WarnsOfRowsInTimeOrder) {
  Data s = data(300, 1, 1);
  for (Index i = 1; i < 300; ++i) s.y(i, 0) = 0.8 * s.y(i - 1, 0) + 0.2 * s.y(i, 0);
  TuneOptions search;
  search.length_factors = {1};
  search.penalties = {1e-2};
  const auto warned = [&](const Data& d) {
    ArrayRows rows = d.rows();
    const TuneResult result = tune(rows, base(), search);
    return std::ranges::any_of(result.notes,
                               [](const std::string& note) { return note.find("--split time") != std::string::npos; });
  };
  EXPECT_TRUE(warned(s));
  EXPECT_FALSE(warned(data(300, 1, 1)));
  search.folds.in_order = true;
  EXPECT_FALSE(warned(s));
}

TEST(Tune, RefusesWhatMeansNothing) {
  const Data s = data(30, 1, 1);
  const auto refused = [&](const auto& change) {
    FitOptions options = base();
    TuneOptions search;
    change(options, search);
    ArrayRows rows = s.rows();
    EXPECT_THROW(tune(rows, options, search), Error);
  };
  refused([](FitOptions&, TuneOptions& t) { t.length_factors = {0.0}; });
  refused([](FitOptions&, TuneOptions& t) { t.length_factors = {}; });
  refused([](FitOptions&, TuneOptions& t) { t.penalties = {-1.0}; });
  refused([](FitOptions&, TuneOptions& t) { t.sizes = {0}; });
  refused([](FitOptions&, TuneOptions& t) { t.loss_parameters = {1}; });  // of the square loss
  refused([](FitOptions&, TuneOptions& t) { t.metric = "accuracy"; });
  refused([](FitOptions&, TuneOptions& t) { t.metric = "pinball"; });
  refused([](FitOptions&, TuneOptions& t) { t.metric = "rmsd"; });
  refused([](FitOptions&, TuneOptions& t) { t.folds.folds = 31; });
  refused([](FitOptions& o, TuneOptions& t) {
    o.map = "exact";
    t.sizes = {3};
  });
  refused([](FitOptions& o, TuneOptions& t) {
    o.penalty = 1;
    t.penalties = {1};
  });
  refused([](FitOptions& o, TuneOptions& t) {
    o.loss = "huber:1";
    t.loss_parameters = {1, 2};
    t.metric = "loss";
  });
  refused([](FitOptions& o, TuneOptions&) { o.solver = "choleski"; });
  refused([](FitOptions& o, TuneOptions&) {
    o.loss = "huber:1";
    o.solver = "cg";
  });
}

}  // namespace
}  // namespace mercer
