#include "gp/lbfgs.hpp"

#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace mercer {
namespace {

using Function = std::function<double(std::span<const double>, std::span<double>)>;

class Given : public Objective {
 public:
  Given(Index size, Function f) : size_(size), f_(std::move(f)) {}
  Index size() const override { return size_; }
  double evaluate(std::span<const double> at, std::span<double> gradient) override { return f_(at, gradient); }

 private:
  Index size_;
  Function f_;
};

double rosenbrock(std::span<const double> x, std::span<double> g) {
  double sum = 0;
  std::fill(g.begin(), g.end(), 0.0);
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const double bend = x[i + 1] - x[i] * x[i];
    sum += 100 * bend * bend + (1 - x[i]) * (1 - x[i]);
    g[i] += -400 * bend * x[i] - 2 * (1 - x[i]);
    g[i + 1] += 200 * bend;
  }
  return sum;
}

/// Σ (i + 1) x_i² - log(x_0 + 2x_1 - 1) - Σ log x_i; infinite where a logarithm is not defined.
double barrier(std::span<const double> x, std::span<double> g) {
  const double room = x[0] + 2 * x[1] - 1;
  if (!(room > 0)) return std::numeric_limits<double>::infinity();
  double sum = -std::log(room);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!(x[i] > 0)) return std::numeric_limits<double>::quiet_NaN();
    sum += static_cast<double>(i + 1) * x[i] * x[i] - std::log(x[i]);
    g[i] = 2 * static_cast<double>(i + 1) * x[i] - 1 / x[i];
  }
  g[0] -= 1 / room;
  g[1] -= 2 / room;
  return sum;
}

TEST(Lbfgs, SolvesAnIllConditionedQuadratic) {
  Given f(8, [](std::span<const double> x, std::span<double> g) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double curvature = std::pow(10.0, static_cast<double>(i) / 2);
      const double off = x[i] - static_cast<double>(i);
      sum += curvature * off * off / 2;
      g[i] = curvature * off;
    }
    return sum;
  });
  std::vector<double> at(8, 10.0);
  const LbfgsResult result = minimize_lbfgs(f, at, {.gradient_tolerance = 1e-9, .value_tolerance = 0});
  EXPECT_TRUE(result.converged) << result.status;
  EXPECT_LT(result.value, 1e-15);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(at[i], static_cast<double>(i), 1e-8);
}

TEST(Lbfgs, FollowsRosenbrocksValleyInTenDimensions) {
  Given f(10, rosenbrock);
  std::vector<double> at;
  for (int i = 0; i < 5; ++i) at.insert(at.end(), {-1.2, 1.0});
  double last = std::numeric_limits<double>::infinity();
  int told = 0;
  LbfgsOptions options{.max_iterations = 500, .gradient_tolerance = 1e-8, .value_tolerance = 0};
  options.on_iteration = [&](int iteration, double value, std::span<const double>) {
    EXPECT_EQ(iteration, ++told);
    EXPECT_LE(value, last);
    last = value;
    return true;
  };
  const LbfgsResult result = minimize_lbfgs(f, at, options);
  EXPECT_TRUE(result.converged) << result.status;
  EXPECT_EQ(told, result.iterations);
  // scipy's L-BFGS-B also gets here from this start, in 94 evaluations (scipy's BFGS ends in the local minimum of
  // value 3.99).
  EXPECT_LT(result.value, 1e-14);
  for (const double x : at) EXPECT_NEAR(x, 1, 1e-7);
  EXPECT_LT(result.evaluations, 150);
}

TEST(Lbfgs, ReachesTheMinimumOfRosenbrockFromNearby) {
  Given f(10, rosenbrock);
  std::vector<double> at(10, 0.5);
  const LbfgsResult result =
      minimize_lbfgs(f, at, {.max_iterations = 500, .gradient_tolerance = 1e-8, .value_tolerance = 0});
  EXPECT_TRUE(result.converged) << result.status;
  for (const double x : at) EXPECT_NEAR(x, 1, 1e-7);
}

TEST(Lbfgs, StaysOutOfRegionsWhereTheValueIsInfiniteOrNotANumber) {
  // scipy.optimize.root on the gradient, to 1e-15.
  const std::vector<double> best = {0.9158167022389029, 0.7180305325440082, 0.408248290463863, 0.3535533905932738,
                                    0.31622776601683794};
  Given f(5, barrier);
  std::vector<double> at(5, 30.0);
  const LbfgsResult result = minimize_lbfgs(f, at, {.gradient_tolerance = 1e-9, .value_tolerance = 0});
  EXPECT_TRUE(result.converged) << result.status;
  EXPECT_NEAR(result.value, 6.5744366380914006, 1e-12);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(at[i], best[i], 1e-9);
}

TEST(Lbfgs, SaysWhyItStopped) {
  Given f(5, barrier);
  std::vector<double> outside(5, -1.0);
  EXPECT_EQ(minimize_lbfgs(f, outside).status, "the objective is not defined at the start");
  EXPECT_EQ(outside, std::vector<double>(5, -1.0));

  Given valley(10, rosenbrock);
  std::vector<double> at(10, 0.5);
  LbfgsResult result = minimize_lbfgs(valley, at, {.max_iterations = 3});
  EXPECT_EQ(result.status, "the limit on iterations was reached");
  EXPECT_EQ(result.iterations, 3);
  EXPECT_FALSE(result.converged);

  at.assign(10, 0.5);
  LbfgsOptions options;
  options.on_iteration = [](int iteration, double, std::span<const double>) { return iteration < 2; };
  result = minimize_lbfgs(valley, at, options);
  EXPECT_EQ(result.status, "stopped by the caller");
  EXPECT_EQ(result.iterations, 2);

  at.assign(10, 1.0);
  EXPECT_EQ(minimize_lbfgs(valley, at).iterations, 0);
  std::vector<double> wrong(3);
  EXPECT_THROW(minimize_lbfgs(valley, wrong), Error);
}

/// Where rounding hides any decrease the search must end, at the best point seen.
TEST(Lbfgs, EndsWhereRoundingEnds) {
  Given f(3, [](std::span<const double> x, std::span<double> g) {
    double sum = 1e6;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum += std::cosh(x[i]);
      g[i] = std::sinh(x[i]) + 1e-7;  // a gradient that is a little wrong, as after rounding
    }
    return sum;
  });
  std::vector<double> at = {3, -2, 1};
  const LbfgsResult result = minimize_lbfgs(f, at, {.gradient_tolerance = 0, .value_tolerance = 0});
  EXPECT_LT(result.evaluations, 1000);
  EXPECT_NEAR(result.value, 1e6 + 3, 1e-9);
}

}  // namespace
}  // namespace mercer
