// What weights leave of the targets, against dense matrices.
#include "solve/row_operator.hpp"

#include <gtest/gtest.h>
#include <mercer/error.hpp>
#include <mercer/threads.hpp>

#include <cmath>
#include <optional>

#include "unit/solve/data.hpp"

namespace mercer {
namespace {

using namespace samples;

/// Everything by dense matrices of √w.
struct LeftByDense {
  Dense sums;
  Vector squares;
  Vector mean;
};

LeftByDense expected(const FourierMap& map, const Data& s, const Matrix<double>& w, double scale, bool intercept) {
  Dense phi = dense(features(map, s.x));
  Dense y = scale * dense(s.y);
  const std::vector<double> weights = s.all_weights();
  const Vector wt = ::Eigen::Map<const Vector>(weights.data(), static_cast<::Eigen::Index>(weights.size()));
  const Vector mean = intercept ? Vector(phi.transpose() * wt / wt.sum()) : Vector(Vector::Zero(phi.cols()));
  phi.rowwise() -= mean.transpose();
  if (intercept) y.rowwise() -= (wt.transpose() * y / wt.sum()).eval();
  Dense e = phi * dense(w);
  e.leftCols(y.cols()) = y - e.leftCols(y.cols());
  return {phi.transpose() * wt.asDiagonal() * e, (wt.asDiagonal() * e.leftCols(y.cols()).cwiseAbs2()).colwise().sum(), mean};
}

void expect_left(Data& s, bool intercept, double scale) {
  const FourierMap map = map_of("gaussian(1.5)", 3, 2, 40);
  ArrayRows rows = s.rows();
  const Matrix<double> w = normals(map.columns(), 3, "weights");  // of two outputs, and one that goes along
  const LeftByDense truth = expected(map, s, w, scale, intercept);
  RowOperator<double> op(map, rows, intercept, 0, 3, nullptr);
  // Means that are off, as those of rounded rows are, are found out.
  std::vector<double> mean = op.system().mean_feature;
  for (std::size_t c = 0; intercept && c < mean.size(); ++c) mean[c] += 1e-4 * std::sin(static_cast<double>(c));
  op.set_mean_feature(mean);
  RowOperator<float> rough(op);
  const auto expect_near = [&](const LeftOfTargets& left, double tolerance) {
    EXPECT_LT((dense(left.sums) - truth.sums).norm() / truth.sums.norm(), tolerance);
    for (std::size_t a = 0; a < 2; ++a)
      EXPECT_NEAR(left.squares[a] / truth.squares[static_cast<::Eigen::Index>(a)], 1, tolerance);
    double off = 0;
    for (std::size_t c = 0; c < left.mean_feature.size(); ++c)
      off = std::max(off, std::abs(left.mean_feature[c] - truth.mean[static_cast<::Eigen::Index>(c)]));
    EXPECT_LT(off, tolerance);
  };
  const LeftOfTargets exact = op.left_of_targets(w, scale);
  expect_near(exact, 1e-12);
  EXPECT_EQ(op.system().mean_feature, exact.mean_feature);
  SampledErrors errors;
  const auto as_it_is = [](ConstMatrix s_, MutMatrix out) {
    for (Index i = 0; i < s_.rows; ++i) std::ranges::copy(s_.row(i), out.row(i).begin());
  };
  const LeftOfTargets measured = rough.left_and_measured(w, scale, 3, as_it_is, errors);
  expect_near(measured, 2e-5);
  const std::vector<double> norms = errors.norms();
  for (Index k = 0; k < 3; ++k) {
    const double off = (dense(measured.sums) - truth.sums).col(k).norm();
    EXPECT_LE(off, norms[static_cast<std::size_t>(k)]);
    EXPECT_GE(60 * off, norms[static_cast<std::size_t>(k)]);
  }
}

TEST(RowOperator, WhatIsLeftOfTheTargets) {
  for (const bool intercept : {true, false}) {
    SCOPED_TRACE(intercept);
    Data s = data(3000, 3, 2);
    expect_left(s, intercept, 1.0);
    expect_left(s, intercept, 0.125);
    Data weighted = data(3000, 3, 2);
    for (Index i = 0; i < 3000; ++i) weighted.weights.push_back(i % 3 == 0 ? 0.0 : 1 + 1e-3 * static_cast<double>(i));
    expect_left(weighted, intercept, 1.0);
  }
}

/// So many columns of so many features that stretches have several chunks, and their sums fewer lanes than slots: they are
/// those of dense matrices, and the same to the last bit for any number of threads.
TEST(RowOperator, SumsInLanesDoNotDependOnThreads) {
  constexpr Index n = 12000;
  constexpr Index columns = 24;
  const FourierMap map = map_of("gaussian(1.5)", 3, 1, 600);
  Data s = data(n, 3, 1);
  s.weights = counts(n);
  const Matrix<double> w = normals(map.columns(), columns, "weights");
  Dense phi = dense(features(map, s.x));
  const Vector weights = ::Eigen::Map<const Vector>(s.weights.data(), n);
  const Vector mean = phi.transpose() * weights / weights.sum();
  phi.rowwise() -= mean.transpose();
  const Dense truth = phi.transpose() * (weights.asDiagonal() * (phi * dense(w)).eval());
  Matrix<double> in_double;
  Matrix<double> in_float;
  for (const int threads : {1, 2, 5}) {
    SCOPED_TRACE(threads);
    set_threads(threads);
    ArrayRows rows = s.rows();
    RowOperator<double> op(map, rows, true, 0, columns, nullptr);
    RowOperator<float> rough(op);
    for (int pass = 0; pass < 2; ++pass) {  // the second one in the rooms of the first
      const Matrix<double> exact = op.gram_times(w);
      const Matrix<double> near = rough.gram_times(w);
      EXPECT_LT((dense(exact) - truth).norm() / truth.norm(), 1e-12);
      EXPECT_LT((dense(near) - truth).norm() / truth.norm(), 1e-5);
      if (in_double.empty()) {
        in_double = exact;
        in_float = near;
      }
      EXPECT_TRUE(std::ranges::equal(exact.values(), in_double.values()));
      EXPECT_TRUE(std::ranges::equal(near.values(), in_float.values()));
    }
  }
  set_threads(0);
}

/// Targets of rows like any others, tiny ones, and some that are far larger than the first: those of one row in the middle
/// of a stretch, of whole stretches, and of all from some row on.
TEST(RowOperator, SumsOfRoundedRowsAreThoseOfTheirGramMatrix) {
  const FourierMap map = map_of("gaussian(1.5)", 3, 2, 40);
  enum class Targets { alike, tiny, one_large, some_large, growing };
  for (const auto& [gram, along] :
       {std::pair{GramPrecision::int8, true}, std::pair{GramPrecision::int8, false}, std::pair{GramPrecision::bf16, true}}) {
    for (const Targets kind : {Targets::alike, Targets::tiny, Targets::one_large, Targets::some_large, Targets::growing}) {
      SCOPED_TRACE(words(gram) + ", targets of kind " + std::to_string(static_cast<int>(kind)) + (along ? ", along" : ""));
      Data s = data(3000, 3, 2);
      for (Index i = 0; i < 3000; ++i) {
        const bool large = (kind == Targets::one_large && i == 700) ||
                           (kind == Targets::some_large && (i / 256 == 3 || i % 97 == 60)) ||
                           (kind == Targets::growing && i > 1300);
        for (double& y : s.y.row(i)) y *= kind == Targets::tiny ? 1e-160 : large ? 1e5 : 1.0;
      }
      if (gram == GramPrecision::bf16) s.weights = counts(3000);
      ArrayRows rows = s.rows();
      LowGram low(map.columns(), RowOperator<float>::block_rows(map, 3), gram, map.bounds(), along ? 2 : 0);
      EXPECT_EQ(low.takes_targets(), along && gram == GramPrecision::int8);
      const RowOperator<float> op(map, rows, true, 0, 3, nullptr, &low, RowOperator<float>::Summed::as_rounded);
      NormalSystem system = op.system();
      low.move_into(system);
      // The same by dense matrices of rounded rows.
      Dense phi = dense(features(map, s.x));
      const std::vector<double> weights = s.all_weights();
      const double bound = map.bounds().front();
      Dense y = dense(s.y);
      Vector root(3000);
      for (::Eigen::Index i = 0; i < 3000; ++i) {
        root[i] = std::sqrt(weights[static_cast<std::size_t>(i)]);
        for (::Eigen::Index c = 0; c < phi.cols(); ++c) {
          const double v = root[i] * phi(i, c);
          phi(i, c) = gram == GramPrecision::int8 ? std::nearbyint(v * 127 / bound) * bound / 127 : rounded_to_bfloat(v);
        }
        y.row(i) *= root[i];
      }
      const Vector mean = phi.transpose() * root / root.squaredNorm();
      const Dense centred = phi - root * mean.transpose();
      const Dense targets = y - root * (root.transpose() * y / root.squaredNorm()).eval();
      // Features in float may be rounded the other way now and then.
      EXPECT_LT((dense(system.cross) - centred.transpose() * targets).norm() / (centred.transpose() * targets).norm(), 1e-4);
      const Dense product = centred.transpose() * centred;
      const Dense got = dense(system.gram).selfadjointView<::Eigen::Lower>();
      EXPECT_LT((got - product).norm() / product.norm(), 1e-4);
    }
  }
}

/// Some targets too large to go along as bytes: their rows are summed as floats, by lanes that blocks of any size leave
/// alike.
TEST(RowOperator, RoundedRowsDoNotDependOnThreads) {
  const FourierMap map = map_of("gaussian(1.5)", 3, 2, 40);
  Data s = data(20'000, 3, 2);
  for (Index i = 5000; i < 20'000; i += 1700) s.y(i, 1) *= 1e5;
  std::optional<Matrix<double>> first;
  for (const int count : {1, 2, 5}) {
    set_threads(count);
    ArrayRows rows = s.rows();
    LowGram low(map.columns(), RowOperator<float>::block_rows(map, 3), GramPrecision::int8, map.bounds(), 2);
    const RowOperator<float> op(map, rows, true, 0, 3, nullptr, &low, RowOperator<float>::Summed::as_rounded);
    if (!first) first = op.system().cross;
    EXPECT_TRUE(std::ranges::equal(op.system().cross.values(), first->values())) << count << " threads";
  }
  set_threads(0);
}

/// Rows that cannot be read to the end once.
class InterruptedRows : public ArrayRows {
 public:
  explicit InterruptedRows(const Data& s) : ArrayRows(s.x, s.y) {}
  bool next(Index max_rows, RowBlock& block) override {
    if (interrupted && ++blocks_ == 2) throw Error(ErrorKind::interrupted, "stopped");
    return ArrayRows::next(std::min<Index>(max_rows, 4096), block);
  }
  bool interrupted = false;

 private:
  int blocks_ = 0;
};

TEST(RowOperator, APassThatWasInterruptedLeavesNothingBehind) {
  const FourierMap map = map_of("gaussian(1.5)", 3, 1, 300);
  const Data s = data(12'000, 3, 1);
  const Matrix<double> w = normals(map.columns(), 6, "weights");
  InterruptedRows rows(s);
  RowOperator<float> op(map, rows, true, 0, 6, nullptr);
  const Matrix<double> whole = op.gram_times(w);
  rows.interrupted = true;
  EXPECT_THROW(op.gram_times(w), Error);
  rows.interrupted = false;
  EXPECT_TRUE(std::ranges::equal(op.gram_times(w).values(), whole.values()));
}

}  // namespace
}  // namespace mercer
