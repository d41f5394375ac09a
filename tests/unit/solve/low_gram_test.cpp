#include "solve/low_gram.hpp"

#include <gtest/gtest.h>
#include <mercer/threads.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

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
Matrix<double> gathered(MatrixView<const float> f, Index block_rows, GramPrecision precision) {
  constexpr Index chunk = 64;
  LowGram low(f.cols, block_rows, precision, std::vector<double>(static_cast<std::size_t>(f.cols), 2.0));
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

}  // namespace
}  // namespace mercer
