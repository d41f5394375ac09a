#pragma once
#include <mercer/progress.hpp>
#include <mercer/rows.hpp>

#include <span>
#include <string>
#include <vector>

#include "base/matrix.hpp"
#include "model/target_coding.hpp"

namespace mercer {

/// Affine scaling of inputs and targets: scaled = (raw - shift)/scale.
struct Scaling {
  std::vector<double> input_shift, input_scale;    ///< d
  std::vector<double> target_shift, target_scale;  ///< p; empty when targets are classes

  static Scaling identity(Index inputs, Index targets);
};

/// Inputs in scaled units; rows with NaN or infinity become 0 and are marked.
std::vector<bool> scale_inputs(const Scaling& scaling, ConstMatrix x, MutMatrix scaled);

/// What one pass over the raw rows tells.
struct RowSummary {
  Index rows = 0;
  double weight = 0;
  std::vector<double> input_mean, input_variance;
  std::vector<double> target_mean, target_variance;
  Matrix<double> sample;              ///< up to 1000 rows of inputs, spread over all of them
  Matrix<double> target_sample;       ///< the targets of those rows
  std::vector<double> sample_weight;  ///< their weights
};
/// Throws Error naming row and column of the first value that is not finite, or weight that is negative; and of columns
/// whose squares leave the range of doubles, the largest value, or (of targets) that all are too near each other.
RowSummary summarize(RowSource& rows, Progress* progress);

/// Standardises each axis; with `shared`, one common scale for all inputs and one for all targets, which keeps curl and
/// divergence what they are. Constant columns keep scale 1.
Scaling standardizing(const RowSummary& summary, bool shared, bool scale_targets);

/// Targets by their median and 1.4826 × their median absolute deviation (of the sampled rows) instead of mean and standard
/// deviation: what losses that shrug off outliers measure residuals in. Where half of the targets are equal, as before.
void scale_targets_robustly(const RowSummary& summary, bool shared, Scaling& scaling);

/// Median of ‖x - z‖ over pairs of sampled rows in scaled units, pairs weighted by w_i w_j (and w(w-1)/2 zero distances
/// within a row of weight w, as if it were repeated); 1 when all rows coincide.
double median_distance(const RowSummary& summary, const Scaling& scaling);

/// Rows in scaled units, with coded targets. Refuses rows of another shape than the scaling, values that are not finite
/// (shards are not summarised before), and class numbers that are none. Tables that take no more than `most_kept_bytes` are
/// kept after the first whole pass: reading and scaling them took a twentieth of each pass of sixteen threads.
class ScaledRows : public RowSource {
 public:
  ScaledRows(RowSource& raw, const Scaling& scaling, const TargetCoding& coding, Index most_kept_bytes = 0);
  Index input_count() const override { return raw_.input_count(); }
  Index target_count() const override {
    return coding_.classifies() ? coding_.codes.cols() : raw_.target_count() * coding_.copies;
  }
  Index row_count() const override { return raw_.row_count(); }
  bool next(Index max_rows, RowBlock& block) override;
  void rewind() override {
    position_ = 0;
    if (!complete_) raw_.rewind();
  }

 private:
  /// Rows begin, … of the block, to those from `first` on.
  void scale(const RowBlock& block, Index begin, Index end, Index first);
  /// `rows` rows from the next on.
  bool give(Index rows, RowBlock& block);

  RowSource& raw_;
  const Scaling& scaling_;
  const TargetCoding& coding_;
  bool keeps_;
  bool complete_ = false;  ///< all rows are here
  Index position_ = 0;
  Matrix<double> inputs_;  ///< of all rows where they are kept, or of the last block
  Matrix<double> targets_;
  std::vector<double> weights_;
};

}  // namespace mercer
