// Statistics from tables against sums over the rows.
#include "gp/tabulated_statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/parallel.hpp"
#include "base/random.hpp"

namespace mercer {
namespace {

constexpr Index memory = Index{1} << 28;

struct Series {
  Series(Index rows, Index outputs, double offset) : x(rows, 1), y(rows, outputs) {
    const Stream stream(21, "series");
    for (Index i = 0; i < rows; ++i) {
      x(i, 0) = offset + 12 * stream.uniform(i, 0);
      for (Index a = 0; a < outputs; ++a) y(i, a) = 5 + std::sin(3 * x(i, 0) + a) + 0.1 * stream.normal(i, 1 + a);
    }
  }
  Matrix<double> x;
  Matrix<double> y;
};

SparseProcess some_process(Index points, Index outputs, MeanForm mean, double widest, const char* name) {
  const Stream stream(22, name);
  SparseProcess process;
  process.frequencies = Matrix<double>(points, 1);
  for (Index j = 0; j < points; ++j) {
    process.frequencies(j, 0) = widest * (2 * stream.uniform(j, 0) - 1);
    process.amplitudes.push_back(std::sqrt(2 * stream.uniform(j, 1) / static_cast<double>(points)));
  }
  process.noise = 0.1;
  process.mean = Matrix<double>(mean_rows(mean, 1), outputs);
  Matrix<double> b(outputs, outputs);
  for (Index a = 0; a < outputs; ++a) b(a, a) = 1 + 0.2 * static_cast<double>(a);
  process.share = output_share(b);
  return process;
}

double largest(const Matrix<double>& a) {
  double most = 0;
  for (const double v : a.values()) most = std::max(most, std::abs(v));
  return most;
}

void expect_equal(const Matrix<double>& a, const Matrix<double>& b, double tolerance, const char* what) {
  ASSERT_EQ(a.rows(), b.rows()) << what;
  ASSERT_EQ(a.cols(), b.cols()) << what;
  const double size = largest(b);
  for (std::size_t i = 0; i < a.values().size(); ++i) {
    ASSERT_NEAR(a.values()[i], b.values()[i], tolerance * size) << what << ", entry " << i;
  }
}

/// Those of sparse_statistics for x - centre, where the columns of the mean, 1 and x, are of x itself.
SparseStatistics direct(const Series& series, const SparseProcess& process) {
  const double centre = RowInterval(series.x.values()).centre;
  Matrix<double> shifted = series.x;
  for (double& x : shifted.values()) x -= centre;
  const Matrix<double> residuals = without_mean(series.x, series.y, process.mean);
  SparseWorkspace workspace;
  sparse_statistics(shifted, residuals, {process.frequencies}, true, memory, workspace);
  SparseStatistics statistics = std::move(workspace.statistics.front());
  const Index last = statistics.cross.cols() - 1;
  for (Index i = 0; i < statistics.cross.rows(); ++i) statistics.cross(i, last) += centre * statistics.cross(i, last - 1);
  residual_products(series.x, residuals, statistics);
  return statistics;
}

TEST(TabulatedStatistics, AreTheSumsOverTheRows) {
  for (const Index outputs : {1, 3}) {
    for (const double offset : {-6.0, 0.0, 1e5}) {
      const Series series(900, outputs, offset);
      TabulatedStatistics tables(series.x, series.y, 10, memory);
      SparseWorkspace workspace;
      // Further frequencies let the tables grow, and the mean moves away from that which they were made with.
      for (const double widest : {0.5, 4.0, 3.0, 20.0}) {
        std::vector<SparseProcess> processes{some_process(100, outputs, MeanForm::linear, widest, "one"),
                                             some_process(100, outputs, MeanForm::linear, widest / 2, "other")};
        for (SparseProcess& process : processes) {
          for (double& b : process.mean.values()) b = 0.3 * widest;
        }
        const Matrix<double> residuals = without_mean(series.x, series.y, processes[0].mean);
        ASSERT_TRUE(tables.compute(processes, residuals, workspace));
        for (std::size_t k = 0; k < 2; ++k) {
          const SparseStatistics expected = direct(series, processes[k]);
          const SparseStatistics& found = workspace.statistics[k];
          EXPECT_EQ(found.rows, 900);
          expect_equal(found.gram, expected.gram, 1e-11, "gram");
          expect_equal(found.weighted.front(), expected.weighted.front(), 1e-11, "weighted");
          expect_equal(found.cross, expected.cross, 1e-11, "cross");
          expect_equal(found.residual_gram, expected.residual_gram, 1e-15, "residual gram");
          expect_equal(found.mean_cross, expected.mean_cross, 1e-15, "mean cross");
        }
      }
    }
  }
}

TEST(TabulatedStatistics, TurnIntoThoseOfAnyOrigin) {
  const Series series(900, 2, 40);
  const SparseProcess process = some_process(80, 2, MeanForm::linear, 3, "turned");
  TabulatedStatistics tables(series.x, series.y, 10, memory);
  SparseWorkspace workspace;
  ASSERT_TRUE(tables.compute({process}, series.y, workspace));
  SparseStatistics& found = workspace.statistics.front();
  turn_features(process, tables.centre(), found);
  SparseWorkspace direct_workspace;
  sparse_statistics(series.x, series.y, {process.frequencies}, false, memory, direct_workspace);
  expect_equal(found.gram, direct_workspace.statistics.front().gram, 1e-11, "gram");
  expect_equal(found.cross, direct_workspace.statistics.front().cross, 1e-11, "cross");
  EXPECT_TRUE(found.weighted.empty());
}

TEST(TabulatedStatistics, AreTheSameBitsForAnyNumberOfThreads) {
  const Series series(900, 2, 0);
  const std::vector<SparseProcess> processes{some_process(100, 2, MeanForm::linear, 4, "one")};
  const Matrix<double> residuals = without_mean(series.x, series.y, processes[0].mean);
  std::vector<SparseStatistics> found;
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    TabulatedStatistics tables(series.x, series.y, 10, memory);
    SparseWorkspace workspace;
    ASSERT_TRUE(tables.compute(processes, residuals, workspace));
    found.push_back(std::move(workspace.statistics.front()));
  }
  set_threads(0);
  for (const SparseStatistics& other : found) {
    EXPECT_TRUE(std::ranges::equal(other.gram.values(), found[0].gram.values()));
    EXPECT_TRUE(std::ranges::equal(other.weighted[0].values(), found[0].weighted[0].values()));
    EXPECT_TRUE(std::ranges::equal(other.cross.values(), found[0].cross.values()));
  }
}

TEST(TabulatedStatistics, LeaveFarFrequenciesAndLittleMemoryToDirectSums) {
  const Series series(900, 1, 0);
  SparseWorkspace workspace;
  TabulatedStatistics tables(series.x, series.y, 10, memory);
  for (const double widest : {1e4, 1e300}) {
    const SparseProcess process = some_process(100, 1, MeanForm::none, widest, "far");
    EXPECT_FALSE(tables.compute({process}, series.y, workspace));
  }
  const SparseProcess near = some_process(100, 1, MeanForm::none, 2, "near");
  EXPECT_TRUE(tables.compute({near}, series.y, workspace));
  TabulatedStatistics small(series.x, series.y, 10, Index{1} << 16);
  EXPECT_FALSE(small.compute({near}, series.y, workspace));
  const SparseProcess few_points = some_process(3, 1, MeanForm::none, 2, "few");
  TabulatedStatistics cheap(series.x, series.y, 10, memory);
  EXPECT_FALSE(cheap.compute({few_points}, series.y, workspace));
}

// At the least noise that the tables are used for, the likelihood and its gradient are still those of the direct sums.
TEST(TabulatedStatistics, LeaveNoiselessSeriesToDirectSums) {
  Series series(900, 1, 0);
  for (Index i = 0; i < 900; ++i) series.y(i, 0) = std::sin(3 * series.x(i, 0)) + 0.5 * std::cos(7.7 * series.x(i, 0));
  TabulatedStatistics tables(series.x, series.y, 10, memory);
  SparseWorkspace workspace;
  SparseProcess process = some_process(60, 1, MeanForm::none, 2, "noiseless");
  double variance = 0;
  for (const double a : process.amplitudes) variance += a * a;
  const double least = 900 * table_error * variance / TabulatedStatistics::noise_share;
  process.noise = 0.99 * least;
  EXPECT_FALSE(tables.compute({process}, series.y, workspace));
  process.noise = 1.01 * least;
  ASSERT_TRUE(tables.compute({process}, series.y, workspace));
  SparseGradient expected_gradient;
  SparseGradient gradient;
  workspace.squares.resize(1);
  const double value = sparse_likelihood(workspace.statistics[0], process, &gradient, workspace.squares[0]);
  const double expected = sparse_likelihood(direct(series, process), process, &expected_gradient, workspace.squares[0]);
  EXPECT_NEAR(value, expected, 1e-7 * std::abs(expected));
  EXPECT_NEAR(gradient.log_noise, expected_gradient.log_noise, 1e-6 * std::abs(expected_gradient.log_noise));
  expect_equal(gradient.frequencies, expected_gradient.frequencies, 1e-6, "frequencies");
}

}  // namespace
}  // namespace mercer
