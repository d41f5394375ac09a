#pragma once
#include <mercer/progress.hpp>

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "solve/feature_chunks.hpp"
#include "solve/lane_sums.hpp"
#include "solve/low_gram.hpp"
#include "solve/ridge.hpp"
#include "solve/rounding_sample.hpp"
#include "solve/sampled_errors.hpp"
#include "solve/statistics.hpp"
#include "solve/stretch_sums.hpp"

namespace mercer {

/// What weights W (columns × k, k at least the number p of targets) leave of the targets, from targets and features as they
/// are, not from a Gram matrix: e = scale·y~ - φ~ᵀW in the first p columns, and φ~ᵀW in the others.
struct LeftOfTargets {
  Matrix<double> sums;               ///< Σ w φ~eᵀ, columns × k
  std::vector<double> squares;       ///< Σ w e², p
  std::vector<double> mean_feature;  ///< by which features were centred: that of this pass
};

/// The normal operator of ridge as passes over the rows, never as a matrix (paper 1, appendix D). Several systems are
/// handled at once, as the columns of `size() × k` matrices. Constant couplings: a system is one channel (size m); otherwise
/// it is a whole θ (size parameters).
template <class Real>
class RowOperator {
 public:
  /// What sums over the rows are of: their features, or those that a LowGram has rounded.
  enum class Summed { exactly, as_rounded };

  /// Features of all rows are kept when they take no more than `memory_bytes`; otherwise they are computed on every pass.
  /// `most_systems` is how many columns `apply` will see at most; `low` gets the features of the first pass, if given.
  RowOperator(const FeatureMap& map, RowSource& rows, bool intercept, Index memory_bytes, Index most_systems,
              Progress* progress, LowGram* low = nullptr, Summed summed = Summed::exactly);

  /// The same operator in another precision, means included: no pass. Features are not kept. Only one of them may be at
  /// work.
  template <class Other>
  explicit RowOperator(const RowOperator<Other>& other)
      : map_(other.map_),
        rows_(other.rows_),
        chunks_(map_, rows_, other.chunks_.slots(), 0),
        sums_(other.sums_),
        stretches_(chunks_.slots()),
        sampled_(sums_->size()),
        progress_(other.progress_) {
    adopt(other);
  }

  /// Rows that `low` sees at once, at most, for so many columns of `apply` or targets.
  static Index block_rows(const FeatureMap& map, Index most_systems);

  Index size() const;
  bool keeps_features() const { return chunks_.keeps(); }
  const Coupling& coupling() const { return map_.coupling(); }
  /// Means, Σ w φ~y~ᵀ, Σ w y~², Σ w: everything of the normal system but its Gram matrix, from one pass.
  const NormalSystem& system() const { return system_; }

  /// How far features in float are from those in double: the root of their mean square difference, relative, by the largest
  /// row of every chunk. Phases of hundreds of turns make it far larger than the rounding of float.
  double single_unit() const { return single_unit_; }
  double feature_square() const { return feature_square_; }  ///< mean ‖φ(x)‖² of the same rows

  /// The features of all rows once more, for a better Gram matrix.
  void gather(LowGram& low);
  /// The first pass once more.
  void accumulate(LowGram* low, Summed summed);

  /// out = Σ_i w_i Φ~_i Φ~_iᵀ v, for every column of v. 4·n·m·k·(p or 1) flops. `uncoupled` gets Σ_i w_i φ~_i φ~_iᵀ W, W the
  /// weights that every column stands for, side by side.
  void apply(ConstMatrix v, MutMatrix out, Matrix<double>* uncoupled = nullptr);
  /// The same, and what every column may be off from what it is in double: three times what a sample of the rows says, up to
  /// five times where that is small, more where other rows lose more digits. For the operator in float that was made from
  /// one in double.
  SampledErrors apply_and_measure(ConstMatrix v, MutMatrix out);
  /// One pass, whose mean of features is that of this operator from then on.
  LeftOfTargets left_of_targets(ConstMatrix w, double scale);
  /// The same and, as in apply_and_measure, what the sums may be off by, or rather what `reduce` makes of them (size ×
  /// columns).
  using Reduce = std::function<void(ConstMatrix s, MutMatrix out)>;
  LeftOfTargets left_and_measured(ConstMatrix w, double scale, Index columns, const Reduce& reduce, SampledErrors& errors);
  /// That of another precision.
  void set_mean_feature(const std::vector<double>& mean) { system_.mean_feature = mean; }
  /// All that the first pass of another precision has found.
  template <class Other>
  void adopt(const RowOperator<Other>& other) {
    system_ = other.system_;
    single_unit_ = other.single_unit_;
    feature_square_ = other.feature_square_;
  }
  /// Σ_i w_i φ~_i φ~_iᵀ W with the scalar Gram, whatever the coupling (W: columns × k).
  Matrix<double> gram_times(ConstMatrix w);
  /// Σ_i √w_i Φ~_i ε_i with ε addressed by (row, output) from `what`: the random right-hand sides of posterior draws.
  void random_rhs(std::string_view what, MutMatrix out);
  /// At most about `count` rows √w Φ~ (as rows of length size()), evenly spread over the data; `weight` is the Σ w of them.
  Matrix<double> sample_rows(Index count, double& weight);

 private:
  template <class Other>
  friend class RowOperator;
  using Chunk = typename FeatureChunks<Real>::Chunk;
  static typename FeatureChunks<Real>::Others products_of(const LowGram& low);
  /// squares += (φ in float - φ in double)², φ², 1 of the largest row of the chunk.
  void add_difference(const Chunk& chunk, std::span<double> squares) const;
  Matrix<double> expand(ConstMatrix v) const;
  void contract(ConstMatrix s, MutMatrix out) const;
  /// S = Σ φᵀF (columns × cols) over all rows, with F (rows × cols) made by `fill(chunk, F)`. Centred when the means are
  /// known.
  template <class Fill>
  Matrix<double> adjoint_pass(Index cols, const Fill& fill, LowGram* low = nullptr, Summed summed = Summed::exactly);
  std::vector<double> sums_of_factors(Index cols) const;  ///< Σ F of the last pass
  /// Σ w φ~F with F = φ~ᵀW, which `look(chunk, F)` gets to see; `offset` is φ¯ᵀW.
  template <class Look>
  Matrix<double> gram_pass(ConstMatrix w, std::span<const double> offset, const Look& look);
  template <class Look>
  LeftOfTargets left_pass(ConstMatrix w, std::span<const double> offset, double scale, const Look& look);
  /// What passes in float are off by, by the rows that `sample` has seen.
  SampledErrors measured(const RoundingSample& sample, Index columns, const Reduce& reduce) const;

  const FeatureMap& map_;
  RowSource& rows_;
  FeatureChunks<Real> chunks_;
  std::shared_ptr<std::vector<LaneSums>> sums_;  ///< one room for operators that never pass at a time
  StretchRooms<Real> stretches_;
  RoundingSample::Rooms sampled_;
  Progress* progress_;
  NormalSystem system_;
  double single_unit_ = 0;
  double feature_square_ = 0;
};

template <>
SampledErrors RowOperator<float>::apply_and_measure(ConstMatrix v, MutMatrix out);
template <>
LeftOfTargets RowOperator<float>::left_and_measured(ConstMatrix w, double scale, Index columns, const Reduce& reduce,
                                                    SampledErrors& errors);

}  // namespace mercer
