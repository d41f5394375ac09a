#pragma once
#include <mercer/progress.hpp>
#include <mercer/rows.hpp>

#include <cstdint>
#include <vector>

#include "loss/loss.hpp"
#include "map/feature_map.hpp"
#include "solve/convex.hpp"
#include "solve/statistics.hpp"

namespace mercer {

enum class DescentMethod { adam, sgd };

struct SubgradientOptions {
  DescentMethod method = DescentMethod::adam;
  double penalty = 1e-6;
  bool intercept = true;
  int passes = 20;         ///< over the rows
  Index batch = 64;        ///< rows per step
  double step = 0;         ///< of the first step; 0 chooses one from the loss and the spread of the targets
  std::uint64_t seed = 0;  ///< of the order of rows within a block
};

struct SubgradientSolution {
  Matrix<double> weights;         ///< columns × p
  std::vector<double> intercept;  ///< p
  double objective = 0;
  std::vector<TracePoint> trace;  ///< the objective after each pass; no dual, which is -∞
};

/// Problem (P) by stochastic subgradients on minibatches, as paper 2 does (Adam; or plain steps), with steps falling as
/// 1/√pass. The answer is the best of the iterates at the ends of passes and of the mean over the second half. Memory is one
/// block of features; there is no certificate: ConvexSolver reaches one in fewer passes wherever the features can be kept.
SubgradientSolution solve_subgradient(const FeatureMap& map, RowSource& rows, const Loss& loss, Precision precision,
                                      const SubgradientOptions& options, Progress* progress = nullptr);

}  // namespace mercer
