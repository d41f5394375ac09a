#pragma once
#include <mercer/progress.hpp>
#include <mercer/rows.hpp>

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/matrix.hpp"
#include "map/feature_map.hpp"
#include "solve/statistics.hpp"

namespace mercer {

/// Scalar features φ of all rows, computed once and read as often as an iterative solver wants: in memory while they take no
/// more than `memory_bytes`, beyond that in a scratch file read block by block, so that rows are bounded by the disk.
/// Targets and weights (8·(p + 1) bytes a row) stay in memory.
class FeatureStore {
 public:
  struct Options {
    Precision precision = Precision::single_;
    Index memory_bytes = Index{1} << 30;
    ConstMatrix extra_inputs;  ///< rows without targets, appended after the rows of the source
  };
  static std::unique_ptr<FeatureStore> make(const FeatureMap& map, RowSource& rows, const Options& options,
                                            Progress* progress);
  virtual ~FeatureStore() = default;

  Index rows() const { return rows_; }                ///< the source's and the extra ones
  Index source_rows() const { return source_rows_; }  ///< rows with a target
  Index columns() const { return columns_; }
  Index outputs() const { return outputs_; }
  Point target(Index i) const { return {targets_.data() + i * outputs_, static_cast<std::size_t>(outputs_)}; }
  ConstMatrix targets() const { return {targets_.data(), source_rows_, outputs_}; }
  /// Of a row of the source; 1 where the source has no weights.
  double weight(Index i) const { return weights_[static_cast<std::size_t>(i)]; }
  virtual bool spilled() const = 0;

  /// Rows are handled in chunks, cut by the sizes alone: sums made per chunk and added in order do not depend on threads.
  Index chunks() const { return static_cast<Index>(chunk_starts_.size()) - 1; }
  Index chunk_start(Index chunk) const { return chunk_starts_[static_cast<std::size_t>(chunk)]; }
  /// task(chunk, first row, last row + 1) for every chunk, spread over the pool, without reading features.
  void for_chunks(const std::function<void(Index, Index, Index)>& task) const;

  /// What happens to a chunk of rows: f (rows × k) is φ·w, and t (rows × k') is to be filled.
  using Visit = std::function<void(Index chunk, Index first_row, ConstMatrix f, MutMatrix t)>;
  /// One read of the features: f = φ·w chunk by chunk, visit, sum = Σ φᵀt (columns × k'). w or sum may have no columns.
  /// 2·n·m·(k + k') flops; products in the store's precision, sums over chunks in double and in order.
  virtual void sweep(ConstMatrix w, const Visit& visit, MutMatrix sum) const = 0;

  /// Lower triangle of Σ_i v_i [φ_i, 1][φ_i, 1]ᵀ.  n·m² flops.
  virtual Matrix<double> moments(std::span<const double> v, Progress* progress) const = 0;

 protected:
  FeatureStore() = default;
  void cut(Index block_rows);

  Index rows_ = 0;
  Index source_rows_ = 0;
  Index columns_ = 0;
  Index outputs_ = 0;
  std::vector<double> targets_;
  std::vector<double> weights_;
  std::vector<Index> chunk_starts_{0};
};

}  // namespace mercer
