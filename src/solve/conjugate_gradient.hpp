#pragma once
#include <mercer/progress.hpp>
#include <mercer/rows.hpp>

#include "solve/ridge.hpp"

namespace mercer {

struct IterativeOptions {
  double penalty = 1e-6;
  bool intercept = true;
  Uncertainty keep = Uncertainty::automatic;
  Index memory_bytes = Index{1} << 30;
  double tolerance = 1e-10;  ///< relative residual of the normal equations; float32 passes reach about 1e-6
  int most_iterations = 2000;
};

/// Preconditioned conjugate gradients on the normal equations without forming them: for maps with so many features that
/// their Gram matrix does not fit. The preconditioner is the Gram matrix of about 1500 sampled rows plus the ridge, inverted
/// by Woodbury's identity: O(1500·size) per application.
RidgeSolution solve_conjugate_gradient(const FeatureMap& map, RowSource& rows, Precision precision,
                                       const IterativeOptions& options, Progress* progress);

}  // namespace mercer
