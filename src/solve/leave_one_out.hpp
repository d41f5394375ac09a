#pragma once
#include <mercer/progress.hpp>

#include <limits>
#include <vector>

#include "solve/ridge.hpp"
#include "solve/statistics.hpp"

namespace mercer {

/// Mean squared leave-one-out error at one penalty.
struct PenaltyScore {
  double penalty = 0;
  double mean_square = 0;          ///< mean over rows of ‖y_i - f_{-i}(x_i)‖², weighted
  std::vector<double> per_output;  ///< p
};

struct PenaltyPath {
  std::vector<PenaltyScore> scores;  ///< by penalty, ascending
  std::size_t best = 0;
  Index rows = 0;        ///< rows whose leave-one-out error was computed
  bool all_rows = true;  ///< false: a random subset, since every row would cost more than the fit itself
};

/// The error of a row that rounding hides.
inline constexpr double unknown_error = std::numeric_limits<double>::infinity();
/// Sorts the scores, leaves out penalties with unknown errors where there are others, and finds the best: among equals the
/// larger penalty, the smoother function.
void find_best(PenaltyPath& path);

/// Rows kept for leave-one-out: centred features and targets.
struct LeaveOneOutRows {
  Matrix<double> features;      ///< q × m, minus the mean feature
  Matrix<double> targets;       ///< q × p, minus the mean target
  std::vector<double> weights;  ///< q
  bool all_rows = true;
};
/// Of every feature of a row: itself, and rotated.
inline constexpr Index left_out_bytes = 16;
/// What leave-one-out may take: a row counts with its features (as leave_one_out unfolds them). A thousand rows are taken in
/// any case.
struct LeaveOneOutLimits {
  Index rows = std::numeric_limits<Index>::max();
  Index values = Index{1} << 24;
};
/// How many they are of n, within these limits, and the features of one as leave_one_out unfolds them.
Index leave_one_out_count(const FeatureMap& map, Index n, const LeaveOneOutLimits& most);
Index unfolded_features(const FeatureMap& map);
/// All rows, or a random subset within these limits, chosen by the row number and `seed` alone.
LeaveOneOutRows leave_one_out_rows(const FeatureMap& map, RowSource& rows, const NormalSystem& system, std::uint64_t seed,
                                   Progress* progress, const LeaveOneOutLimits& most = {});

/// Exact leave-one-out errors of ridge at many penalties, without refitting. Leaving out one copy of a row of weight w means
/// leaving out one unit of its weight, or the row where it weighs less: u = min(1, w). With leverages h (per unit weight)
/// and residuals r:  constant coupling: in the eigenbasis of A, r_ij/(1 - u h_ij);  coupled outputs: (I - u H_i)⁻¹ r_i.
/// Penalties at which rounding is all that is left of 1 - u h are left out.
PenaltyPath leave_one_out(const EigenSystem& eigen, const LeaveOneOutRows& rows, const std::vector<double>& penalties);

/// The same by one Cholesky factorisation per penalty, for systems too large to diagonalise.
PenaltyPath leave_one_out(const NormalSystem& system, const LeaveOneOutRows& rows, const std::vector<double>& penalties,
                          Progress* progress);

/// Penalties worth trying: powers of `step` from 1e-13 to 10 times the power of ten nearest to tr(M)/(n·p), the mean
/// variance of an output under the kernel (M the normal matrix of all outputs).
std::vector<double> penalty_grid(const NormalSystem& system, double step);

}  // namespace mercer
