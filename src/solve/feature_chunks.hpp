#pragma once
#include <mercer/rows.hpp>

#include <functional>
#include <span>

#include "base/matrix.hpp"
#include "map/feature_map.hpp"

namespace mercer {

/// Passes over the rows as features, in chunks of about the size of the second cache: computed, used, forgotten, by
/// whichever thread is free. Stretches of `slot_rows` rows are dealt to `slots`, a number that sizes alone determine, by
/// turns; the chunks of a slot come in order and never two at a time, so sums that a consumer keeps per slot and adds in the
/// order of slots do not depend on the threads. Large ones are better kept per stretch, in as many rooms as are at work, and
/// added up in a few lanes (Ends).
template <class Real>
class FeatureChunks {
 public:
  struct Chunk {
    Index slot = 0;
    Index first_row = 0;            ///< in the whole data
    Index row_in_block = 0;         ///< a multiple of 8
    bool first_of_stretch = false;  ///< of slot_rows rows
    bool last_of_stretch = false;
    ConstMatrix rows;           ///< the inputs as they came
    MatrixView<Real> features;  ///< to be changed only where they are not kept
    ConstMatrix targets;
    std::span<const double> weights;  ///< empty: all 1

    double weight(Index i) const { return weights.empty() ? 1.0 : weights[static_cast<std::size_t>(i)]; }
    /// That with the largest inputs among the first `count`; -1: none has a weight.
    Index largest_row(Index count) const {
      Index found = -1;
      double largest = -1;
      for (Index i = 0; i < count; ++i) {
        double square = 0;
        for (const double v : rows.row(i)) square += v * v;
        if (!(square > largest && weight(i) > 0)) continue;
        largest = square;
        found = i;
      }
      return found;
    }
    /// F := w·(F - offset) for its first rows.
    template <class Number>
    void centre_and_weigh(std::span<const double> offset, MatrixView<Number> f) const {
      for (Index i = 0; i < f.rows; ++i) {
        const double w = weight(i);
        Number* row = f.row(i).data();
        for (Index k = 0; k < f.cols; ++k)
          row[k] = static_cast<Number>(w * (static_cast<double>(row[k]) - offset[static_cast<std::size_t>(k)]));
      }
    }
    /// F := scale·w·(y - mean) - F for as many columns as there are targets.
    template <class Number>
    void take_from_targets(std::span<const double> mean, double scale, MatrixView<Number> f) const {
      for (Index i = 0; i < f.rows; ++i) {
        const double factor = scale * weight(i);
        const double* target = targets.row(i).data();
        Number* row = f.row(i).data();
        for (Index a = 0; a < targets.cols; ++a) {
          const double left = factor * (target[a] - mean[static_cast<std::size_t>(a)]) - static_cast<double>(row[a]);
          row[a] = static_cast<Number>(left);
        }
      }
    }
  };

  /// Features of all rows are kept from the first pass on when they take no more than `memory_bytes`.
  FeatureChunks(const FeatureMap& map, RowSource& rows, Index slots, Index memory_bytes);

  static constexpr Index slot_rows = 256;
  Index block_rows() const { return slots_ * slot_rows; }
  Index slots() const { return slots_; }
  bool keeps() const { return keep_; }

  using Consumer = std::function<void(const Chunk&)>;
  /// Before each block: with its first row and number of rows, outside of the pool.
  using BlockHook = std::function<void(Index first_row, Index rows)>;
  /// After the last chunk of a stretch, by the same thread: stretches are dealt to lanes (at least one) by turns, and `done`
  /// is called for those of a lane in order and never two at a time. For the stretch that is one round of lanes earlier
  /// threads wait at the end only, with the turn of their slot in hand.
  struct Ends {
    Index lanes = 0;
    std::function<void(Index lane, Index slot)> done;
  };
  /// Blocks of as many rows as make threads wait for each other seldom.
  void for_each(const Consumer& consume, const BlockHook& before = {}, const Ends& ends = {});
  /// Work that goes along with the chunks of a block, as tasks that are begun in their order; known after `before`.
  struct Others {
    std::function<Index()> count;
    std::function<void(Index)> run;
  };
  /// Blocks of so many rows, a multiple of slot_rows.
  void for_each_block(Index rows, const Consumer& consume, const BlockHook& before, const Others& others,
                      const Ends& ends = {});

 private:
  void pass(Index rows_at_once, const Consumer& consume, const BlockHook& before, const Others& others, const Ends& ends);
  void consume_stretch(Index slot, Index stretch, Index first_row, const RowBlock& block, const Consumer& consume);
  Index chunk_rows() const;

  const FeatureMap& map_;
  RowSource& rows_;
  Index slots_;
  bool keep_;
  bool kept_ = false;
  Matrix<Real> features_;  ///< when kept
};

}  // namespace mercer
