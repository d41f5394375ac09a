#include "solve/block_cg.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.hpp"

namespace mercer {
namespace {

/// A diagonal A with eigenvalues from 1 to 10^width, right-hand sides of all kinds, and a preconditioner that is off by up
/// to `off` of what is least.
struct Problem {
  Problem(std::uint64_t run, double width, double off) : stream(run, "block cg") {
    for (Index i = 0; i < size; ++i) {
      const double part = static_cast<double>(i) / static_cast<double>(size - 1);
      lambda.push_back(std::pow(10.0, width * (1 - part)));
      m.push_back(lambda.back() * (1 + off * (2 * stream.uniform(static_cast<std::uint64_t>(i), 0) - 1)));
      b(i, 0) = stream.normal(static_cast<std::uint64_t>(i), 1) * std::pow(lambda.back(), run % 3 == 0 ? 1.0 : 0.5);
    }
  }
  void apply(ConstMatrix in, MutMatrix out) const {
    for (Index i = 0; i < size; ++i) out(i, 0) = lambda[at(i)] * in(i, 0);
  }
  void precondition(ConstMatrix in, MutMatrix out) const {
    for (Index i = 0; i < size; ++i) {
      for (Index k = 0; k < in.cols; ++k) out(i, k) = in(i, k) / m[at(i)];
    }
  }
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  static constexpr Index size = 60;
  Stream stream;
  std::vector<double> lambda;
  std::vector<double> m;
  Matrix<double> b{size, 1};
};

/// What is vouched for is true, of the residual and of the energy, whether applications are precise or off by white noise.
TEST(BlockCg, WhatIsVouchedForIsTrue) {
  constexpr double tolerance = 1e-9;
  constexpr double slack = 1e-14;  // of a residual that is computed here
  int vouched = 0;
  for (std::uint64_t run = 0; run < 3000; ++run) {
    const Stream draw(run, "kind");
    const Problem problem(run, 2 + 6 * draw.uniform(0, 0), std::pow(10.0, -3.0 * draw.uniform(1, 0)) * 0.3);
    const double noise = run % 2 == 0 ? 0.0 : std::pow(10.0, -8 + 4 * draw.uniform(2, 0));
    const double share = run % 5 == 1 ? 100.0 : 0.0;
    std::uint64_t passes = 0;
    const RoughOperator rough = [&](ConstMatrix in, MutMatrix out) {
      problem.apply(in, out);
      double norm = 0;
      for (Index i = 0; i < out.rows; ++i) norm += out(i, 0) * out(i, 0);
      const double each = noise * std::sqrt(norm / static_cast<double>(out.rows));
      ++passes;
      SampledErrors errors{
          .groups = std::vector<Matrix<double>>(8, Matrix<double>(out.rows, 1)), .alike = 50, .by_chance = 50, .caution = 3};
      for (Index i = 0; i < out.rows; ++i) {
        const double off = each * problem.stream.normal(static_cast<std::uint64_t>(i), 1 + passes);
        out(i, 0) += off;
        // Other errors of the same kind, as those of a fiftieth of the rows are.
        for (std::size_t g = 0; g < 8; ++g) {
          const std::uint64_t draw_of_group = (1U << 20U) + 8 * passes + g;
          errors.groups[g](i, 0) = each / 20 * problem.stream.normal(static_cast<std::uint64_t>(i), draw_of_group);
        }
      }
      return errors;
    };
    Matrix<double> x(Problem::size, 1);
    const BlockCgOutcome outcome =
        block_cg([&](ConstMatrix in, MutMatrix out) { problem.apply(in, out); },
                 [&](ConstMatrix in, MutMatrix out) { problem.precondition(in, out); }, problem.b, x,
                 {.tolerance = tolerance,
                  .most_iterations = 200,
                  .rounding = {.unit = 1e-16, .norm = 1, .energy = 1},
                  .rough = noise > 0 ? rough : RoughOperator(),
                  .energy_tolerance = 10 * tolerance,
                  .least_eigenvalue = 1,
                  .solution_share = share},
                 nullptr);
    double rr = 0;
    double bb = 0;
    double energy = 0;
    double off = 0;
    double xb = 0;
    for (Index i = 0; i < Problem::size; ++i) {
      const double lambda = problem.lambda[Problem::at(i)];
      const double r = problem.b(i, 0) - lambda * x(i, 0);
      rr += r * r;
      bb += problem.b(i, 0) * problem.b(i, 0);
      energy += r * r / lambda;
      off += r * r / (lambda * lambda);
      xb += x(i, 0) * problem.b(i, 0);
    }
    SCOPED_TRACE("run " + std::to_string(run));
    ASSERT_LE(outcome.residual, tolerance);
    ASSERT_LE(outcome.energy, 10 * tolerance);
    EXPECT_LE(std::sqrt(rr / bb), outcome.residual + slack);
    // M is within 1/(1 - off) of A.
    EXPECT_LE(std::sqrt(energy / xb), 1.25 * outcome.energy + slack);
    EXPECT_LE(share * std::sqrt(off / xb), 1.5 * outcome.energy + slack);
    vouched += outcome.vouched ? 1 : 0;
  }
  EXPECT_GE(vouched, 1000);
}

/// Without a preconditioner worth the name, iterations that will not do are not made; with one, all that are needed.
TEST(BlockCg, GivesUpWhereItWillNotDo) {
  const auto run = [](double off, int patience) {
    const Problem problem(3, 8, off);
    Matrix<double> x(Problem::size, 1);
    const auto apply = [&](ConstMatrix in, MutMatrix out) { problem.apply(in, out); };
    const auto precondition = [&](ConstMatrix in, MutMatrix out) {
      if (off < 1) return problem.precondition(in, out);
      for (Index i = 0; i < in.rows; ++i) out(i, 0) = in(i, 0);
    };
    return block_cg(apply, precondition, problem.b, x, {.tolerance = 1e-9, .most_iterations = 30, .patience = patience},
                    nullptr);
  };
  EXPECT_EQ(run(1, 0).iterations, 30);
  const BlockCgOutcome given_up = run(1, 6);
  EXPECT_GE(given_up.iterations, 6);
  EXPECT_LT(given_up.iterations, 20);
  EXPECT_GT(given_up.residual, 1e-4);
  const BlockCgOutcome found = run(0.3, 6);
  EXPECT_GT(found.iterations, 6);
  EXPECT_EQ(found.iterations, run(0.3, 0).iterations);
  EXPECT_LE(found.residual, 1e-9);
}

TEST(BlockCg, RitzValuesAreTheEigenvaluesOfThePreconditionedOperator) {
  // A = diag(1 … 6), M = diag(1, 2, 3, 4, 5, 3): the eigenvalues of M⁻¹A are 1 and 2; two iterations find both.
  const std::vector<double> a = {1, 2, 3, 4, 5, 6};
  const std::vector<double> m = {1, 2, 3, 4, 5, 3};
  const auto apply = [&](ConstMatrix v, MutMatrix out) {
    for (Index i = 0; i < v.rows; ++i) out(i, 0) = a[static_cast<std::size_t>(i)] * v(i, 0);
  };
  const auto precondition = [&](ConstMatrix v, MutMatrix out) {
    for (Index i = 0; i < v.rows; ++i) out(i, 0) = v(i, 0) / m[static_cast<std::size_t>(i)];
  };
  Matrix<double> b(6, 1);
  std::ranges::fill(b.values(), 1.0);
  Matrix<double> x(6, 1);
  const BlockCgOutcome outcome = block_cg(apply, precondition, b, x, {1e-12, 40}, nullptr);
  EXPECT_EQ(outcome.iterations, 2);
  EXPECT_NEAR(outcome.least_ritz, 1, 1e-12);
  EXPECT_NEAR(outcome.largest_ritz, 2, 1e-12);
}

/// A = diag(1 … 100), applied with relative errors of the given size, the same ones every time.
BlockOperator diagonal(double error, int& calls) {
  return [error, &calls](ConstMatrix v, MutMatrix out) {
    ++calls;
    const Stream stream(5, "errors");
    for (Index i = 0; i < v.rows; ++i) {
      const double off = stream.normal(static_cast<std::uint64_t>(i), 0);
      out(i, 0) = static_cast<double>(i + 1) * (1 + error * off) * v(i, 0);
    }
  };
}

void within_ten_percent(ConstMatrix v, MutMatrix out) {
  for (Index i = 0; i < v.rows; ++i)
    out(i, 0) = v(i, 0) / (static_cast<double>(i + 1) * (1 + 0.1 * std::sin(static_cast<double>(i))));
}

/// ‖b - Ax‖/‖b‖ for b of ones.
double residual_of_ones(ConstMatrix x) {
  double square = 0;
  for (Index i = 0; i < x.rows; ++i) square += std::pow(1 - static_cast<double>(i + 1) * x(i, 0), 2);
  return std::sqrt(square / static_cast<double>(x.rows));
}

TEST(BlockCg, RoughApplicationsAndOneToTheSolutionItself) {
  const Index n = 100;
  for (const double error : {1e-5, 1e-7, 1e-9}) {
    SCOPED_TRACE(error);
    int precise = 0;
    int rough = 0;
    int unused = 0;
    const BlockOperator off = diagonal(error, rough);
    const BlockOperator exact = diagonal(0, unused);
    BlockCgOptions options{.tolerance = 1e-9, .most_iterations = 40};
    options.rounding = {.unit = 1e-16, .norm = 300, .energy = 0};
    options.rough = [&](ConstMatrix in, MutMatrix out) {
      Matrix<double> truth(in.rows, 1);
      exact(in, truth);
      off(in, out);
      for (Index i = 0; i < in.rows; ++i) truth(i, 0) -= out(i, 0);
      return SampledErrors{.groups = {truth}};
    };
    Matrix<double> b(n, 1);
    std::ranges::fill(b.values(), 1.0);
    Matrix<double> x(n, 1);
    const BlockCgOutcome outcome = block_cg(diagonal(0, precise), within_ten_percent, b, x, options, nullptr);
    EXPECT_LE(outcome.residual, 1e-9);
    EXPECT_LE(residual_of_ones(x), outcome.residual);
    EXPECT_EQ(rough, outcome.rough);
    EXPECT_EQ(precise + rough, outcome.iterations);  // every application led on
    EXPECT_LE(precise, error > 1e-6 ? 2 : 1);
    Matrix<double> y(n, 1);
    const int plain = block_cg(exact, within_ten_percent, b, y, {1e-9, 40}, nullptr).iterations;
    EXPECT_LE(outcome.iterations, plain + 2);  // starting again forgets directions
    for (Index i = 0; i < n; ++i) EXPECT_NEAR(outcome.image(i, 0), static_cast<double>(i + 1) * x(i, 0), 2e-8);
  }
}

TEST(BlockCg, ARightHandSideKnownByItsNeighbourAlone) {
  // b is ones; the targets are off by half a per cent, M by up to ten. What x leaves of b is asked for, never b itself.
  const Index n = 100;
  for (const bool in_float : {false, true}) {
    SCOPED_TRACE(in_float);
    int precise = 0;
    int rough = 0;
    int looks = 0;
    int rough_looks = 0;
    Matrix<double> targets(n, 1);
    for (Index i = 0; i < n; ++i) targets(i, 0) = 1 + 5e-3 * std::cos(static_cast<double>(i));
    const auto left = [](const BlockOperator& a, ConstMatrix x, MutMatrix out) {
      a(x, out);
      for (double* v = out.data; v < out.data + out.rows; ++v) *v = 1 - *v;
    };
    int unused = 0;
    const BlockOperator exact = diagonal(0, unused);
    const auto measured = [&](const BlockOperator& off, bool residual, ConstMatrix in, MutMatrix out) {
      Matrix<double> truth(in.rows, 1);
      residual ? left(exact, in, truth) : exact(in, truth);
      residual ? left(off, in, out) : off(in, out);
      for (Index i = 0; i < in.rows; ++i) truth(i, 0) -= out(i, 0);
      return SampledErrors{.groups = {truth}};
    };
    const BlockOperator look = diagonal(0, looks);
    const BlockOperator off = diagonal(1e-8, rough);
    const BlockOperator off_look = diagonal(1e-8, rough_looks);
    BlockCgOptions options{.tolerance = 1e-9, .most_iterations = 40};
    options.rounding = {.unit = 1e-16, .norm = 300, .energy = 0};
    options.residual = [&](ConstMatrix in, MutMatrix out) { left(look, in, out); };
    if (in_float) {
      options.rough = [&](ConstMatrix in, MutMatrix out) { return measured(off, false, in, out); };
      options.rough_residual = [&](ConstMatrix in, MutMatrix out) { return measured(off_look, true, in, out); };
    }
    Matrix<double> x(n, 1);
    const BlockCgOutcome outcome = block_cg(diagonal(0, precise), within_ten_percent, targets, x, options, nullptr);
    EXPECT_LE(outcome.residual, 1e-9);
    EXPECT_LE(residual_of_ones(x), outcome.residual);
    EXPECT_EQ(precise + rough + looks + rough_looks, outcome.iterations);
    EXPECT_EQ(rough_looks, in_float ? 1 : 0);
    EXPECT_EQ(looks, 1);
    EXPECT_EQ(precise == 0, in_float);
  }
}

TEST(BlockCg, ErrorsThatAreUnderstatedAreFoundOut) {
  int precise = 0;
  int rough = 0;
  const BlockOperator off = diagonal(1e-3, rough);
  BlockCgOptions options{.tolerance = 1e-9, .most_iterations = 40};
  options.rounding = {.unit = 1e-16, .norm = 300, .energy = 0};
  options.rough = [&](ConstMatrix in, MutMatrix out) {
    off(in, out);
    Matrix<double> understated(in.rows, 1);
    understated(0, 0) = 1e-7;
    return SampledErrors{.groups = {understated}};
  };
  Matrix<double> b(100, 1);
  std::ranges::fill(b.values(), 1.0);
  Matrix<double> x(100, 1);
  const BlockCgOutcome outcome = block_cg(diagonal(0, precise), within_ten_percent, b, x, options, nullptr);
  EXPECT_LE(outcome.residual, 1e-9);
  EXPECT_LE(residual_of_ones(x), outcome.residual);
  EXPECT_EQ(outcome.rough, rough);
  EXPECT_GT(precise, 3);  // once the truth was seen, nothing else was believed
}

TEST(BlockCg, ALastStepIsTakenUnseenAndItsResidualForeseen) {
  Matrix<double> b(100, 1);
  std::ranges::fill(b.values(), 1.0);
  int calls = 0;
  BlockCgOptions options{.tolerance = 1e-9, .most_iterations = 40};
  options.rounding = {.unit = 1e-16, .norm = 300, .energy = 0};
  Matrix<double> x(100, 1);
  const BlockCgOutcome outcome = block_cg(diagonal(0, calls), within_ten_percent, b, x, options, nullptr);
  options.foresee = false;
  Matrix<double> plain(100, 1);
  const BlockCgOutcome seen = block_cg(diagonal(0, calls), within_ten_percent, b, plain, options, nullptr);
  EXPECT_TRUE(outcome.vouched);
  EXPECT_EQ(outcome.iterations + 1, seen.iterations);
  EXPECT_EQ(calls, outcome.iterations + seen.iterations);
  EXPECT_LE(outcome.residual, 1e-9);
  EXPECT_LE(residual_of_ones(x), outcome.residual);
}

TEST(BlockCg, APreconditionerThatBreaksIsNoSuccess) {
  const auto twice = [](ConstMatrix v, MutMatrix out) {
    for (Index i = 0; i < v.rows; ++i) out(i, 0) = 2 * v(i, 0);
  };
  const auto broken = [](ConstMatrix v, MutMatrix out) {
    for (Index i = 0; i < v.rows; ++i) out(i, 0) = std::numeric_limits<double>::quiet_NaN();
  };
  Matrix<double> b(3, 1);
  std::ranges::fill(b.values(), 1e-200);  // whose square is 0
  Matrix<double> x(3, 1);
  EXPECT_FALSE(block_cg(twice, broken, b, x, {1e-10, 40}, nullptr).residual <= 1e-9);
  std::ranges::fill(x.values(), 0.0);
  const BlockCgOutcome good = block_cg(twice, twice, b, x, {1e-10, 40}, nullptr);
  EXPECT_LE(good.residual, 1e-10);
  EXPECT_NEAR(x(0, 0) / 0.5e-200, 1, 1e-10);
  EXPECT_NEAR(good.image(0, 0) / 1e-200, 1, 1e-10);
}

}  // namespace
}  // namespace mercer
