#include "solve/low_gram.hpp"

#include <gtest/gtest.h>
#include <mercer/threads.hpp>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "backend/backend.hpp"
#include "base/parallel.hpp"
#include "base/random.hpp"

namespace mercer {
namespace {

/// Features in [-2, 2], whose bounds are 2.
Matrix<float> bounded_rows(Index rows, Index columns) {
  const Stream stream(11, "low gram");
  Matrix<float> f(rows, columns);
  parallel_for(rows, [&](Index i) {
    for (Index c = 0; c < columns; ++c) {
      const double u = stream.uniform(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(c));
      f(i, c) = static_cast<float>(4 * u - 2);
    }
  });
  return f;
}

/// As passes do: rows of a block among the products of the block before.
Matrix<double> gathered(MatrixView<const float> f, Index most_rows, GramPrecision precision) {
  constexpr Index chunk = 64;
  LowGram low(f.cols, most_rows, precision, std::vector<double>(static_cast<std::size_t>(f.cols), 2.0));
  const Index block_rows = low.block_rows();
  for (Index first = 0; first < f.rows; first += block_rows) {
    const Index rows = std::min(block_rows, f.rows - first);
    low.begin_block(rows);
    const Index products = low.tasks();
    const Index chunks = (rows + chunk - 1) / chunk;
    parallel_for(products + chunks, [&](Index task) {
      if (task < products) return low.run(task);
      const Index row = (task - products) * chunk;
      low.add<float>(row, f.row_range(first + row, std::min(chunk, rows - row)), {});
    });
  }
  NormalSystem system;
  system.intercept = false;
  low.move_into(system);
  return std::move(system.gram);
}

/// A feature as it is rounded.
double rounded(float v, GramPrecision precision) {
  switch (precision) {
    case GramPrecision::int8:
      return static_cast<double>(std::nearbyint(v * 63.5F)) / 63.5;
    case GramPrecision::bf16:
      return static_cast<double>(rounded_to_bfloat(v));
    default:
      return static_cast<double>(v);
  }
}

/// What an entry may be off by, of Σ|φφ| ≤ 4n: sums are exact, in float, of products without the smallest of four, in float.
double most_off(GramPrecision precision) {
  switch (precision) {
    case GramPrecision::int8:
      return 1e-12;
    case GramPrecision::bf16_three:
      return 3.1 * 0x1p-16;
    default:
      return 1e-5;
  }
}

constexpr GramPrecision precisions[] = {GramPrecision::int8, GramPrecision::bf16, GramPrecision::bf16_three,
                                        GramPrecision::float32};

void expect_gram(const Matrix<double>& gram, MatrixView<const float> f, GramPrecision precision, Index every) {
  for (Index a = 0; a < f.cols; a += every) {
    for (Index b = 0; b <= a; b += every) {
      double sum = 0;
      for (Index i = 0; i < f.rows; ++i) sum += rounded(f(i, a), precision) * rounded(f(i, b), precision);
      ASSERT_NEAR(gram(a, b), sum, most_off(precision) * 4 * static_cast<double>(f.rows))
          << words(precision) << " at " << a << ", " << b;
    }
  }
}

TEST(LowGram, BlocksAddUpForAnyNumberOfThreads) {
  const Matrix<float> f = bounded_rows(1100, 1500);  // five blocks, the last of them short; several rows of tiles
  for (const GramPrecision precision : precisions) {
    std::optional<Matrix<double>> first;
    for (const int count : {1, 2, 5}) {
      set_threads(count);
      Matrix<double> gram = gathered(f, 256, precision);
      if (!first) {
        expect_gram(gram, f, precision, 13);
        first = std::move(gram);
      } else {
        EXPECT_TRUE(std::ranges::equal(gram.values(), first->values())) << words(precision) << ", " << count << " threads";
      }
    }
  }
  set_threads(0);
}

/// Of bytes, the number of threads decides how many rows a block has.
TEST(LowGram, BlocksOfBytesDependOnThreadsAndTheirSumsDoNot) {
  const Matrix<float> f = bounded_rows(20'000, 40);
  std::optional<Matrix<double>> first;
  std::set<Index> sizes;
  for (const int count : {1, 2, 5}) {
    set_threads(count);
    sizes.insert(LowGram(40, 8192, GramPrecision::int8, std::vector<double>(40, 2.0)).block_rows());
    Matrix<double> gram = gathered(f, 8192, GramPrecision::int8);
    if (!first)
      first = std::move(gram);
    else
      EXPECT_TRUE(std::ranges::equal(gram.values(), first->values())) << count << " threads";
  }
  set_threads(0);
  EXPECT_EQ(sizes, (std::set<Index>{2048, 4096, 8192}));
  expect_gram(*first, f, GramPrecision::int8, 7);
}

TEST(LowGram, SumsMoveOnBeforeTheyLoseDigits) {
  const Matrix<float> f = bounded_rows(150'000, 20);  // more than any kind of sum may have
  for (const GramPrecision precision : precisions) expect_gram(gathered(f, 8192, precision), f, precision, 1);
}

TEST(LowGram, OneRowAndNoRows) {
  const Matrix<float> f = bounded_rows(1, 3);
  for (const GramPrecision precision : precisions) {
    expect_gram(gathered(f, 256, precision), f, precision, 1);
    expect_gram(gathered(f.view().row_range(0, 0), 256, precision), f.view().row_range(0, 0), precision, 1);
  }
}

TEST(LowGram, FeaturesBecomeThoseTheMatrixIsOf) {
  const Index n = 200;
  const Matrix<float> f = bounded_rows(n, 70);
  for (const GramPrecision precision : precisions) {
    for (const bool weighted : {false, true}) {
      if (weighted && precision == GramPrecision::int8) continue;
      SCOPED_TRACE(words(precision) + (weighted ? ", weights" : ""));
      std::vector<double> weights;
      for (Index i = 0; weighted && i < n; ++i) weights.push_back(0.25 * static_cast<double>(1 + i % 5));
      Matrix<double> rows(n, f.cols());
      std::ranges::copy(f.values(), rows.values().begin());
      LowGram low(f.cols(), 256, precision, std::vector<double>(70, 2.0));
      low.begin_block(n);
      low.round_and_add<double>(0, rows, weights);
      NormalSystem system;
      system.intercept = false;
      low.move_into(system);
      for (Index c = 0; c < f.cols(); ++c) {
        double off = 0;
        for (Index i = 0; i < n; ++i) {
          const double root = weighted ? std::sqrt(weights[static_cast<std::size_t>(i)]) : 1.0;
          const double scaled = root * static_cast<double>(f(i, c));
          const bool coarse = precision == GramPrecision::int8 || precision == GramPrecision::bf16;
          EXPECT_NEAR(rows(i, c), coarse ? rounded(static_cast<float>(scaled), precision) : scaled, 1e-6);
          off = std::max(off, std::abs(rows(i, c) - scaled));
        }
        EXPECT_LE(off, 1.0 / 127);  // half a step of 2/127, or 2⁻⁹ of at most 2·1.2
        for (Index b = 0; b <= c; ++b) {
          double sum = 0;
          for (Index i = 0; i < n; ++i) sum += rows(i, c) * rows(i, b);
          EXPECT_NEAR(system.gram(c, b), sum, 4 * n * std::max(1e-6, most_off(precision)));
        }
      }
    }
  }
}

TEST(LowGram, TargetsGoAlongInStepsWhereTheyFit) {
  const Index n = 1000;
  const Index m = 100;
  constexpr Index targets = 3;
  const Matrix<float> f = bounded_rows(n, m);
  const Stream stream(12, "targets");
  Matrix<float> t(n, targets);
  for (Index i = 0; i < n; ++i) {
    for (Index a = 0; a < targets; ++a)
      t(i, a) = static_cast<float>(20 * stream.normal(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(a)));
    for (float& v : t.row(i)) v = std::clamp(v, -63.0F, 63.0F);  // both ends are among them
  }
  t(100, 1) = 63.1F;
  t(970, 0) = std::numeric_limits<float>::quiet_NaN();
  LowGram low(m, 512, GramPrecision::int8, std::vector<double>(static_cast<std::size_t>(m), 2.0), targets);
  ASSERT_TRUE(low.takes_targets());
  ::Eigen::MatrixXd expected = ::Eigen::MatrixXd::Zero(m, 1 + targets);
  const auto stepped = [](float v) { return std::nearbyint(static_cast<double>(v) * 0x1p15) * 0x1p-15; };
  std::vector<double> total(targets, 0.0);
  for (Index first = 0; first < n; first += 512) {
    low.begin_block(std::min<Index>(512, n - first));
    parallel_for(low.tasks(), [&](Index task) { low.run(task); });
    for (Index row = first; row < std::min(n, first + 512); row += 64) {
      const Index rows = std::min<Index>(64, n - row);
      const bool fits = !(row <= 100 && 100 < row + rows) && !(row <= 970 && 970 < row + rows);
      EXPECT_EQ(low.add_with_targets<float>(row - first, f.view().row_range(row, rows), t.view().row_range(row, rows)),
                fits);
      if (!fits) low.add<float>(row - first, f.view().row_range(row, rows), {});
      for (Index i = row; i < row + rows; ++i) {
        for (Index c = 0; c < m; ++c) {
          const double phi = rounded(f(i, c), GramPrecision::int8);
          expected(c, 0) += phi;
          for (Index a = 0; fits && a < targets; ++a) expected(c, 1 + a) += phi * stepped(t(i, a));
        }
        for (Index a = 0; fits && a < targets; ++a) total[static_cast<std::size_t>(a)] += stepped(t(i, a));
      }
    }
  }
  const LowGram::TargetSums sums = low.sums_with_targets();
  for (Index c = 0; c < m; ++c) {
    EXPECT_NEAR(sums.features[static_cast<std::size_t>(c)], expected(c, 0), 1e-11 * 63 * 2 * n);
    for (Index a = 0; a < targets; ++a) EXPECT_NEAR(sums.products(c, a), expected(c, 1 + a), 1e-11 * 63 * 2 * n);
  }
  for (Index a = 0; a < targets; ++a)
    EXPECT_EQ(sums.targets[static_cast<std::size_t>(a)], total[static_cast<std::size_t>(a)]);
  NormalSystem system;
  system.intercept = false;
  low.move_into(system);  // the matrix of features alone
  expect_gram(system.gram, f, GramPrecision::int8, 7);
  // Not as many as would take longer than sums of floats, and not with numbers that are no bytes.
  const std::vector<double> bounds(static_cast<std::size_t>(m), 2.0);
  EXPECT_FALSE(LowGram(m, 512, GramPrecision::int8, bounds, 5).takes_targets());
  EXPECT_FALSE(LowGram(m, 512, GramPrecision::bf16, bounds, 1).takes_targets());
}

TEST(LowGram, WhatRoundingToBytesAddsInAllDirectionsIsKnown) {
  const Index n = 3000;
  const Index m = 60;
  const Matrix<float> f = bounded_rows(n, m);
  LowGram low(m, 4096, GramPrecision::int8, std::vector<double>(static_cast<std::size_t>(m), 2.0));
  low.begin_block(n);
  low.add<float>(0, f, {});
  NormalSystem system;
  system.intercept = false;
  const std::vector<double> excess = low.move_into(system);
  ASSERT_EQ(excess.size(), static_cast<std::size_t>(m));
  ::Eigen::MatrixXd errors(n, m);
  for (Index i = 0; i < n; ++i) {
    for (Index c = 0; c < m; ++c) errors(i, c) = rounded(f(i, c), GramPrecision::int8) - static_cast<double>(f(i, c));
  }
  const ::Eigen::MatrixXd square = errors.transpose() * errors;
  // The least eigenvalue of so many sums of squares fluctuates by less than 2 % (Tracy and Widom).
  const double least = ::Eigen::SelfAdjointEigenSolver<::Eigen::MatrixXd>(square).eigenvalues()[0];
  for (const double e : excess) EXPECT_NEAR(e / least, 1, 0.05);
  // Fewer rows than columns leave directions in which nothing was added.
  LowGram few(m, 256, GramPrecision::int8, std::vector<double>(static_cast<std::size_t>(m), 2.0));
  few.begin_block(50);
  few.add<float>(0, f.view().row_range(0, 50), {});
  EXPECT_TRUE(few.move_into(system).empty());
}

}  // namespace
}  // namespace mercer
