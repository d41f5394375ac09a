#pragma once
#include <string>

#include "model/fit.hpp"
#include "solve/leave_one_out.hpp"

namespace mercer {

/// Above this an eigendecomposition costs more than a Cholesky factorisation for each of some eighteen penalties.
constexpr Index eigen_limit = 5000;

/// A penalty that a coarse Gram matrix cannot choose (little noise, or a very smooth function) costs another
/// eigendecomposition, as much as some 40 rows per column: they must be few beside all rows.
constexpr Index rows_per_column_to_choose = 200;

/// Unknowns of the system that is factored.
Index system_size(const Coupling& coupling);

/// Rows that the choice of a penalty leaves out, by an eigendecomposition or by factors: what they take is an eighth of the
/// budget at most, or that of 1000 rows.
LeaveOneOutLimits leave_one_out_limits(const FitOptions& options, bool eigen);

/// What factors of several gains may take (Refinement::Setup).
Index factor_bytes(const FitOptions& options);

/// The square loss with a feature map: by the solver that options and sizes ask for.
void fit_ridge(RowSource& rows, const Recipe& recipe, const FitOptions& options, Model::State& state);

/// The penalty of least leave-one-out error, by the eigendecomposition of the system or, without it, by a Cholesky
/// factorisation for each penalty. How it was found goes into the summary.
double choose_penalty(const FeatureMap& map, RowSource& rows, const NormalSystem& system, const EigenSystem* eigen,
                      const FitOptions& options, FitSummary& summary);

/// Hands over what a solver found.
void take(RidgeSolution&& solution, Model::State& state);
void record_path(const PenaltyPath& path, FitSummary& summary);

/// Ridge by low-precision Gram matrices, each better than the one before, until the answer has the precision asked for; the
/// reasons for each change go into the notes. False when none did, and a Gram matrix in full precision must.
bool fit_refined(RowSource& rows, const Recipe& recipe, const FitOptions& options, Model::State& state);

}  // namespace mercer
