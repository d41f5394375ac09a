#pragma once
#include <mercer/rows.hpp>

#include <cstdint>
#include <optional>
#include <vector>

#include "io/split.hpp"

namespace mercer {

/// How rows take turns at being validated on.
struct FoldPlan {
  Index folds = 5;
  std::optional<double> holdout;  ///< one validation part of this share instead of folds
  bool in_order = false;          ///< folds are blocks of neighbouring rows, the held-out part is the last rows
  std::uint64_t seed = 0;
};

/// Which fold each row belongs to; -1: always in training.
struct Folds {
  std::vector<std::int32_t> of_row;
  Index count = 0;

  Index size(Index fold) const;
  /// The rows of the fold, or all others.
  ChosenRows validation(RowSource& all, Index fold) const;
  ChosenRows training(RowSource& all, Index fold) const;
};

/// Sizes differ by one row at most. The random choice is a function of (seed, rows) alone.
Folds make_folds(Index rows, const FoldPlan& plan);

/// The largest lag-1 autocorrelation of a target. Under a random order of n rows it is about normal with mean -1/(n - 1) and
/// variance 1/n, whatever the values.
double lag_one(RowSource& rows);
/// True when that is above 5/√n (3e-7 of random orders) and above 0.1, which would make random folds flatter a model.
bool looks_ordered(double autocorrelation, Index rows);

}  // namespace mercer
