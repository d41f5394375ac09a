#pragma once
#include <mercer/progress.hpp>
#include <mercer/rows.hpp>

#include <cstdint>
#include <vector>

#include "base/matrix.hpp"
#include "map/feature_map.hpp"

namespace mercer {

enum class Precision { single_, double_ };

/// Everything ridge needs to know of the rows: Σ w f fᵀ over augmented rows f = [φ(x), 1, y] (THEORY 3: one scalar Gram
/// serves every output operator). Additive: shards accumulate apart and merge in any order.
struct RidgeStatistics {
  Index columns = 0;                  ///< m, scalar feature columns
  Index outputs = 0;                  ///< p
  Index rows = 0;                     ///< rows seen
  Matrix<double> moments;             ///< lower triangle of (m + 1 + p)²
  std::vector<std::uint64_t> blocks;  ///< sorted fingerprints of the row blocks inside, so that nothing counts twice

  double weight() const { return moments(columns, columns); }  ///< Σ w
};

/// One pass over the rows: n·(m+1+p)² flops, one feature block and one (m+1+p)² matrix in memory.
RidgeStatistics accumulate(const FeatureMap& map, RowSource& rows, Precision precision, Progress* progress = nullptr);

/// The statistics of both sets of rows; throws Error when shapes differ or a block of rows is in both.
void merge(RidgeStatistics& into, const RidgeStatistics& other);

/// What the normal equations look like once the unpenalised intercept has been eliminated (features and targets centred by
/// their weighted means; without intercept the means are 0).
struct NormalSystem {
  const Coupling* coupling = nullptr;
  Matrix<double> gram;                ///< m × m, lower: Σ w φ~φ~ᵀ
  Matrix<double> cross;               ///< m × p: Σ w φ~y~ᵀ
  std::vector<double> target_square;  ///< p: Σ w y~²
  std::vector<double> mean_feature;   ///< m
  std::vector<double> mean_target;    ///< p
  double weight = 0;                  ///< Σ w, the n of nλ
  bool intercept = true;
};
NormalSystem normal_system(const RidgeStatistics& statistics, const Coupling& coupling, bool intercept);

}  // namespace mercer
