#include "solve/block_cg.hpp"

#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace
}  // namespace mercer
