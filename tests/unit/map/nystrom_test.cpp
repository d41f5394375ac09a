#include "map/nystrom.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "kernel/evaluate.hpp"
#include "unit/map/sketch_samples.hpp"

namespace mercer {
namespace {

using namespace samples;

Kernel kernel_named(const std::string& text) {
  return std::get<Decomposable>(parse_kernel(text).terms.front().form).kernel;
}

Dense gram_of(const Kernel& kernel, const Matrix<double>& x) {
  Matrix<double> k(x.rows(), x.rows());
  gram(kernel, x, x, k);
  return dense(k);
}

std::vector<Index> all(Index n) {
  std::vector<Index> rows;
  for (Index i = 0; i < n; ++i) rows.push_back(i);
  return rows;
}

/// The textbook: keep the whole residual matrix, draw a pivot by its diagonal, eliminate.
std::vector<Index> textbook_pivots(Dense k, Index s, const Stream& stream) {
  std::vector<Index> pivots;
  for (Index t = 0; t < s; ++t) {
    const double target = stream.uniform(static_cast<std::uint64_t>(t), 0) * k.diagonal().sum();
    double sum = 0;
    Index pivot = 0;
    for (; pivot < k.rows(); ++pivot) {
      sum += k(pivot, pivot);
      if (sum > target) break;
    }
    pivots.push_back(pivot);
    k -= (k.col(pivot) * k.row(pivot) / k(pivot, pivot)).eval();
    k.row(pivot).setZero();
    k.col(pivot).setZero();
  }
  return pivots;
}

TEST(PivotedCholesky, ChoosesTheRowsOfTheTextbook) {
  const Matrix<double> x = normals(300, 3, "x");  // two chunks
  for (const char* text : {"gaussian(0.7)", "matern(1, nu=1.5)", "laplacian(2)", "polynomial(4, 1)"}) {
    const Kernel kernel = kernel_named(text);
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const Stream stream(seed, "pivots");
      EXPECT_EQ(pivoted_rows(kernel, x, 12, stream), textbook_pivots(gram_of(kernel, x), 12, stream)) << text;
    }
  }
}

TEST(PivotedCholesky, StopsWhenNothingIsLeft) {
  const Matrix<double> x = normals(40, 3, "x");
  EXPECT_EQ(pivoted_rows(kernel_named("linear()"), x, 10, Stream(1, "pivots")).size(), 3U);
  const Matrix<double> zero(5, 2);
  EXPECT_TRUE(pivoted_rows(kernel_named("linear()"), zero, 3, Stream(1, "pivots")).empty());
  SketchRecipe recipe;
  recipe.law = SketchLaw::rp_cholesky;
  EXPECT_EQ(draw_sketch(recipe, kernel_named("linear()"), zero).touched(), 1);
  const auto pivots = pivoted_rows(kernel_named("gaussian(1)"), x, 40, Stream(1, "pivots"));
  EXPECT_EQ(std::set<Index>(pivots.begin(), pivots.end()).size(), pivots.size());
}

TEST(LeverageScores, AreExactWhenThePilotIsEverything) {
  const Matrix<double> x = normals(60, 2, "x");
  const Kernel kernel = kernel_named("gaussian(0.8)");
  const Dense k = gram_of(kernel, x);
  const ::Eigen::SelfAdjointEigenSolver<Dense> spectrum(k / 60);
  const std::vector<double> values(spectrum.eigenvalues().data(), spectrum.eigenvalues().data() + 60);
  const double lambda = penalty_of_dimension(values, 10);
  const Dense hat = k * (k + 60 * lambda * Dense::Identity(60, 60)).inverse();
  EXPECT_NEAR(hat.trace(), 10, 1e-8);
  const std::vector<double> scores = leverage_scores(kernel, x, all(60), 10);
  for (Index i = 0; i < 60; ++i) EXPECT_NEAR(scores[static_cast<std::size_t>(i)], hat(i, i), 1e-9);
}

TEST(LeverageScores, OfAPilotFindTheLonelyRows) {
  Matrix<double> x = normals(200, 2, "x");
  for (double& v : x.values()) v *= 0.1;
  x(77, 0) = 30;  // nothing is near it: its score is 1/(1 + λn) ≈ its largest value
  const std::vector<double> scores = leverage_scores(kernel_named("gaussian(1)"), x, {1, 5, 9, 40, 80, 120, 160, 199}, 1.5);
  EXPECT_EQ(std::ranges::max_element(scores) - scores.begin(), 77);
  EXPECT_GT(scores[77], 2 * scores[0]);
  EXPECT_LE(scores[77], 1);
}

// Given the scores, E SᵀS = I and, of s independent draws with probabilities q, Var (SᵀS)_ii = (1/q_i - 1)/s; beside the
// diagonal SᵀS is 0. Mean and mean square deviation over 3000 draws, 7 standard errors estimated from the draws; 60 numbers,
// 3e-12 each: 2e-10.
TEST(LeverageScores, SketchHasTheRightScalingAndVariance) {
  const Matrix<double> x = normals(30, 2, "x");
  const Kernel kernel = kernel_named("gaussian(0.5)");
  SketchRecipe recipe;
  recipe.law = SketchLaw::leverage;
  recipe.size = 15;  // the pilot is everything: the scores do not depend on the seed
  const std::vector<double> scores = leverage_scores(kernel, x, all(30), 7.5);
  const double total = std::accumulate(scores.begin(), scores.end(), 0.0);
  Vector first = Vector::Zero(30);
  Vector second = Vector::Zero(30);
  Vector fourth = Vector::Zero(30);
  for (recipe.seed = 0; recipe.seed < 3000; ++recipe.seed) {
    const Dense s = dense_sketch(draw_sketch(recipe, kernel, x), 30);
    EXPECT_EQ(s.rows(), 15);
    const Dense m = s.transpose() * s;
    EXPECT_EQ((m - Dense(m.diagonal().asDiagonal())).norm(), 0);
    const Vector off = m.diagonal().array() - 1;
    first += off;
    second += off.array().square().matrix();
    fourth += off.array().pow(4).matrix();
  }
  for (Index i = 0; i < 30; ++i) {
    const double q = scores[static_cast<std::size_t>(i)] / total;
    const double variance = second(i) / 3000;
    EXPECT_NEAR(first(i) / 3000, 0, 7 * std::sqrt(variance / 3000));
    EXPECT_NEAR(variance, (1 / q - 1) / 15, 7 * std::sqrt((fourth(i) / 3000 - variance * variance) / 3000));
  }
}

TEST(LeverageScores, SurviveAKernelThatIsZero) {
  const Matrix<double> zero(7, 2);
  SketchRecipe recipe;
  recipe.law = SketchLaw::leverage;
  recipe.size = 3;
  EXPECT_EQ(draw_sketch(recipe, kernel_named("linear()"), zero).size(), 3);
}

TEST(PenaltyOfDimension, SolvesItsEquation) {
  const std::vector<double> values = {1, 0.5, 0.1, 0.01, 1e-5};
  for (const double wanted : {0.5, 2.0, 4.5}) {
    const double lambda = penalty_of_dimension(values, wanted);
    double sum = 0;
    for (const double v : values) sum += v / (v + lambda);
    EXPECT_NEAR(sum, wanted, 1e-9);
  }
  EXPECT_GT(penalty_of_dimension({1, 0, 0}, 2), 0);  // rank 1: as small as it gets
}

}  // namespace
}  // namespace mercer
