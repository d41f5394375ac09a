#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/matrix.hpp"
#include "solve/feature_chunks.hpp"
#include "solve/sampled_errors.hpp"

namespace mercer {

/// Where sums are of what is left of the targets, y~ - φ~ᵀW, in place of φ~ᵀW, in as many columns as there are targets:
/// their means, and what they are multiplied by.
struct TargetsLeft {
  std::span<const double> mean;
  double scale = 1;
};

/// How far S = Σ w φ~(φ~ᵀW) by a pass in float is from that in double, W a few columns: some rows, one in fifty or, of very
/// many, fewer, are done both ways, and what they differ by stands for all. Cost: as much of a pass in double.
class RoundingSample {
 public:
  using Chunk = FeatureChunks<float>::Chunk;
  /// What sums of every slot differ by, enlarged, which need not be precise; kept from pass to pass, since fresh pages cost
  /// as much as some rows.
  using Rooms = std::vector<Matrix<float>>;
  /// φ~ = φ - mean, `offset` = meanᵀW; sums are kept apart for each slot. Of few rows to come the sample is the whole.
  RoundingSample(const FeatureMap& map, ConstMatrix w, std::span<const double> mean, std::span<const double> offset,
                 Rooms& rooms, Index rows_to_come, std::optional<TargetsLeft> left = {});

  /// Every chunk of the pass, with its F = w φ~ᵀW, or w times what is left of the targets, in float. Slots may come at a
  /// time.
  void look(const Chunk& chunk, MatrixView<const float> f);

  Index rows() const;  ///< of the sample
  /// Root mean square difference of features, relative, of the largest of every 24 rows or fewer. RowOperator::single_unit
  /// is that of chunks of no fewer.
  double largest_unit() const;
  /// S in float - S, or rather what `reduce` makes of it (size × columns), for all rows passed.
  SampledErrors errors(Index size, Index columns, const std::function<void(ConstMatrix s, MutMatrix out)>& reduce) const;

 private:
  struct Weights {
    double sum = 0;
    double square = 0;   ///< Σ (Σ w)² over stretches: neighbours in a sorted table err alike
    double stretch = 0;  ///< Σ w of the one at hand
    void add(const Chunk& chunk, Index rows);
    void end_stretch();
  };
  struct Slot {
    Matrix<float>& difference;      ///< k × m, of which there is something from the first row on
    std::vector<double> ones = {};  ///< of Σ F
    double square = 0;              ///< Σ (φ in float - φ)² of the largest rows
    double all = 0;                 ///< Σ φ² of the same
    Index rows = 0;
    Weights passed = {};
    Weights seen = {};
  };

  void compare(const Chunk& chunk, MatrixView<const float> f, Slot& slot);
  void clear(Slot& slot) const;

  const FeatureMap& map_;
  Matrix<double> w_;  ///< k × m
  std::span<const double> mean_;
  std::span<const double> offset_;
  std::optional<TargetsLeft> left_;
  std::vector<Slot> slots_;
  Index every_;  ///< one stretch of so many is in the sample
  bool whole_;
};

}  // namespace mercer
