#include "solve/statistics.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "solve/feature_rows.hpp"

namespace mercer {
namespace {

std::uint64_t fingerprint(const RowBlock& block) {
  auto hash = static_cast<std::uint64_t>(block.rows());
  for (Index i = 0; i < block.rows(); ++i) {
    hash = XXH3_64bits_withSeed(block.inputs.row(i).data(), block.inputs.row(i).size_bytes(), hash);
    hash = XXH3_64bits_withSeed(block.targets.row(i).data(), block.targets.row(i).size_bytes(), hash);
  }
  return XXH3_64bits_withSeed(block.weights.data(), block.weights.size_bytes(), hash);
}

template <class Real>
RidgeStatistics accumulate_in(const FeatureMap& map, RowSource& rows, Progress* progress) {
  RidgeStatistics s;
  s.columns = map.columns();
  s.outputs = rows.target_count();
  const Index width = s.columns + 1 + s.outputs;
  s.moments = Matrix<double>(width, width);
  FeatureRows<Real> blocks(map, rows);
  blocks.rewind();
  while (blocks.next()) {
    s.blocks.push_back(fingerprint(blocks.source_block()));
    MatrixView<Real> f = blocks.augmented();
    if (!blocks.weights().empty()) {
      parallel_for(f.rows, [&](Index i) {
        const Real root = static_cast<Real>(std::sqrt(blocks.weight(i)));
        for (Real& v : f.row(i)) v *= root;
      });
    }
    accumulate_gram<Real>(f, s.moments);
    s.rows += blocks.count();
    if (rows.row_count() > 0) {
      report(progress, "accumulating", static_cast<double>(s.rows) / static_cast<double>(rows.row_count()));
    }
  }
  if (s.rows == 0) fail_argument("there are no rows to learn from");
  std::ranges::sort(s.blocks);
  return s;
}

}  // namespace

RidgeStatistics accumulate(const FeatureMap& map, RowSource& rows, Precision precision, Progress* progress) {
  return precision == Precision::single_ ? accumulate_in<float>(map, rows, progress)
                                         : accumulate_in<double>(map, rows, progress);
}

void merge(RidgeStatistics& into, const RidgeStatistics& other) {
  if (into.columns != other.columns || into.outputs != other.outputs) {
    fail_argument("statistics of different shape cannot be merged: " + std::to_string(into.columns) + " features and " +
                  std::to_string(into.outputs) + " outputs against " + std::to_string(other.columns) + " and " +
                  std::to_string(other.outputs));
  }
  std::vector<std::uint64_t> common;
  std::ranges::set_intersection(into.blocks, other.blocks, std::back_inserter(common));
  if (!common.empty()) {
    fail_argument("rows are in both statistics and would count twice (blocks in common: " + std::to_string(common.size()) +
                  "); merge each shard once");
  }
  std::ranges::transform(into.moments.values(), other.moments.values(), into.moments.values().begin(), std::plus<>());
  into.rows += other.rows;
  std::vector<std::uint64_t> all;
  std::ranges::merge(into.blocks, other.blocks, std::back_inserter(all));
  into.blocks = std::move(all);
}

NormalSystem normal_system(const RidgeStatistics& s, const Coupling& coupling, bool intercept) {
  const Index m = s.columns;
  const Index p = s.outputs;
  NormalSystem n;
  n.coupling = &coupling;
  n.intercept = intercept;
  n.weight = s.weight();
  for (Index i = 0; i < s.moments.rows(); ++i) {
    if (!std::isfinite(s.moments(i, i))) {
      fail_argument(
          "the sums of squared features or targets overflow: scale the data (standardize), lower the degree of the kernel, "
          "or divide the weights by the largest of them");
    }
  }
  if (!(n.weight > 0)) fail_argument("the weights of all rows are 0: there is nothing to learn from");
  n.mean_feature.assign(static_cast<std::size_t>(m), 0);
  n.mean_target.assign(static_cast<std::size_t>(p), 0);
  if (intercept) {
    for (Index c = 0; c < m; ++c) n.mean_feature[static_cast<std::size_t>(c)] = s.moments(m, c) / n.weight;
    for (Index a = 0; a < p; ++a) n.mean_target[static_cast<std::size_t>(a)] = s.moments(m + 1 + a, m) / n.weight;
  }
  n.gram = Matrix<double>(m, m, Pages::small);
  parallel_for(m, [&](Index i) {
    const double mean = n.weight * n.mean_feature[static_cast<std::size_t>(i)];
    for (Index j = 0; j <= i; ++j) n.gram(i, j) = s.moments(i, j) - mean * n.mean_feature[static_cast<std::size_t>(j)];
  });
  n.cross = Matrix<double>(m, p);
  for (Index a = 0; a < p; ++a) {
    const double mean = n.weight * n.mean_target[static_cast<std::size_t>(a)];
    for (Index c = 0; c < m; ++c)
      n.cross(c, a) = s.moments(m + 1 + a, c) - mean * n.mean_feature[static_cast<std::size_t>(c)];
    n.target_square.push_back(s.moments(m + 1 + a, m + 1 + a) - mean * n.mean_target[static_cast<std::size_t>(a)]);
  }
  return n;
}

}  // namespace mercer
