// Quantiles that must not cross, against Newton's method with a log barrier.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "loss/make_loss.hpp"
#include "solve/convex.hpp"
#include "solve/isotonic.hpp"
#include "unit/solve/data.hpp"
#include "unit/solve/smooth_newton.hpp"

namespace mercer {
namespace {

using namespace samples;

/// One noisy target for every level.
Data quantile_data(Index n, Index outputs) {
  Data d = data(n, 1, outputs, 0.8);
  for (Index i = 0; i < n; ++i) {
    for (Index a = 0; a < outputs; ++a) d.y(i, a) = d.y(i, 0);
  }
  return d;
}

double worst_crossing(const FourierMap& map, const ConvexSolution& s, ConstMatrix x) {
  const Dense f = dense(features(map, x)) * dense(s.weights);
  double worst = -1e300;
  for (Index i = 0; i < f.rows(); ++i) {
    for (Index a = 0; a + 1 < f.cols(); ++a) {
      worst = std::max(worst, f(i, a) + s.intercept[static_cast<std::size_t>(a)] - f(i, a + 1) -
                                  s.intercept[static_cast<std::size_t>(a + 1)]);
    }
  }
  return worst;
}

Matrix<double> grid() {
  Matrix<double> x(41, 1);
  for (Index i = 0; i < 41; ++i) x(i, 0) = -4 + 0.2 * static_cast<double>(i);
  return x;
}

TEST(Isotonic, IsTheMaxMinFormula) {
  for (std::uint64_t k = 0; k < 200; ++k) {
    const Stream random(k, "isotonic");
    const auto p = static_cast<Index>(1 + random.below(9, 99, 0));
    std::vector<double> x;
    for (Index i = 0; i < p; ++i) x.push_back(random.normal(static_cast<std::uint64_t>(i), 0));
    std::vector<double> y = x;
    project_increasing(y);
    for (Index i = 0; i < p; ++i) {  // y_i = max over a ≤ i of min over b ≥ i of the mean of x_a … x_b
      double best = -1e300;
      for (Index a = 0; a <= i; ++a) {
        double least = 1e300;
        for (Index b = i; b < p; ++b) {
          double sum = 0;
          for (Index j = a; j <= b; ++j) sum += x[static_cast<std::size_t>(j)];
          least = std::min(least, sum / static_cast<double>(b - a + 1));
        }
        best = std::max(best, least);
      }
      EXPECT_NEAR(y[static_cast<std::size_t>(i)], best, 1e-14);
    }
    double head = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      head += x[i] - y[i];
      EXPECT_GE(head, -1e-14);
    }
    EXPECT_NEAR(head, 0, 1e-14);
  }
}

// The conditions of Karush, Kuhn and Tucker, which are enough for a convex problem.
TEST(OrderedPinballProx, IsTheMinimiser) {
  for (std::uint64_t k = 0; k < 500; ++k) {
    const Stream random(k, "ordered prox");
    const auto p = static_cast<std::size_t>(1 + random.below(7, 99, 0));
    const double step = std::exp(2 * random.normal(77, 0));
    const double y = random.normal(78, 0);
    std::vector<double> levels;
    std::vector<double> v;
    for (std::size_t j = 0; j < p; ++j) {
      levels.push_back((static_cast<double>(j) + 0.5) / static_cast<double>(p));
      v.push_back(y + 0.7 * random.normal(j, 0));
    }
    std::vector<double> u = v;
    std::vector<double> slope(p);
    std::vector<double> pull(p);
    ordered_pinball_prox(levels, step, y, u, slope, pull);
    EXPECT_TRUE(std::ranges::is_sorted(u));
    double head = 0;
    double inner = 0;
    for (std::size_t j = 0; j < p; ++j) {
      EXPECT_NEAR((v[j] - u[j]) / step, slope[j] + pull[j], 1e-13 * (1 + 1 / step));
      EXPECT_GE(slope[j], -levels[j]);
      EXPECT_LE(slope[j], 1 - levels[j]);
      EXPECT_TRUE(!(u[j] > y) || slope[j] == 1 - levels[j]);
      EXPECT_TRUE(!(u[j] < y) || slope[j] == -levels[j]);
      head += pull[j];
      inner += pull[j] * u[j];
      EXPECT_GE(head, -1e-13 * (1 + 1 / step));
    }
    EXPECT_NEAR(head, 0, 1e-13 * (1 + 1 / step));
    EXPECT_NEAR(inner, 0, 1e-12 * (1 + 1 / step));
  }
}

TEST(ConvexOrder, FarQuantilesTakeHundredsOfPasses) {
  const Index n = 800;
  Data d = data(n, 1, 5, 0);
  const Stream random(5, "far quantiles");
  for (Index i = 0; i < n; ++i) {  // noise that grows with the input
    const double x = d.x(i, 0);
    const double y = std::sin(2 * x) + (0.05 + 0.3 * std::abs(x)) * random.normal(static_cast<std::uint64_t>(i), 0);
    for (Index a = 0; a < 5; ++a) d.y(i, a) = y;
  }
  ArrayRows rows = d.rows();
  const FourierMap map = map_of("gaussian(0.3)", 1, 5, 40);
  const auto loss = make_loss("pinball:0.01,0.05,0.5,0.95,0.99", 5);
  const Matrix<double> extra = grid();
  for (const double penalty : {1e-3, 1e-5}) {
    ConvexSetup setup;
    setup.precision = Precision::double_;
    ConvexOptions options;
    options.penalty = penalty;
    options.most_passes = 1000;
    const ConvexSolution free = ConvexSolver(map, rows, setup).solve(*loss, options);
    EXPECT_LE(free.gap, 1e-4) << free.note;
    EXPECT_GT(worst_crossing(map, free, extra), 1e-3) << "the data should make quantiles cross";
    setup.non_crossing = true;
    const ConvexSolution s = ConvexSolver(map, rows, setup).solve(*loss, options);
    EXPECT_LE(s.gap, 1e-4) << s.note;
    EXPECT_LE(worst_crossing(map, s, d.x), 1e-9);
    EXPECT_LE(s.primal, 1.02 * free.primal);
    EXPECT_GE(s.primal, free.dual);
    setup.extra_inputs = extra;
    const ConvexSolution gridded = ConvexSolver(map, rows, setup).solve(*loss, options);
    EXPECT_LE(gridded.gap, 1e-4) << gridded.note;
    EXPECT_LE(worst_crossing(map, gridded, d.x), 1e-9);
    EXPECT_LE(worst_crossing(map, gridded, extra), 1e-9);
  }
}

TEST(ConvexOrder, HoldsAtEveryRowAndTheGapIsTrue) {
  const std::vector<double> tau = {0.25, 0.4, 0.55, 0.7};
  const FourierMap map = map_of("gaussian(0.4)", 1, 4, 8);
  Data d = quantile_data(50, 4);
  d.weights = counts(50);
  ArrayRows rows = d.rows();
  const Matrix<double> extra = grid();
  const auto loss = make_loss("pinball:0.25,0.4,0.55,0.7", 4);

  ConvexSetup setup;
  setup.precision = Precision::double_;
  ConvexOptions options;
  options.penalty = 1e-3;
  options.tolerance = 1e-4;
  const ConvexSolution free = ConvexSolver(map, rows, setup).solve(*loss, options);
  ASSERT_GT(worst_crossing(map, free, extra), 1e-2) << "the data should make quantiles cross";

  setup.non_crossing = true;
  setup.extra_inputs = extra;
  Dense all(50 * 4 + 41 * 4, map.coupling().parameters());
  all << operator_rows(map, d.x), operator_rows(map, extra);
  const oracle::SmoothNewton newton{all, dense(d.y), d.all_weights(), 1e-3, true, true};
  const double optimum = newton.optimum(oracle::row_loss("pinball", tau));
  EXPECT_GT(optimum, free.primal * (1 + 1e-3)) << "the order should cost something";
  const ConvexSolver solver(map, rows, setup);
  for (const double tolerance : {1e-1, 1e-3, 1e-5}) {
    options.tolerance = tolerance;
    options.most_passes = 20000;
    const ConvexSolution s = solver.solve(*loss, options);
    EXPECT_LE(s.gap, tolerance) << s.note;
    EXPECT_LE(worst_crossing(map, s, d.x), 1e-9);
    EXPECT_LE(worst_crossing(map, s, extra), 1e-9);
    // The barrier leaves the oracle above the optimum by at most (constraints)·1e-9.
    EXPECT_LE(s.dual, optimum + 1e-12);
    EXPECT_GE(s.primal, optimum - 1e-6);
  }
}

TEST(ConvexOrder, ServesLossesThatAreNotSumsOverOutputs) {
  const FourierMap map = map_of("gaussian(0.6)", 1, 3, 8);
  const Data d = data(60, 1, 3, 0.8);
  ArrayRows rows = d.rows();
  ConvexSetup setup;
  setup.non_crossing = true;
  ConvexOptions options;
  options.penalty = 1e-3;
  options.most_passes = 20000;
  const ConvexSolution s = ConvexSolver(map, rows, setup).solve(*make_loss("huber:0.4", 3), options);
  EXPECT_EQ(s.note, "");
  EXPECT_LE(worst_crossing(map, s, d.x), 1e-9);
  const oracle::SmoothNewton newton{operator_rows(map, d.x), dense(d.y), d.all_weights(), 1e-3, true, true};
  const double optimum = newton.optimum(oracle::row_loss("huber:0.4"));
  EXPECT_LE(s.dual, optimum);
  EXPECT_GE(s.primal, optimum - 1e-6);
}

}  // namespace
}  // namespace mercer
